# SPDX-License-Identifier: Apache-2.0
"""`overlap_costs`: what an operation under way takes from a rank that computes meanwhile. Operators take 1 ms."""

import csv
import json
from pathlib import Path

import pytest
from live_case import BEGIN, Case, execute

CLUSTER = """
name: pair
devices:
  host: {DEVICE}
nodes:
  process: {count: 2, device: host}
links:
  process[0] - process[1]: {bandwidth: 100MBps, latency: 10us}
"""
COSTS = "{overlap_costs: {all_reduce: [{size: 4KiB, time: 1ms}, {size: 1028KiB, time: 3ms}]}}"
#: About 10 ms over that link, and 3 ms of the core.
SMALL, LARGE = 1024, (1 << 18) + 1024
PROGRAM = (
    BEGIN
    + """
x = torch.zeros(COUNT)
dist.barrier()
begin = time.time()
BODY
print(f"rank {rank}: {(time.time() - begin) * 1e3:.6f}", flush=True)
"""
)
PARTS = ("compute_ps", "communication_ps", "waiting_ps")
COMPUTE = "for _ in range({}): x.add_(1)\n"


def program(count: int, body: str) -> str:
    return PROGRAM.replace("COUNT", str(count)).replace("BODY", body)


def milliseconds(command: Path, folder: Path, device: str, count: int, body: str) -> tuple[list[float], dict]:
    folder.mkdir()
    (folder / "pair.yaml").write_text(CLUSTER.replace("{DEVICE}", device))
    words = ["-n", "2", "--compute", "fixed:1ms/op", "--json", "--out", "out"]
    outcome = execute(Case("core", program(count, body), words=words, cluster="pair.yaml"), command, folder)
    assert outcome.code == 0, str(outcome)
    told = [line for line in outcome.stderr.splitlines() + outcome.stdout.splitlines() if line.startswith("rank ")]
    return [float(line.split()[-1]) for line in sorted(told)], json.loads((folder / "out" / "result.json").read_text())


BEGUN = "work = dist.all_reduce(x.clone(), async_op=True)\n"
CASES = {
    "all of it, as it is over before": (SMALL, BEGUN + COMPUTE.format(20) + "work.wait()", 1),
    "all of it, of a longer one": (LARGE, BEGUN + COMPUTE.format(40) + "work.wait()", 3),
    "nothing, when it is waited for": (LARGE, BEGUN + "work.wait()\n" + COMPUTE.format(40), 0),
    "of both": (SMALL, (BEGUN + COMPUTE.format(20)) * 2 + "work.wait()", 2),
    "also before a sleep": (SMALL, BEGUN + COMPUTE.format(20) + "time.sleep(1)\nwork.wait()", 1),
    "nothing while it sleeps": (SMALL, BEGUN + "time.sleep(1)\n" + COMPUTE.format(20) + "work.wait()", 0),
    "nothing of a call that blocks": (LARGE, "dist.all_reduce(x)\n" + COMPUTE.format(20), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_who_computes_meanwhile_computes_longer(command: Path, tmp_path: Path, name: str) -> None:
    count, body, expected = CASES[name]
    plain, before = milliseconds(command, tmp_path / "plain", "{}", count, body)
    shared, after = milliseconds(command, tmp_path / "shared", COSTS, count, body)
    for a, b in zip(plain, shared, strict=True):
        assert b - a == pytest.approx(expected, abs=1e-3)
    computed = [(b["compute_ps"] - a["compute_ps"]) / 1e9 for a, b in zip(before["ranks"], after["ranks"], strict=True)]
    assert computed == [pytest.approx(expected, abs=1e-3)] * 2, "and it is computing, as in a real run"


#: The operation takes 10.55 ms, and 3 ms of the core. Milliseconds: computed beside it, later in all, computed longer.
#: The operation goes first and leaves 7.55 of its 10.55 ms of the core.
HIDDEN = [(2, 0, 2 / 7.55 * 3), (7, 0, 7 / 7.55 * 3), (9, 9 + 3 - 10.55, 3)]


@pytest.mark.parametrize(("computed", "later", "longer"), HIDDEN)
def test_waiting_hides_what_it_took_but_not_what_the_core_has_to_do(
    command: Path, tmp_path: Path, computed: int, later: float, longer: float
) -> None:
    body = BEGUN + COMPUTE.format(computed) + "work.wait()\nx.add_(1)\ndist.barrier()"
    plain, before = milliseconds(command, tmp_path / "plain", "{}", LARGE, body)
    shared, after = milliseconds(command, tmp_path / "shared", COSTS, LARGE, body)
    for rank in range(2):
        assert shared[rank] - plain[rank] == pytest.approx(later, abs=0.02)
        more = [(after["ranks"][rank][part] - before["ranks"][rank][part]) / 1e9 for part in PARTS]
        assert more[0] == pytest.approx(longer, abs=0.02)
        assert sum(more) == pytest.approx(later, abs=0.02)


TWO = "first = dist.all_reduce(x.clone(), async_op=True)\nsecond = dist.all_reduce(x.clone(), async_op=True)\n"


def test_the_order_of_waiting_does_not_matter(command: Path, tmp_path: Path) -> None:
    ends = [
        milliseconds(command, tmp_path / name, COSTS, LARGE, TWO + COMPUTE.format(7) + waits)[0]
        for name, waits in (("one", "first.wait()\nsecond.wait()"), ("other", "second.wait()\nfirst.wait()"))
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1e-3)


def test_looking_again_and_again_is_waiting(command: Path, tmp_path: Path) -> None:
    body = BEGUN + COMPUTE.format(7) + "while not work.is_completed(): pass"
    _, before = milliseconds(command, tmp_path / "plain", "{}", LARGE, body)
    _, after = milliseconds(command, tmp_path / "shared", COSTS, LARGE, body)
    for a, b in zip(before["ranks"], after["ranks"], strict=True):
        assert (b["compute_ps"] - a["compute_ps"]) / 1e9 == pytest.approx(7 / 7.55 * 3, abs=0.1)


def test_what_is_posted_later_comes_later(command: Path, tmp_path: Path) -> None:
    body = BEGUN + COMPUTE.format(20) + BEGUN + COMPUTE.format(20) + "work.wait()"
    milliseconds(command, tmp_path / "shared", COSTS, SMALL, body)
    with (tmp_path / "shared" / "out" / "events.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    posted = [int(row["posted_ps"]) for row in rows if row["operation"] == "all_reduce" and row["rank"] == "0"]
    # The copy is an operator, too.
    assert (posted[1] - posted[0]) / 1e9 == pytest.approx(22, abs=1e-3)
