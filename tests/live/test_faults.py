# SPDX-License-Identifier: Apache-2.0
"""What goes wrong at given times (`--faults`), and what programs see of it. Four ranks, 1 GB/s, 10 us, gloo."""

import json
import re
from pathlib import Path

import pytest
from live_case import Case, Outcome, execute

CLUSTER = """
name: quad
nodes:
  process: {count: 4}
  hub: {kind: switch}
links:
  process[*] - hub: {bandwidth: 1GBps, latency: 5us}
"""
BEGIN = """\
import datetime, os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=5))
rank, world = dist.get_rank(), dist.get_world_size()
dist.barrier()
zero = time.monotonic()
def until(moment): time.sleep(max(0, moment - (time.monotonic() - zero)))
def attempt(name, call):
    began = time.monotonic()
    try: call(); said = "done"
    except RuntimeError as problem: said = str(problem).splitlines()[0]
    print(f"{rank} {name} {time.monotonic() - began:.3f} {said}", flush=True)
"""


def run(command: Path, folder: Path, faults: str, body: str, compute: str = "fixed:1us") -> Outcome:
    (folder / "quad.yaml").write_text(CLUSTER)
    (folder / "faults.yaml").write_text(faults)
    words = ["-n", "4", "--compute", compute, "--faults", "faults.yaml", "--out", "out"]
    return execute(Case("faults", BEGIN + body, words=words, cluster="quad.yaml"), command, folder)


def attempts(outcome: Outcome) -> dict[tuple[int, str], tuple[float, str]]:
    """What each rank's attempts took, and how they ended."""
    found = re.findall(r"^(\d) (\S+) (\d+\.\d+) (.*)$", outcome.stdout, re.MULTILINE)
    return {(int(rank), name): (float(seconds), said) for rank, name, seconds, said in found}


def result(outcome: Outcome) -> dict:
    return json.loads((outcome.folder / "out" / "result.json").read_text())


SLOW_LINK = '- {at: 500ms, link: "process[0] - hub", bandwidth: 1MBps}\n'
CRASH = "- {at: 2s, crash: 3}\n"
GOES_ON = """
survivors = dist.new_group([0, 1, 2])
attempt("before", lambda: dist.all_reduce(torch.ones(4)))
until(3)
attempt("all_reduce", lambda: dist.all_reduce(torch.ones(4)))
attempt("monitored_barrier", lambda: dist.monitored_barrier(timeout=datetime.timedelta(seconds=2)))
y = torch.ones(4)
attempt("after", lambda: dist.all_reduce(y, group=survivors))
print("sum", y[0].item(), flush=True)
"""


def test_survivors_of_a_crash_see_a_timeout_and_go_on(command: Path, tmp_path: Path) -> None:
    outcome = run(command, tmp_path, CRASH, GOES_ON)
    assert outcome.code == 0, str(outcome)
    seen = attempts(outcome)
    assert all(seen[rank, "before"] == (pytest.approx(0, abs=0.1), "done") for rank in range(4)), str(outcome)
    for rank in range(3):
        seconds, said = seen[rank, "all_reduce"]
        assert seconds == pytest.approx(5, abs=0.01), str(outcome)
        assert "Timed out waiting 5000ms" in said and "not there: rank 3" in said, str(outcome)
        assert seen[rank, "after"][1] == "done", str(outcome)
    assert seen[0, "monitored_barrier"][1] == "Rank 3 failed to pass monitoredBarrier in 2000 ms", str(outcome)
    assert outcome.stdout.count("sum 3.0") == 3, str(outcome)
    ranks = result(outcome)["ranks"]
    assert [one["crashed"] for one in ranks] == [False, False, False, True]
    assert ranks[3]["finish_ps"] == 2 * 10**12
    assert "crashed" in outcome.stdout, str(outcome)


def test_the_same_faults_give_the_same_run(command: Path, tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        found.append(result(run(command, tmp_path / name, CRASH, GOES_ON)))
    assert found[0]["ranks"][3]["crashed"]
    assert found[0] == found[1]


def test_survivors_that_raise_fail_the_program(command: Path, tmp_path: Path) -> None:
    outcome = run(command, tmp_path, CRASH, "until(3)\ndist.all_reduce(torch.ones(4))\n")
    assert outcome.code == 3, str(outcome)
    assert re.fullmatch(
        r"orrery: rank 0 ended with exit status 1 at 8\.\d+s; rank 1 ended .*; rank 2 ended with exit status 1 at \S+",
        outcome.said.strip(),
    ), str(outcome)
    assert [one["exit_status"] for one in result(outcome)["ranks"][:3]] == [1, 1, 1]


LINKS = """
- {at: 10s, link: "process[0] - hub", state: down, for: 2s}
- {at: 20s, link: "process[0] - hub", bandwidth: 100MBps, for: 5s}
- {at: 30s, link: "process[0] -> hub", latency: 500ms, for: 1s}
- {at: 40s, link: "process[0] - hub", state: down}
"""
SENDS = """
x = torch.zeros(100_000_000, dtype=torch.uint8)
for name, moment in (("plain", 1), ("down", 11), ("narrow", 21), ("far", 30.5), ("again", 35), ("cut", 41)):
    until(moment)
    if rank == 0: attempt(name, lambda: dist.send(x, 1))
    if rank == 1: attempt(name, lambda: dist.recv(x, 0))
"""


def test_links_fail_and_recover(command: Path, tmp_path: Path) -> None:
    outcome = run(command, tmp_path, LINKS, SENDS)
    assert outcome.code == 0, str(outcome)
    seen = attempts(outcome)
    expected = {"plain": 0.1, "down": 1.1, "narrow": 1.0, "far": 0.6, "again": 0.1, "cut": 5.0}
    for name, seconds in expected.items():
        assert seen[1, name][0] == pytest.approx(seconds, abs=0.01), str(outcome)
    assert all(seen[1, name][1] == "done" for name in expected if name != "cut"), str(outcome)
    assert "Timed out waiting 5000ms" in seen[0, "cut"][1], str(outcome)
    assert "Connection closed by peer: rank 0 gave up" in seen[1, "cut"][1], str(outcome)


def test_a_rank_slows_down_for_a_while(command: Path, tmp_path: Path) -> None:
    steps = """
for moment in (1, 11, 21):
    until(moment)
    began = time.monotonic()
    for _ in range(20): dist.all_reduce(torch.ones(1))
    print(f"{rank} steps{moment} {time.monotonic() - began:.3f} done", flush=True)
"""
    slow = "- {at: 10s, slow: 2, by: 4, for: 5s}\n"
    outcome = run(command, tmp_path, slow, steps, "fixed:10ms")
    assert outcome.code == 0, str(outcome)
    seen = attempts(outcome)
    plain = seen[2, "steps1"][0]
    assert seen[2, "steps11"][0] == pytest.approx(4 * plain, rel=0.05), str(outcome)
    assert seen[2, "steps21"][0] == pytest.approx(plain, rel=0.05), str(outcome)
    assert seen[0, "steps11"][0] == pytest.approx(4 * plain, rel=0.1), "the others wait for it"


@pytest.mark.parametrize(
    ("name", "sends", "receives"),
    [("broadcast", "dist.broadcast(x, 0)", "dist.broadcast(x, 0)"), ("send", "dist.send(x, 1)", "dist.recv(x, 0)")],
)
def test_nobody_receives_what_a_crashed_rank_had_not_sent(
    command: Path, tmp_path: Path, name: str, sends: str, receives: str
) -> None:
    """Rank 0 is in its operation, and the others come to theirs after its crash."""
    body = f"""
x = torch.ones(1_000_000)
until(1)
if rank == 0: {sends}
until(3)
if rank == 1 or "{name}" == "broadcast": attempt("{name}", lambda: {receives})
"""
    outcome = run(command, tmp_path, "- {at: 2s, crash: 0}\n", body)
    assert outcome.code == 0, str(outcome)
    seconds, said = attempts(outcome)[1, name]
    assert seconds == pytest.approx(5, abs=0.01), str(outcome)
    assert "Timed out" in said, str(outcome)


@pytest.mark.parametrize(("gone", "left", "call"), [(0, 1, "dist.recv(x, 0)"), (1, 0, "dist.send(x, 1)")])
def test_a_message_under_way_is_lost_with_its_rank(
    command: Path, tmp_path: Path, gone: int, left: int, call: str
) -> None:
    """1.5 MB take as many seconds, and one side crashes after one of them."""
    other = "dist.send(x, 1)" if gone == 0 else "dist.recv(x, 0)"
    body = f"""
x = torch.zeros(1_500_000, dtype=torch.uint8)
until(1)
if rank == {gone}: {other}
if rank == {left}: attempt("half", lambda: {call})
"""
    outcome = run(command, tmp_path, SLOW_LINK + f"- {{at: 2s, crash: {gone}}}\n", body)
    assert outcome.code == 0, str(outcome)
    seconds, said = attempts(outcome)[left, "half"]
    assert seconds == pytest.approx(5, abs=0.01) and "Timed out" in said, str(outcome)


def test_receives_of_a_crashed_rank_keep_their_order(command: Path, tmp_path: Path) -> None:
    """Two from anybody had begun with rank 0's messages; rank 2's only one is for the first."""
    body = """
x, y = torch.zeros(1_500_000, dtype=torch.uint8), torch.zeros(1_500_000, dtype=torch.uint8)
until(1)
if rank == 0: [dist.isend(x, 1), dist.isend(y, 1)][0].wait()
if rank == 1:
    first, second = dist.irecv(x), dist.irecv(y)
    attempt("first", first.wait)
    attempt("second", second.wait)
until(3)
if rank == 2: dist.send(x + 7, 1)
"""
    outcome = run(command, tmp_path, SLOW_LINK + "- {at: 2s, crash: 0}\n", body)
    seen = attempts(outcome)
    assert seen[1, "first"][1] == "done", str(outcome)
    assert "Timed out" in seen[1, "second"][1], str(outcome)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("- {at: 1s, crash: 4}", r"faults\.yaml:1.*crash.*cluster 'quad' has ranks 0 to 3"),
        ("- {at: 1s, crsh: 1}", r"faults\.yaml:1.*crsh.*crash"),
        ('- {at: 1s, link: "process[9] - hub", state: down}', r"faults\.yaml:1.*link"),
        ("- {crash: 1}", r"faults\.yaml:1.*'at'"),
    ],
)
def test_mistakes_in_the_file_are_named(command: Path, tmp_path: Path, fault: str, said: str) -> None:
    outcome = run(command, tmp_path, fault + "\n", "")
    assert outcome.code == 2, str(outcome)
    assert re.search(said, outcome.said, re.DOTALL), str(outcome)
    assert not (tmp_path / "out").exists()
