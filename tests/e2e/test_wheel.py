# SPDX-License-Identifier: Apache-2.0
"""`pip install .` in a fresh environment gives what `make build` put into .venv."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def package_files(python: Path) -> set[str]:
    """The files of the package; neither caches nor metadata."""
    script = "import importlib.metadata as m; print(*m.files('orrery-sim'), sep='\\n')"
    done = subprocess.run([str(python), "-c", script], capture_output=True, text=True, check=True, cwd="/")
    return {line for line in done.stdout.splitlines() if line.startswith("orrery/") and "__pycache__" not in line}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pip_install_gives_the_same_files(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", str(ROOT)], check=True)
    assert package_files(python) == package_files(Path(sys.executable))
    done = subprocess.run(
        [str(python.parent / "orrery"), "--version"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split()[:2] == ["orrery", importlib.metadata.version("orrery-sim")]
    assert subprocess.run([str(python.parent / "orrery"), "--no-such-option"], capture_output=True).returncode == 2
