# SPDX-License-Identifier: Apache-2.0
"""What a program leaves behind in a session of its own ends with the run, however that ends."""

import os
import signal
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


def descendants(process: int) -> set[int]:
    """Of a process, by their parents as of now."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    family: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in family | {process}} - family:
        family |= more
    return family


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_commands_of_a_validation_end_with_it(command: Path, bridge: Path, tmp_path: Path, end: signal.Signals):
    words = ["validate", "--links", "loopback", "--programs", "pp", "--launches", "1"]
    folder = tmp_path / "scratch"
    folder.mkdir()
    run = subprocess.Popen(
        [str(command), *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    deadline = time.monotonic() + 60
    while len(family := descendants(run.pid)) < 2 and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(family) >= 2
    run.send_signal(end)
    assert run.wait(20) in (-end, 128 + end)
    may_leave_folder = end == signal.SIGKILL

    def is_over() -> bool:
        return all(map(is_gone, family)) and (may_leave_folder or not list(folder.iterdir()))

    deadline = time.monotonic() + 10
    while not is_over() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_over(), list(folder.iterdir())
