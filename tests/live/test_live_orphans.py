# SPDX-License-Identifier: Apache-2.0
"""What a program leaves behind in a session of its own ends with the run, however that ends."""

import subprocess
import time
from pathlib import Path

import pytest
from live_case import BEGIN, STAR

ESCAPE = (
    BEGIN
    + """
import subprocess
from subprocess import DEVNULL
if rank == 0:
    away = subprocess.Popen(["sleep", "1000"], start_new_session=True, stdout=DEVNULL, stderr=DEVNULL)
    with open("away.new", "w") as file: file.write(str(away.pid))
    os.rename("away.new", "away")
dist.barrier()
"""
)
KINDS = {"simulated": ["--cluster", STAR], "real": ["--real"]}


def line_of(command: Path, folder: Path, kind: str, program: str) -> list[str]:
    (folder / "prog.py").write_text(program)
    return [str(command), "run", *KINDS[kind], "-n", "2", "prog.py"]


def is_gone(process: int) -> bool:
    """Zombies are gone: who should ask for them is not ours."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_ends_by_itself(command: Path, bridge: Path, tmp_path: Path, kind: str):
    line = line_of(command, tmp_path, kind, ESCAPE)
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert is_gone(int((tmp_path / "away").read_text()))


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_outlives_a_coordinator_that_is_killed(command: Path, bridge: Path, tmp_path: Path, kind: str):
    line = line_of(command, tmp_path, kind, ESCAPE + "while True: dist.barrier()\n")
    run = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "away").exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    away = int((tmp_path / "away").read_text())
    assert not is_gone(away)
    run.kill()
    run.wait(10)
    deadline = time.monotonic() + 10
    while not is_gone(away) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_gone(away)
