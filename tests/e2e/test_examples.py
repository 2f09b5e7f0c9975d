# SPDX-License-Identifier: Apache-2.0
"""Every example runs as its first lines say."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

#: Those of the Python API; tests/live and tests/examples run the programs of torch.distributed.
EXAMPLES = sorted(p for p in (Path(__file__).parents[2] / "examples").glob("*.py") if "import orrery" in p.read_text())


def command_of(path: Path) -> list[str]:
    """The command in the example's first lines, with this interpreter and whole paths."""
    found = re.search(r"^ +torchrun (.+)$", path.read_text(), re.M)
    if not found:
        return [sys.executable, str(path)]
    words = [str(path) if word.endswith(path.name) else word for word in shlex.split(found.group(1))]
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", *words]


def mark(path: Path):
    needs_torch = "torchrun" in path.read_text()
    return pytest.param(path, id=path.name, marks=[pytest.mark.slow] if needs_torch else [])


@pytest.mark.parametrize("path", [mark(path) for path in EXAMPLES])
def test_example(path, tmp_path):
    command = command_of(path)
    if "torch.distributed.run" in command:
        pytest.importorskip("torch")
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
