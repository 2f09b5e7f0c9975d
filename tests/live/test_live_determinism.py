# SPDX-License-Identifier: Apache-2.0
"""The same program with the same compute times gives the same bytes, however it is run; and times that follow from
arithmetic come out as they must."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from live_case import BEGIN, STAR, Case, Outcome, execute, ids

#: A little of everything that moves the clock.
PROGRAM = BEGIN + """
torch.manual_seed(rank)
w, x = torch.randn(64, 64), torch.randn(64, 64)
begin = time.time()
for step in range(5):
    y = torch.relu(x @ w)
    work = dist.all_reduce(y, async_op=True)
    time.sleep(0.001 * (rank + 1))
    work.wait()
    if rank % 2 == 0: dist.send(y, rank + 1)
    else: dist.recv(x, rank - 1)
    parts = [torch.empty(64, 64) for _ in range(world)]
    dist.all_gather(parts, y)
    large = [torch.empty(1 << 18) for _ in range(world)]  # In pages that nobody has touched.
    work = dist.all_gather(large, torch.ones(1 << 18), async_op=step % 2 == 0)
    if work: time.sleep(0.01); work.wait()
    work = dist.barrier(async_op=True)
    while not work.is_completed(): pass
store = dist.distributed_c10d._get_default_store()
store.set(f"time {rank}", str(time.time() - begin))
print(store.get(f"time {(rank + 1) % world}").decode())
dist.destroy_process_group()
"""


def run_once(words: list[str], out: str, program: str = PROGRAM) -> Case:
    return Case(out, program, words=["-n", "4", *words, "--out", out])


def run_all(*cases: Case) -> Callable[[Case, Path, Path], list[Outcome]]:
    """One after the other, in the same folder."""

    def run(_: Case, command: Path, folder: Path) -> list[Outcome]:
        return [execute(case, command, folder) for case in cases]

    return run


def results(outcomes: list[Outcome], names: list[str]) -> list[dict]:
    """result.json of each run, without the command that was typed."""
    found = []
    for outcome, name in zip(outcomes, names, strict=True):
        assert outcome.code == 0, str(outcome)
        result = json.loads((outcome.folder / name / "result.json").read_text())
        result["manifest"].pop("command")
        found.append(result)
    return found


LEDGER = ["--compute", "ledger:first"]
FIXED = ["--compute", "fixed:10us"]
SAME = [
    Case(
        "ledger",
        run=run_all(run_once([], "first"), run_once(LEDGER, "second"), run_once([*LEDGER, "--jobs", "2"], "third")),
    ),
    Case("fixed", run=run_all(run_once(FIXED, "second"), run_once(FIXED, "third"))),
    Case(
        "fixed per operator",
        run=run_all(*(run_once(["--compute", "fixed:3us/op"], name) for name in ("second", "third"))),
    ),
    Case("fixed, jobs", run=run_all(run_once(FIXED, "second"), run_once([*FIXED, "--jobs", "2"], "third"))),
    Case(
        "ledger, fresh",
        run=run_all(run_once([], "first"), run_once(LEDGER, "second"), run_once([*LEDGER, "--fresh"], "third")),
    ),
    Case(
        "ledger of a fresh run",
        run=run_all(
            run_once(["--fresh"], "first"), run_once(LEDGER, "second"), run_once([*LEDGER, "--fresh"], "third")
        ),
    ),
    Case("fixed, fresh", run=run_all(run_once(FIXED, "second"), run_once([*FIXED, "--fresh"], "third"))),
]
QUICK = ("ledger", "fixed")


@pytest.mark.parametrize("case", ids(SAME, QUICK))
def test_same_compute_gives_the_same_bytes(case: Case, ahead: Callable[[Case], list[Outcome]]) -> None:
    outcomes = ahead(case)
    second, third = results(outcomes[-2:], ["second", "third"])
    assert second == third
    folder = outcomes[-1].folder
    assert (folder / "second" / "events.csv").read_text().partition("rank,")[2] == (
        (folder / "third" / "events.csv").read_text().partition("rank,")[2]
    )
    assert sorted(outcomes[-2].stdout.splitlines()[:4]) == sorted(outcomes[-1].stdout.splitlines()[:4])
    if len(outcomes) == 3:  # What was recorded is what was charged.
        (first,) = results(outcomes[:1], ["first"])
        assert first["manifest"]["digest"] == second["manifest"]["digest"]
        assert first["total_ps"] == second["total_ps"]


AGAIN = Case(
    "ledger of a ledger",
    run=run_all(run_once([], "first"), run_once(LEDGER, "second"), run_once(["--compute", "ledger:second"], "third")),
)


@pytest.mark.parametrize("case", ids([AGAIN]))
def test_a_ledger_of_a_ledger_is_the_same(case: Case, ahead: Callable[[Case], list[Outcome]]) -> None:
    first, second, third = results(ahead(case), ["first", "second", "third"])
    assert first["total_ps"] == second["total_ps"] == third["total_ps"]
    assert [rank["communication_ps"] for rank in second["ranks"]] == [
        rank["communication_ps"] for rank in third["ranks"]
    ]


MARKED = """
import torch, torch.distributed as dist
dist.init_process_group()
parts = [torch.empty(1 << 20) for _ in range(2)]
dist.all_gather(parts, torch.ones(1 << 20))
with torch.profiler.record_function("timed"): pass
dist.barrier()
"""
TOUCHES = Case("touches before a mark", MARKED, words=["-n", "2", "--warmup", "mark:timed", "--out", "out"])


@pytest.mark.parametrize("case", ids([TOUCHES]))
def test_first_touches_before_a_mark_are_not_after_it(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    (result,) = results([ahead(case)], ["out"])
    for rank in result["ranks"]:
        assert rank["compute_ps"] > 0
        assert rank["communication_ps"] < 2e9  # A barrier takes 1 ms; the touches before it take several.


WARM = """
for _ in range(5): dist.all_reduce(torch.ones(256))
early = dist.all_reduce(torch.ones(256), async_op=True)
dist.barrier()
early.wait()
for _ in range(3): dist.all_reduce(torch.ones(256))
"""
WARMED = Case(
    "operations of the warm-up",
    BEGIN + WARM,
    words=["-n", "2", "--compute", "fixed:1us", "--warmup", "barrier:1", "--out", "out"],
)
ENDLESS = Case("warm-up without end", BEGIN + WARM, words=["-n", "4", "--warmup", "barrier:5", "--out", "out"])


@pytest.mark.parametrize("case", ids([WARMED], {WARMED.name}))
def test_operations_of_the_warm_up_do_not_count(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    (result,) = results([ahead(case)], ["out"])
    assert [(one["name"], one["calls"]) for one in result["operations"]] == [("all_reduce", 2 * 3)]
    assert [rank["operations"] for rank in result["ranks"]] == [3, 3]


@pytest.mark.parametrize("case", ids([ENDLESS]))
def test_a_warm_up_without_end_is_one_note(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    (result,) = results([ahead(case)], ["out"])
    assert [note for note in result["notes"] if "warm-up" in note] == [
        "no rank came to the end of the warm-up: everything counts"
    ]
    assert sum(one["calls"] for one in result["operations"]) == 4 * 10


ALONE = """
import torch
x = torch.ones(64, 64)
for _ in range(20): x = torch.relu(x @ x) / 64
"""


def run_alone(ranks: int, out: str, words: tuple[str, ...] = ()) -> Case:
    return Case(out, ALONE, words=["-n", str(ranks), *words, "--out", out])


EVERYBODYS = Case(
    "of one rank", run=run_all(run_alone(1, "first"), run_alone(4, "second", ("--compute", "ledger:first")))
)


@pytest.mark.parametrize("case", ids([EVERYBODYS]))
def test_the_ledger_of_one_rank_serves_all(case: Case, ahead: Callable[[Case], list[Outcome]]) -> None:
    first, second = results(ahead(case), ["first", "second"])
    assert first["total_ps"] > 0
    assert [rank["finish_ps"] for rank in second["ranks"]] == [first["total_ps"]] * 4


# ---- times that follow from arithmetic -------------------------------------------------------------------------------

NOTHING = ["--compute", "fixed:0us", "--out", "out"]


def timed(name: str, body: str, ranks: int, cluster: str = STAR, words: tuple[str, ...] = ()) -> Case:
    return Case(name, BEGIN + body, words=["-n", str(ranks), *NOTHING, *words], cluster=cluster)


def milliseconds(outcome: Outcome) -> float:
    assert outcome.code == 0, str(outcome)
    return json.loads((outcome.folder / "out" / "result.json").read_text())["total_ps"] * 1e-9


RING = timed(
    "ring",
    """
time.sleep(1e-6 * ((rank * 7) % 16) / 16)
mine = torch.full((250000,), float(rank))
all = torch.empty(16 * 250000)
for _ in range(20):
    dist.all_gather_into_tensor(all, mine)
assert all[::250000].tolist() == list(range(16))
""",
    16,
    "star:hosts=16,bandwidth=1GBps,latency=500us",
    ("--algorithm", "ring"),
)
INCAST = timed(
    "incast",
    """
x = torch.empty(250000)
if rank == 0:
    for work in [dist.irecv(torch.empty(250000), source) for source in range(1, 5)]: work.wait()
else:
    dist.send(x, 0)
""",
    5,
    "star:hosts=5,bandwidth=1GBps,latency=500us",
)
STYLES = timed(
    "styles",
    """
x = torch.ones(100000)
def clocked(call):
    dist.barrier()
    begin = time.perf_counter()
    call()
    return round((time.perf_counter() - begin) * 1e9)
def polled():
    work = dist.all_reduce(x, async_op=True)
    while not work.is_completed(): pass
def future():
    dist.all_reduce(x, async_op=True).get_future().wait()
times = [clocked(lambda: dist.all_reduce(x)), clocked(lambda: dist.all_reduce(x, async_op=True).wait()),
         clocked(polled), clocked(future)]
print("times", *times)
""",
    4,
)
HOUR = timed(
    "an hour",
    """
def uptime(): return float(open("/proc/uptime").read().split()[0])
dist.barrier()
begin, clock = uptime(), time.time()
time.sleep(3600)
print("slept", round(time.time() - clock), "really", uptime() - begin)
""",
    4,
)


@pytest.mark.parametrize("case", ids([RING]))
def test_twenty_skewed_ring_all_gathers_take_six_tenths_of_a_second(case: Case, ahead: Callable) -> None:
    assert milliseconds(ahead(case)) == pytest.approx(600, rel=0.01)


@pytest.mark.parametrize("case", ids([INCAST]))
def test_four_into_one_port_take_four_times_as_long(case: Case, ahead: Callable) -> None:
    assert milliseconds(ahead(case)) == pytest.approx(5, rel=0.01)


@pytest.mark.parametrize("case", ids([STYLES]))
def test_how_a_program_waits_does_not_matter(case: Case, ahead: Callable) -> None:
    outcome = ahead(case)
    assert milliseconds(outcome) > 0
    lines = [line.split()[1:] for line in outcome.stdout.splitlines() if line.startswith("times")]
    assert len(lines) == 4, str(outcome)
    for times in lines:
        assert len(set(times)) == 1, str(outcome)


@pytest.mark.parametrize("case", ids([HOUR]))
def test_an_hour_of_sleep_takes_no_time(case: Case, ahead: Callable) -> None:
    outcome = ahead(case)
    assert milliseconds(outcome) == pytest.approx(3.6e6, rel=0.001)
    for line in outcome.stdout.splitlines()[:4]:
        _, slept, _, really = line.split()
        assert slept == "3600", str(outcome)
        assert float(really) < 10, str(outcome)
