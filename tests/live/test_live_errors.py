# SPDX-License-Identifier: Apache-2.0
"""What `orrery run` says to mistakes of the program (exit code 3): who, what, which one, how many bytes, which line;
no frames of ours, no hang."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from live_case import BEGIN, Case, Outcome, check, execute, ids

PROGRAM: list[Case] = []
#: One of each kind; the others are slow, as each run imports torch.
QUICK = {
    "script raises",
    "unknown backend",
    "crossed receives",
    "rank is missing in a collective",
    "timeouts of what has ended move no clock",
    "forgets -n",
    "other size",
    "message size",
    "rank ended early",
    "os._exit with status 0",
    "os._exit after the last collective",
    "child of a rank joins",
    "polls",
    "polls for ever",
    "never joins, without -n",
}


def row(name: str, program: str | None, code: int, *said: str, **options: object) -> None:
    PROGRAM.append(Case(name, program, code=code, said=said, **options))


def failure(name: str, body: str, *said: str, code: int = 3, **options: object) -> None:
    """Of a program that begins as most do: `body` begins in line 5."""
    row(name, BEGIN + body, code, *said, **options)


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
    "os._exit after the last collective",
    "dist.barrier()\nos._exit(3 if rank == 1 else 0)",
    r"rank 1 died at \S+: exited with status 3",
)
failure(
    "crossed receives",
    "x = torch.zeros(256)\nif rank < 2: dist.recv(x, 1 - rank, tag=7)\n",
    r"deadlock at \S+: nothing left to happen and 2 still waiting",
    r"rank 0 waits: recv from rank 1, tag 7, in the default group: 1KiB float32, at prog\.py:6; not there: rank 1",
    r"rank 1 waits: recv from rank 0, tag 7, in the default group: 1KiB float32, at prog\.py:6; not there: rank 0",
    r"cycle: rank 0 -> rank 1 -> rank 0",
)
failure(
    "timeouts of what has ended move no clock",
    "dist.monitored_barrier()\ntime.sleep(2)\nif rank < 2: dist.send(torch.zeros(1), 1 - rank)\n",
    r"deadlock at 2(\.0\d*)?s: nothing left to happen and 2 still waiting",
    r"rank 0 waits: send to rank 1, tag 0, in the default group: 4B float32, at prog\.py:7; not there: rank 1",
    words=["-n", "4", "--compute", "fixed:1us"],
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
    "x = torch.ones(256 - rank)\nif rank == 0: dist.send(x, 1)\nif rank == 1: dist.recv(x, 0)\n",
    "a message does not fit into what is to receive it",
    r"rank 0: send to rank 1, tag 0, in the default group: 1KiB float32, at prog\.py:6",
    r"rank 1: recv from rank 0, tag 0, in the default group: 1020B float32, at prog\.py:7",
)
failure(
    "polls for ever",
    """
if rank == 0:
    work = dist.irecv(torch.ones(256), 1)
    while not work.is_completed(): pass
    work.wait()
""",
    r"rank 0 ended with exit status 1 at 18\d\d\.",
)
failure(
    "threads crosswise",
    """
import threading
groups = [dist.new_group(), dist.new_group()]
def beside():
    sum(range(1_000_000))
    dist.all_reduce(torch.ones(1), group=groups[(rank + 1) % 2])
thread = threading.Thread(target=beside)
thread.start()
dist.all_reduce(torch.ones(1), group=groups[rank % 2])
thread.join()
""",
    r"rank 0 waits: .*another thread of it wants to use the network, too",
    words=["-n", "2"],
)
#: These end well.
failure(
    "os._exit with status 0",
    "dist.barrier()\ntime.sleep(rank)\nos._exit(0)",
    code=0,
    words=["-n", "4", "--out", "out"],
)
failure(
    "child of a rank joins",
    """
if rank == 0:
    child = os.fork()
    if child == 0:
        try: dist.TCPStore("127.0.0.1", 29999, is_master=True)
        except RuntimeError as problem: print(problem, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
dist.barrier()
""",
    code=0,
)
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
row("fails without joining, without -n", "raise SystemExit(7)", 3, "exited with status 7 without calling", words=[])
row("forgets -n", BEGIN, 3, "exited with status 1 without calling init_process_group.*should it be -n 2", words=[])


@pytest.mark.parametrize("case", ids(PROGRAM, QUICK))
def test_mistakes_of_the_program(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    outcome = ahead(case)
    check(case, outcome)
    if case.name == "script raises":
        assert "ValueError: wrong shape" in outcome.stderr, str(outcome)
        assert outcome.stderr.count("Traceback") == 1, str(outcome)
    if case.name == "os._exit with status 0":
        ranks = json.loads((outcome.folder / "out" / "result.json").read_text())["ranks"]
        assert [one["exit_status"] for one in ranks] == [0, 0, 0, 0], str(outcome)
        later = [one["finish_ps"] - ranks[0]["finish_ps"] for one in ranks]
        assert [round(one / 1e12) for one in later] == [0, 1, 2, 3], str(outcome)
    if case.name == "child of a rank joins":
        assert "rank 0 of 4 cannot join the simulation: all ranks of the run had already joined" in outcome.stdout
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
    ("of another program", 3, r"rank \d: the program does not do what it did when .*: entry \d+ is ",
     lambda folder: None, {"program": BEGIN + "time.sleep(1)\ndist.barrier()\n"}),
]:  # fmt: skip
    LEDGERS.append(Case(f"ledger {name}", run=damage(how, **options), code=code, said=(part,)))


@pytest.mark.slow
@pytest.mark.parametrize("case", ids(LEDGERS))
def test_ledgers_that_do_not_fit(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    check(case, ahead(case))


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------


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
