# SPDX-License-Identifier: Apache-2.0
"""Imports are told as operators: those of installed packages, not those of the program's own modules."""

import subprocess
import sys
from pathlib import Path

LIVE = Path(__file__).parents[2] / "python" / "orrery" / "live"
PROGRAM = """\
import sys, zlib
sys.path.insert(0, {live!r})
import imports
told = []
depth = 0
def begin(key):
    global depth
    told.append((depth, key)); depth += 1
def end():
    global depth
    depth -= 1
imports.watch(begin, end)
import own
import fractions
try:
    import wave.nothing
except ImportError:
    pass
key = lambda name: zlib.crc32(b"import " + name.encode())
outermost = [k for at, k in told if at == 0]
assert own.value == 1
assert key("own") not in [k for _, k in told]
assert outermost.count(key("fractions")) == 1, told
assert key("wave.nothing") in outermost
assert depth == 0
import fractions
assert outermost == [k for at, k in told if at == 0], "what is loaded is not loaded again"
"""


def test_only_installed_packages_are_told(tmp_path):
    (tmp_path / "own.py").write_text("value = 1\n")
    (tmp_path / "program.py").write_text(PROGRAM.format(live=str(LIVE)))
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
