# SPDX-License-Identifier: Apache-2.0
"""Gloo sends what it is asked for: `notice_costs` and `send_buffer`, two ranks, 1 GB/s and 10 us."""

import csv
from pathlib import Path

import pytest
from live_case import BEGIN, Case, execute

CLUSTER = """
name: pair
devices:
  host: DEVICE
nodes:
  process: {count: 2, device: host}
links:
  process[0] - process[1]: {bandwidth: 1GBps, latency: 10us}
"""
MEBIBYTE = 1 << 20
NOTICE = "notice_costs: {all_to_all: [{size: 0B, time: 100us}, {size: 1MiB, time: 1100us}]}"


def ends(command: Path, folder: Path, device: str, body: str, late: float) -> list[float]:
    """When the ranks are done with the last operation, in microseconds after rank 1 has come to it, `late` after rank
    0."""
    (folder / "pair.yaml").write_text(CLUSTER.replace("DEVICE", device))
    program = BEGIN + f"dist.barrier()\nif rank == 1: time.sleep({late} / 1e6)\n" + body
    words = ["-n", "2", "--compute", "fixed:1ns/op", "--out", "out"]
    outcome = execute(Case("asks", program, words=words, cluster="pair.yaml"), command, folder)
    assert outcome.code == 0, str(outcome)
    with (folder / "out" / "events.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    last = {int(row["rank"]): row for row in rows}
    came = int(last[1]["posted_ps"])
    return [(int(last[rank]["done_ps"]) - came) / 1e6 for rank in range(2)]


def exchange(size: int) -> str:
    return f"x = torch.zeros({size}, dtype=torch.uint8)\ndist.all_to_all_single(torch.empty_like(x), x)\n"


#: Size, how late, whether the directions follow each other.
EXCHANGES = [(MEBIBYTE, 1050, False), (MEBIBYTE, 1150, True), (MEBIBYTE // 16, 150, False), (MEBIBYTE // 16, 190, True)]


@pytest.mark.parametrize(("size", "late", "follows"), EXCHANGES)
def test_how_late_a_rank_may_come_grows_with_the_size(
    command: Path, tmp_path: Path, size: int, late: float, follows: bool
) -> None:
    way = 10 + size / 2 / 1000
    assert ends(command, tmp_path, f"{{{NOTICE}}}", exchange(size), late) == [pytest.approx(way * (1 + follows))] * 2


def test_who_came_first_is_done_half_way_when_the_kernel_has_its_bytes(command: Path, tmp_path: Path) -> None:
    way = 10 + MEBIBYTE / 2 / 1000
    device = f"{{send_buffer: 600kB, {NOTICE}}}"
    assert ends(command, tmp_path, device, exchange(MEBIBYTE), 1150) == [pytest.approx(way), pytest.approx(2 * way)]


@pytest.mark.parametrize("late", [0, 5000])
@pytest.mark.parametrize(("room", "left"), [("1MiB", 0), ("500kB", 10 + (MEBIBYTE - 500_000) / 1000)])
def test_a_root_is_done_when_its_bytes_are_asked_for_and_taken(
    command: Path, tmp_path: Path, late: float, room: str, left: float
) -> None:
    way = 10 + MEBIBYTE / 1000
    body = f"dist.broadcast(torch.zeros({MEBIBYTE}, dtype=torch.uint8), 0)\n"
    found = ends(command, tmp_path, f"{{send_buffer: {room}}}", body, late)
    piece = 500_000 / 32 / 1000 if left else 0.01
    assert found == [pytest.approx(left, abs=piece), pytest.approx(way)]
