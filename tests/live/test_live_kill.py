# SPDX-License-Identifier: Apache-2.0
"""Kills runs at random moments, in every way a run can be killed, and looks at what is left: nothing.

A kill is a seed: victim, moment and options follow from it. Twelve, one per kind of victim, belong to every test run;
the rest are slow. ORRERY_KILLS=100-120 selects others.
"""

import contextlib
import os
import random
import re
import resource
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from live_case import STAR, Case, Outcome, ids

#: Who dies how. The first word says who: the coordinator, the process it started, a rank, or the program by itself.
VICTIMS = [
    ("coordinator", "SIGKILL"),
    ("coordinator", "SIGTERM"),
    ("coordinator", "SIGINT"),
    ("launcher", "SIGKILL"),
    ("rank", "SIGKILL"),
    ("rank", "SIGSTOP"),
    ("rank", "SIGTERM"),
    ("rank", "SIGSEGV"),
    ("program", "raise"),
    ("program", "exit"),
    ("program", "_exit"),
    ("program", "abort"),
]
PHASES = ["start", "collective", "sleep", "compute", "store", "exit"]
RANKS = 3
KILLS = 200

#: prog.py PHASE VICTIM HOW AFTER: reaches PHASE and stays there; rank VICTIM ends by itself HOW in round AFTER.
PROGRAM = """\
import os, pathlib, signal, sys, time
import torch, torch.distributed as dist

phase, victim, how, after = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])

def end_here():
    if how == "raise": raise ValueError("as it was told")
    if how == "exit": sys.exit(5)
    if how == "_exit": os._exit(5)
    if how == "abort": os.abort()

def mark(rank):
    pathlib.Path(f"marks/{rank}.new").write_text(str(os.getpid()))
    os.rename(f"marks/{rank}.new", f"marks/{rank}")

def work(rank, world):
    if rank == victim and phase == "start": end_here()
    dist.init_process_group("gloo", rank=rank, world_size=world)
    x, group = torch.ones(10000), dist.group.WORLD
    dist.all_reduce(x)
    for round in range(after + 1 if phase == "exit" else 1 << 60):
        if round == 2: mark(rank)
        if rank == victim and round == after: end_here()
        if phase in ("start", "collective"): dist.all_reduce(x)
        if phase == "sleep": time.sleep(0.001)
        if phase == "compute": [torch.ones(64, 64) @ torch.ones(64, 64) for _ in range(300)], dist.barrier()
        if phase == "store": dist.distributed_c10d._get_default_store().add("count", 1)
        if phase == "exit": dist.barrier()
    dist.destroy_process_group()

def spawned(index, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    work(index, world)

if __name__ == "__main__":
    if "RANK" in os.environ:
        work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    else:
        torch.multiprocessing.spawn(spawned, (3,), nprocs=3)
"""


@dataclass
class Kill:
    seed: int
    victim: str
    how: str
    phase: str
    rank: int
    after: int
    delay: float
    processes: int  #: In the start phase: strike when there are this many.
    words: list[str]


def plan(seed: int) -> Kill:
    if seed == KILLS:  # The program that started the ranks dies, and they do not.
        return Kill(seed, "launcher", "SIGKILL", "collective", 0, 3, 0.1, 0, [])
    choose = random.Random(f"kill {seed}")
    victim, how = VICTIMS[seed] if seed < len(VICTIMS) else choose.choice(VICTIMS)
    phase = "start" if victim == "launcher" else choose.choice(PHASES)
    style = choose.random() if seed >= len(VICTIMS) else 1.0
    # Ranks that start as interpreters of their own import torch once each.
    words = [] if style < 0.08 else ["-n", str(RANKS), *(["--fresh"] if style < 0.16 else [])]
    for share, more in ((0.25, ["--jobs", "2"]), (0.2, ["--tag-output"]), (0.25, ["--out", "out"])):
        if choose.random() < share and ("-n" in words or more[0] != "--tag-output"):
            words += more
    return Kill(
        seed,
        victim,
        how,
        phase,
        choose.randrange(RANKS),
        choose.choice([0, 1, 3, 10, 100]),
        choose.choice([choose.uniform(0, 0.01), choose.uniform(0, 0.3), choose.uniform(0, 2) * (phase == "start")]),
        choose.randrange(1, RANKS + 3),
        words,
    )


# ---- processes -----------------------------------------------------------------------------------------------------


def processes_of(mark: str) -> list[int]:
    """All that have the mark in the environment they began with, and the time they did as order."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            if mark.encode() in Path(f"/proc/{entry}/environ").read_bytes():
                found.append(int(entry))
    return sorted(found)


def is_zombie(process: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def program_of(processes: list[int], coordinator: int) -> list[int]:
    """The process that the coordinator started, if it is still there, and its descendants: they are a group. Helpers
    that run something else than the program, such as a compiler, do not count."""
    found = []
    for process in processes:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes()
            if b"prog.py" not in words and b"spawn_main" not in words:
                continue
            is_apart = os.getpgid(process) != os.getpgid(coordinator) and os.getsid(process) == os.getsid(coordinator)
            if process != coordinator and is_apart and not is_zombie(process):
                found.append(process)
    return found


def shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm"))


def is_ours(name: str) -> bool:
    """Other programs may use /dev/shm at the same time: torch's files say whose they are."""
    owner = re.match(r"torch_(\d+)_", name)
    return "orrery" in name or (owner is not None and not Path(f"/proc/{owner[1]}").exists())


# ---- one kill ------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    outcome: Outcome
    struck: int | None  #: The process that got the signal.
    struck_rank: int | None
    left: list[str]
    seconds: float


def run_kill(kill: Kill) -> Callable[[Case, Path, Path], Result]:
    def run(case: Case, command: Path, folder: Path) -> Result:
        case.write(folder)
        (folder / "marks").mkdir()
        mark = f"ORRERY_TEST_RUN={uuid.uuid4()}"
        name, value = mark.split("=")
        before = shared_memory()
        with subprocess.Popen(
            [str(command), *case.command_line()],
            cwd=folder,
            env={**case.variables(folder), name: value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
        ) as process:
            struck: list[int | None] = [None, None]
            striker = threading.Thread(target=strike, args=(kill, process, mark, folder, struck))
            striker.start()
            try:
                stdout, stderr = process.communicate(timeout=case.seconds)
            except subprocess.TimeoutExpired:
                shown = [Path(f"/proc/{one}/cmdline").read_bytes() for one in processes_of(mark)]
                for one in processes_of(mark):
                    with contextlib.suppress(OSError):
                        os.kill(one, signal.SIGKILL)
                stdout, stderr = process.communicate()
                stderr += f"\n[no end within {case.seconds} s; processes: {shown}]"
            began = time.monotonic()
            striker.join()
        left = wait_for_nothing(mark, folder, before)
        outcome = Outcome(process.returncode, stdout, stderr, folder)
        return Result(outcome, *struck, left, time.monotonic() - began)

    return run


def wait_for_nothing(mark: str, folder: Path, before: set[str]) -> list[str]:
    """What is left of the run when five seconds have passed; nothing, as soon as that is so."""
    deadline = time.monotonic() + 5
    while True:
        left = [f"process {one}" for one in processes_of(mark)]
        left += [f"/dev/shm/{name}" for name in shared_memory() - before if is_ours(name)]
        # torch.multiprocessing itself leaves what a child raised.
        left += [str(path) for path in (folder / "tmp").rglob("*") if not path.name.startswith("pytorch-errorfile")]
        left += [path.name for path in folder.iterdir() if path.name not in ("prog.py", "tmp", "marks", "out")]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def strike(kill: Kill, process: subprocess.Popen, mark: str, folder: Path, struck: list) -> None:
    """Waits for the moment, and sends the signal."""
    if kill.victim == "program":
        return
    number = getattr(signal, kill.how)
    while process.poll() is None:
        time.sleep(0.01)
        if kill.phase == "start":
            there = processes_of(mark)
            if len(there) < kill.processes:
                continue
        elif len(list((folder / "marks").glob("?"))) < RANKS:
            continue
        time.sleep(kill.delay)
        target = find_target(kill, process.pid, mark, folder)
        if target is None:
            continue
        with contextlib.suppress(ProcessLookupError):
            os.kill(target, number)
            struck[0] = target
            for path in (folder / "marks").glob("?"):
                if path.read_text() == str(target):
                    struck[1] = int(path.name)
            if kill.victim != "launcher":
                return
            # When all ranks have started, the run does not need it any more: then a rank is next.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)


def find_target(kill: Kill, coordinator: int, mark: str, folder: Path) -> int | None:
    if kill.victim == "coordinator":
        return coordinator
    if kill.victim == "rank" and kill.phase != "start":
        return int((folder / "marks" / str(kill.rank)).read_text())
    found = program_of(processes_of(mark), coordinator)
    leaders = [one for one in found if os.getpgid(one) == one]
    members = [one for one in found if one not in leaders]
    if kill.victim == "launcher" and leaders:
        return leaders[0]
    return members[kill.rank % len(members)] if members else None


# ---- what must be ----------------------------------------------------------------------------------------------------


def cases() -> Iterator:
    first, last = map(int, os.environ.get("ORRERY_KILLS", f"0-{KILLS}").split("-"))
    for seed in range(first, last + 1):
        kill = plan(seed)
        own = kill.victim == "program"
        case = Case(
            f"{seed}-{kill.victim}-{kill.how}-{kill.phase}",
            PROGRAM,
            words=kill.words,
            arguments=[kill.phase, str(kill.rank if own else -1), kill.how, str(kill.after if own else 3)],
            cluster=STAR,
            seconds=90,
            run=run_kill(kill),
        )
        yield pytest.param(kill, case, id=case.name, marks=[] if seed < len(VICTIMS) else [pytest.mark.slow])


@pytest.mark.parametrize(("kill", "case"), list(cases()))
def test_kill_leaves_one_message_and_nothing_else(kill: Kill, case: Case, ahead: Callable[[Case], Result]) -> None:
    result = ahead(case)
    shown = f"{kill}\n{result}\n{result.outcome}"
    outcome = result.outcome
    assert result.left == [], shown
    if kill.phase == "exit" and outcome.code == 0 and kill.victim != "program":
        return  # It was through before the signal came.
    assert not (outcome.folder / "out").exists(), shown
    if (kill.victim, kill.how) == ("coordinator", "SIGKILL"):
        assert outcome.code == -signal.SIGKILL, shown
        return
    lines = [line for line in outcome.stderr.splitlines() if line.startswith("orrery: ")]
    assert len(lines) == 1, shown
    if kill.victim == "coordinator":
        number = getattr(signal, kill.how)
        assert outcome.code == 128 + number, shown
        assert "interrupted" in lines[0], shown
        return
    if kill.phase == "start" and "the compiler" in lines[0]:
        # It was not a rank yet, but a fork on its way to become `g++ --version`.
        assert outcome.code == 2, shown
        return
    if "-n" not in kill.words and kill.phase == "start" and "without calling init_process_group" in lines[0]:
        # A program that starts its ranks itself saw one of them die, or died, before there was anything to simulate.
        assert outcome.code in (3, 128 + getattr(signal, kill.how, 0)), shown
        return
    assert outcome.code == 3, shown
    expected = {"raise": "status 1", "exit": "status 5", "_exit": "status 5", "abort": "signal 6"}.get(kill.how)
    # Of ranks that the program started itself, only the program knows for sure how they ended.
    is_known = "-n" in kill.words or "ended before its time" not in lines[0]
    assert not is_known or (expected or f"signal {getattr(signal, kill.how, 0):d}") in lines[0], shown
    if kill.victim == "program" or result.struck_rank is not None:
        assert f"rank {kill.rank if result.struck_rank is None else result.struck_rank} " in lines[0], shown
    else:
        assert re.search(r"rank \d|fork server|the program", lines[0]), shown
