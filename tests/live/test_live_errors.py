# SPDX-License-Identifier: Apache-2.0
"""What `orrery run` says to mistakes, of the user (exit code 2) and of the program (3): one clear message that says
who and where, no traceback of ours, no hang.

Each row: a name, the program (None: the words name it), the exit code, parts of the message (regular expressions),
and whatever else differs from four ranks on a star.
"""

import json
import os
import re
import signal
import subprocess
import time
import venv
from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import BEGIN, Case, Outcome, execute, ids

SHOWN: dict[str, tuple[int, list[str]]] = {}
INPUT: list[Case] = []
PROGRAM: list[Case] = []
#: One of each kind; the others are slow, as each run imports torch.
QUICK = {
    "script raises",
    "unknown backend",
    "crossed receives",
    "rank is missing in a collective",
    "other size",
    "message size",
    "rank ended early",
    "polls",
    "polls for ever",
    "never joins, without -n",
}


def row(name: str, program: str | None, code: int, *parts: str, into: list[Case] = PROGRAM, **options: object) -> None:
    into.append(Case(name, program, **options))
    SHOWN[name] = (code, list(parts))


def mistake(name: str, *parts: str, program: str | None = "raise SystemExit('ran')", **options: object) -> None:
    row(name, program, 2, *parts, into=INPUT, **options)


def failure(name: str, body: str, *parts: str, code: int = 3, **options: object) -> None:
    """Of a program that begins as most do: `body` begins in line 5."""
    row(name, BEGIN + body, code, *parts, **options)


# ---- the user's mistakes -------------------------------------------------------------------------------------------

mistake("no script", "expected a script", program=None)
mistake("missing script", "nothere.py: no such script", program=None, words=["-n", "2", "nothere.py"])
mistake(
    "folder as script",
    "folder: a folder without __main__.py is no script",
    program=None,
    words=["-n", "2", "folder"],
    prepare=lambda folder: (folder / "folder").mkdir(),
)
mistake("module without name", "-m: expected the name of a module", program=None, words=["-n", "2", "-m"])
mistake("no cluster", "--cluster is required", cluster="")
mistake("unknown cluster", "jetson-lam", "did you mean 'jetson-lan'", cluster="jetson-lam")
mistake("no ranks", r"--ranks: '0'.*expected 1 to 4", words=["-n", "0"])
mistake("negative ranks", r"--ranks: '-1'.*expected 1 to 4", words=["-n", "-1"])
mistake("ranks no number", r"--ranks: 'abc': expected a whole number", words=["-n", "abc"])
mistake("too many ranks", r"--ranks: '5'.*has 4 ranks; expected 1 to 4", words=["-n", "5"])
mistake("unknown network", "flw", "did you mean 'flow'", words=["-n", "2", "--network", "flw"])
mistake("unknown algorithm", "rin", "ring", words=["-n", "2", "--algorithm", "rin"])
mistake("unknown option", "--compte", "did you mean '--compute'", words=["-n", "2", "--compte", "fixed:1us"])
mistake("no jobs", r"--jobs: '0': expected 1 to 1024", words=["-n", "2", "--jobs", "0"])
mistake("jobs no number", r"--jobs.*two", words=["-n", "2", "--jobs", "two"])
mistake("seed no number", r"--seed.*x", words=["-n", "2", "--seed", "x"])
for text in ("nonsense", "fixed", "fixed:", "fixed:5", "fixed:-1us", "fixed:2h", "fixed:1us/x", "measured:1"):
    mistake(f"compute {text}", f"--compute: '{text}': expected", words=["-n", "2", "--compute", text])
mistake("compute empty", "--compute: expected", words=["-n", "2", "--compute", ""])
mistake("ledger missing", r"--compute.*no ledger there", words=["-n", "2", "--compute", "ledger:nothere"])
mistake(
    "out is a file",
    "out: is a file; expected a folder",
    words=["-n", "2", "--out", "out"],
    prepare=lambda folder: (folder / "out").write_text(""),
)
mistake(
    "out has something in it",
    "out: has something in it",
    words=["-n", "2", "--out", "out"],
    prepare=lambda folder: ((folder / "out").mkdir(), (folder / "out" / "x").write_text("")),
)
mistake("out in no folder", r"no/such/out: cannot be made", words=["-n", "2", "--out", "no/such/out"])
mistake("out unwritable", r"/proc/orrery-out: cannot be made", words=["-n", "2", "--out", "/proc/orrery-out"])
mistake("faults missing", r"nofaults\.yaml: cannot read", words=["-n", "2", "--faults", "nofaults.yaml"])
mistake("python missing", r"/no/python: cannot be started", words=["-n", "2", "--python", "/no/python"])
mistake("tags without ranks", r"--tag-output: needs the number of ranks", words=["--tag-output"])
mistake(
    "cluster file is no YAML",
    r"c\.yaml",
    cluster="c.yaml",
    prepare=lambda folder: (folder / "c.yaml").write_text("a: [1, 2"),
)
mistake(
    "cluster file, unknown field",
    r"c\.yaml",
    "did you mean 'latency'",
    cluster="c.yaml",
    prepare=lambda folder: (folder / "c.yaml").write_text(
        json.dumps({"topology": {"star": {"hosts": 2, "bandwidth": "1Gbps", "latncy": "1us"}}})
    ),
)


def shadow(text: str, version: str | None = None):
    """A module of the name torch in front of the real one."""

    def prepare(folder: Path) -> None:
        (folder / "shadow" / "torch").mkdir(parents=True)
        (folder / "shadow" / "torch" / "__init__.py").write_text(text)
        if version:
            (folder / "shadow" / "torch" / "version.py").write_text(f"__version__ = '{version}'\n")

    return prepare


SHADOW = {"PYTHONPATH": "FOLDER/shadow"}
EMPTY_CACHE = {"ORRERY_CACHE": "FOLDER/cache"}
mistake(
    "torch is missing",
    r"no torch in .*python.*: install it, or choose another interpreter with --python",
    words=["-n", "2", "--python", "FOLDER/empty/bin/python"],
    prepare=lambda folder: venv.create(folder / "empty", symlinks=True),
)
mistake(
    "torch is not complete",
    r"shadow/torch is no complete torch: No such file or directory: .*version\.py",
    environment=SHADOW,
    prepare=shadow("raise ImportError('no torch here')"),
)
mistake(
    "torch is too old",
    r"torch 1\.13\.0 is too old: live runs need 2\.9 or newer",
    environment=SHADOW,
    prepare=shadow("__version__ = '1.13.0'", "1.13.0"),
)
mistake(
    "torch without headers",
    r"the bridge to torch 2\.9\.1 does not compile with .*:\n.*fatal error",
    environment={**SHADOW, **EMPTY_CACHE},
    prepare=shadow("", "2.9.1"),
)
mistake(
    "no compiler",
    r"no C\+\+ compiler \(g\+\+, c\+\+, clang\+\+\).*install g\+\+ 12 or newer",
    environment={"PATH": "FOLDER", **EMPTY_CACHE},
)
mistake(
    "compiler does not exist",
    r"the compiler CXX=/nonexistent does not exist",
    environment={"CXX": "/nonexistent", **EMPTY_CACHE},
)
mistake("compiler fails", "does not compile with false", environment={"CXX": "false", **EMPTY_CACHE})

# ---- the program's mistakes ----------------------------------------------------------------------------------------

failure(
    "script raises",
    """
def work():
    raise ValueError("wrong shape")
if rank == 2: work()
dist.barrier()
""",
    r"rank 2 ended with exit status 1 at \d",
)
row("syntax error", "import torch\nx = (1,\n", 3, r"rank \d ended with exit status 1")
row("module is missing", None, 3, r"rank \d ended with exit status 1", words=["-n", "2", "-m", "no_such_module"])
row("unknown backend", BEGIN.replace('"gloo"', '"glooo"'), 3, r"rank \d ended with exit status 1")
failure("exit status", "sys.exit(5 if rank == 1 else 0)", "rank 1 ended with exit status 5 at ")
failure("os._exit", "os._exit(5) if rank == 1 else dist.barrier()", r"rank 1 died at \S+: exited with status 5")
failure(
    "crossed receives",
    "x = torch.zeros(256)\nif rank < 2: dist.recv(x, 1 - rank, tag=7)\n",
    r"deadlock at \S+: nothing left to happen and 2 still waiting",
    r"rank 0 waits: recv from rank 1, tag 7, in the default group: 1KiB float32, at prog\.py:6; not there: rank 1",
    r"rank 1 waits: recv from rank 0, tag 7, in the default group: 1KiB float32, at prog\.py:6; not there: rank 0",
    r"cycle: rank 0 -> rank 1 -> rank 0",
)
failure(
    "rank is missing in a collective",
    "dist.barrier()\nif rank != 3: dist.all_reduce(torch.ones(256))\nelse: dist.recv(torch.ones(1), 0)\n",
    r"deadlock at \S+: nothing left to happen and 4 still waiting",
    r"rank 0 waits: all_reduce #1 of the default group: 1KiB float32, sum, at prog\.py:6; not there: rank 3",
    r"rank 3 waits: recv from rank 0, tag 0, in the default group: 4B float32, at prog\.py:7; not there: rank 0",
)
failure(
    "rank ended early",
    "if rank == 3: sys.exit(0)\ndist.barrier()",
    r"rank 0 waits: barrier #0 of the default group, at prog\.py:6; not there: rank 3 \(ended at \S+\)",
)
failure("key that nobody sets", "dist.distributed_c10d._get_default_store().get('nobody')", r"rank \d ended with")
failure(
    "other operation",
    "x = torch.ones(256)\ndist.barrier()\n(dist.all_reduce(x) if rank else dist.broadcast(x, 0))",
    "collective #1 of the default group: the ranks disagree on the operation",
    r"rank 0: broadcast #1 of the default group: 1KiB float32, root rank 0, at prog\.py:7",
    r"rank [123]: all_reduce #1 of the default group: 1KiB float32, sum, at prog\.py:7",
)
failure(
    "other size",
    "x = torch.ones(256 + 4 * (rank == 2))\ndist.all_reduce(x)",
    "collective #0 of the default group: the ranks disagree on the size",
    r"rank 2: all_reduce #0 of the default group: 1040B float32, sum, at prog\.py:6",
    r"rank [013]: all_reduce #0 of the default group: 1KiB float32, sum, at prog\.py:6",
)
failure(
    "other type",
    "x = torch.ones(256, dtype=torch.float64 if rank == 3 else torch.int64)\ndist.all_reduce(x)",
    "collective #0 of the default group: the ranks disagree on the type of elements",
    "rank 3: all_reduce #0 of the default group: 2KiB float64",
    "rank [012]: all_reduce #0 of the default group: 2KiB int64",
)
failure(
    "other root",
    "x = torch.ones(256)\ndist.broadcast(x, rank // 2)",
    "collective #0 of the default group: the ranks disagree on the root",
    "rank [01]: broadcast #0 .* root rank 0",
    "rank [23]: broadcast #0 .* root rank 1",
)
failure(
    "other reduction",
    "x = torch.ones(256)\ndist.all_reduce(x, dist.ReduceOp.MAX if rank == 1 else dist.ReduceOp.SUM)",
    "collective #0 of the default group: the ranks disagree on the reduction",
    "rank 1: all_reduce #0 .*, max, at",
    "rank [023]: all_reduce #0 .*, sum, at",
)
failure(
    "group order",
    """
a, b = dist.new_group([0, 1]), dist.new_group([0, 1])
x = torch.ones(256)
if rank < 2:
    for group in ((a, b) if rank == 0 else (b, a)): dist.all_reduce(x, group=group)
""",
    r"rank 0 waits: all_reduce #0 of group '1' \(ranks 0, 1\): 1KiB float32, sum, at prog\.py:9; not there: rank 1",
    r"rank 1 waits: all_reduce #0 of group '2' \(ranks 0, 1\): 1KiB float32, sum, at prog\.py:9; not there: rank 0",
    r"cycle: rank 0 -> rank 1 -> rank 0",
)
failure(
    "message size",
    "x = torch.ones(256 + rank)\nif rank == 0: dist.send(x, 1)\nif rank == 1: dist.recv(x, 0)\n",
    "a message and its receive disagree on the size",
    r"rank 0: send to rank 1, tag 0, in the default group: 1KiB float32, at prog\.py:6",
    r"rank 1: recv from rank 0, tag 0, in the default group: 1028B float32, at prog\.py:7",
)
failure(
    "polls for ever",
    "work = rank == 0 and dist.irecv(torch.ones(256), 1)\nwhile work and not work.is_completed(): pass\nwork and work.wait()",
    r"rank 0 ended with exit status 1 at 18\d\d\.",
)
#: These end well.
failure(
    "polls",
    """
if rank == 0: time.sleep(10)
work = dist.all_reduce(torch.ones(256), async_op=True)
while not work.is_completed(): pass
""",
    code=0,
)
row("never joins", "print('done')", 0, words=["-n", "2"])
row("never joins, without -n", "print('done')", 0, "ended without calling init_process_group", words=[])
row("fails without joining, without -n", "raise SystemExit(7)", 7, "exited with status 7 without calling init_", words=[])


def marked(cases: list[Case], quick: Container[str]) -> list:
    return [pytest.param(case, id=case.name, marks=[] if case.name in quick else [pytest.mark.slow]) for case in cases]


def check(case: Case, outcome: Outcome) -> None:
    code, parts = SHOWN[case.name]
    assert outcome.code == code, str(outcome)
    assert not re.search(r'File ".*/live/\w+\.py"', outcome.stderr), f"frames of ours: {outcome}"
    assert "bug, please report" not in outcome.stderr, str(outcome)
    for part in parts:
        assert re.search(part, outcome.said), f"no '{part}': {outcome}"


@pytest.mark.parametrize("case", marked(INPUT, {case.name for case in INPUT}))
def test_mistakes_of_the_user(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    outcome = ahead(case)
    check(case, outcome)
    assert "Traceback" not in outcome.stderr, str(outcome)
    assert outcome.stdout == "", str(outcome)


@pytest.mark.parametrize("case", marked(PROGRAM, QUICK))
def test_mistakes_of_the_program(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    outcome = ahead(case)
    check(case, outcome)
    if case.name == "script raises":
        assert "ValueError: wrong shape" in outcome.stderr, str(outcome)
        assert outcome.stderr.count("Traceback") == 1, str(outcome)
    if case.name == "polls for ever":  # Until the group's timeout.
        assert "Timed out" in outcome.stderr, str(outcome)
    if case.name == "unknown backend":
        assert "glooo" in outcome.stderr, str(outcome)
    if case.name == "key that nobody sets":
        assert "prog.py\", line 5" in outcome.stderr, str(outcome)
        assert "nobody" in outcome.stderr, str(outcome)


# ---- ledgers -------------------------------------------------------------------------------------------------------


def damage(how: Callable[[Path], object], **options: object) -> Callable[[Case, Path, Path], Outcome]:
    """Records a ledger of two ranks, lets `how` change it, and runs with it."""

    def run(case: Case, command: Path, folder: Path) -> Outcome:
        program = BEGIN + "for _ in range(3): dist.barrier()\n"
        recorded = execute(Case("record", program, words=["-n", "2", "--out", "first"]), command, folder)
        assert recorded.code == 0, str(recorded)
        how(folder / "first" / "ledger")
        words = ["-n", "2", "--compute", "ledger:first"]
        return execute(Case(case.name, **{"program": program, "words": words, **options}), command, folder)

    return run


LEDGERS = []
for name, code, part, how, options in [
    ("cut off", 2, "rank_00001.ledger: ledger: byte 24: the ledger is cut off",
     lambda folder: os.truncate(folder / "rank_00001.ledger", 40), {}),
    ("no ledger", 2, "rank_00000.ledger: ledger: byte 0: this is no ledger",
     lambda folder: (folder / "rank_00000.ledger").write_bytes(b"x" * 300), {}),
    ("one is missing", 2, "rank_00001.ledger: cannot read: No such file",
     lambda folder: (folder / "rank_00001.ledger").unlink(), {}),
    ("of another rank", 2, "the ledger of rank 1 of 2; this is rank 0 of 2",
     lambda folder: (folder / "rank_00001.ledger").rename(folder / "rank_00000.ledger"), {}),
    ("of another world", 2, "the ledger of rank 0 of 2; this is rank 0 of 4",
     lambda folder: None, {"words": ["-n", "4", "--compute", "ledger:first"]}),
    ("of another program", 3, r"rank \d: the program does not do what it did when the ledger was recorded: entry \d+ is ",
     lambda folder: None, {"program": BEGIN + "time.sleep(1)\ndist.barrier()\n"}),
]:  # fmt: skip
    LEDGERS.append(Case(f"ledger {name}", run=damage(how, **options)))
    SHOWN[f"ledger {name}"] = (code, [part])


@pytest.mark.slow
@pytest.mark.parametrize("case", ids(LEDGERS))
def test_ledgers_that_do_not_fit(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    check(case, ahead(case))


# ---- around the run --------------------------------------------------------------------------------------------------

BARRIER = BEGIN + "dist.barrier()\nprint('passed', rank)\n"


@pytest.fixture
def compiler(bridge: Path, tmp_path: Path) -> Path:
    """Stands for a compiler: notes each call, takes a second, and gives the bridge that is there."""
    script = tmp_path / "compiler"
    script.write_text(
        f"""#!/bin/sh
case "$*" in *--version*) echo compiler 1.0; exit 0;; esac
echo called >>{tmp_path}/calls
sleep 1
while [ "$1" != -o ]; do shift; done
cp {bridge} "$2"
"""
    )
    script.chmod(0o755)
    return script


def folder_in(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


@pytest.mark.slow
def test_cache_that_cannot_be_written_does_not_matter(command: Path, compiler: Path, tmp_path: Path) -> None:
    variables = {"HOME": "/proc/none", "ORRERY_CACHE": "", "XDG_CACHE_HOME": "", "CXX": str(compiler)}
    case = Case("no home", BARRIER, words=["-n", "2"], environment=variables)
    outcome = execute(case, command, folder_in(tmp_path, "run"))
    assert outcome.code == 0, str(outcome)
    assert (tmp_path / "calls").read_text() == "called\n"


@pytest.mark.slow
def test_two_runs_at_once_compile_once(command: Path, compiler: Path, tmp_path: Path) -> None:
    variables = {"ORRERY_CACHE": str(tmp_path / "cache"), "CXX": str(compiler), "MASTER_PORT": "29555"}
    case = Case("both", BARRIER, words=["-n", "2"], environment=variables)
    with ThreadPoolExecutor() as pool:
        outcomes = list(pool.map(lambda name: execute(case, command, folder_in(tmp_path, name)), ("one", "two")))
    for outcome in outcomes:
        assert outcome.code == 0, str(outcome)
        assert outcome.stdout.count("passed") == 2, str(outcome)
    assert (tmp_path / "calls").read_text() == "called\n"


@pytest.mark.slow
def test_full_disk_leaves_nothing(command: Path, bridge: Path, tmp_path: Path) -> None:
    disk = folder_in(tmp_path, "disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system needs the rights to mount one")
    try:
        program = BEGIN + "for _ in range(500): dist.barrier()\n"
        case = Case("full", program, words=["-n", "2", "--out", str(disk / "out")])
        outcome = execute(case, command, folder_in(tmp_path, "run"))
        assert outcome.code == 2, str(outcome)
        assert re.search(r"disk/out.*No space left", outcome.said), str(outcome)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def interrupt(case: Case, command: Path, folder: Path) -> Outcome:
    case.write(folder)
    with subprocess.Popen(
        [str(command), *case.command_line()],
        cwd=folder,
        env=case.variables(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + case.seconds
        while not (folder / "spins").exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=case.seconds)
    return Outcome(process.returncode, stdout, f"{stderr}\n{time.monotonic() - began} s", folder)


SPIN = Case("spin", BEGIN + "open('spins', 'w')\nwhile True: pass\n", run=interrupt)


@pytest.mark.parametrize("case", ids([SPIN]))
def test_interrupt_ends_a_program_that_never_calls(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    outcome = ahead(case)
    assert outcome.code == 128 + signal.SIGINT, str(outcome)
    assert "orrery: interrupted" in outcome.stderr, str(outcome)
    assert float(outcome.stderr.split()[-2]) < 5, str(outcome)
