# SPDX-License-Identifier: Apache-2.0
"""Every example runs as its first lines say."""

import subprocess
import sys
from pathlib import Path

import pytest

#: Those of the Python API; tests/live and tests/examples run the programs of torch.distributed.
EXAMPLES = sorted(p for p in (Path(__file__).parents[2] / "examples").glob("*.py") if "import orrery" in p.read_text())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path, tmp_path):
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
