# SPDX-License-Identifier: Apache-2.0
"""What a calibration measures goes into the cluster file, and from there into predictions."""

import json
import subprocess
from pathlib import Path

import pytest

PLAIN = """
name: pair
devices:
  host: {DEVICE}
nodes:
  process: {count: 2, device: host}
links:
  process[0] - process[1]: {bandwidth: 1GBps, latency: 10us}
"""
COSTS = "{operation_costs: {all_reduce: [{size: 1KiB, time: 50us}, {size: 3KiB, time: 70us}]}}"


def orrery(command: Path, folder: Path, *words: object, code: int = 0) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([str(command), *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == code, f"{done.args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def times(command: Path, folder: Path, device: str, operation: str, sizes: str) -> list[int]:
    (folder / "pair.yaml").write_text(PLAIN.replace("{DEVICE}", device))
    words = ["collective", operation, "--cluster", "pair.yaml", "--algorithm", "gloo", "--size", sizes, "--json"]
    return [row["time_ps"] for row in json.loads(orrery(command, folder, *words).stdout)["results"]]


def test_costs_of_an_operation_stand_beside_the_network(command: Path, tmp_path: Path):
    sizes = "512B,1KiB,2KiB,3KiB,4KiB"
    without = times(command, tmp_path, "{}", "all_reduce", sizes)
    with_costs = times(command, tmp_path, COSTS, "all_reduce", sizes)
    added = [a - b for a, b in zip(with_costs, without, strict=True)]
    assert added == [50_000_000, 50_000_000, 60_000_000, 70_000_000, 80_000_000]
    assert times(command, tmp_path, COSTS, "broadcast", sizes) == times(command, tmp_path, "{}", "broadcast", sizes)


@pytest.mark.parametrize("field", ["operation_costs", "alone_costs", "overlap_costs", "notice_costs"])
def test_sizes_must_ascend(command: Path, tmp_path: Path, field: str):
    wrong = COSTS.replace("3KiB", "1KiB").replace("operation_costs", field)
    (tmp_path / "pair.yaml").write_text(PLAIN.replace("{DEVICE}", wrong))
    said = orrery(command, tmp_path, "cluster", "check", "pair.yaml", code=2).stderr
    assert "pair.yaml:4:" in said and "expected a larger size" in said, said


WAKES = "{wake_costs: {all_reduce: [{idle: 1ms, time: 0us}, {idle: 5ms, time: 80us}]}}"
PAUSES = """
import time
import torch
import torch.distributed as dist
dist.init_process_group()
x = torch.ones(256)
for pause in (0.0, 0.001, 0.003, 0.005, 0.010):
    dist.broadcast(x, 0)
    time.sleep(pause)
    began = time.perf_counter_ns()
    dist.all_reduce(x)
    print(time.perf_counter_ns() - began)
"""


def test_after_a_pause_an_operation_takes_longer(command: Path, tmp_path: Path):
    (tmp_path / "prog.py").write_text(PAUSES)
    found = []
    for device in ("{}", WAKES):
        (tmp_path / "pair.yaml").write_text(PLAIN.replace("{DEVICE}", device))
        words = ["run", "-q", "-n", 2, "--cluster", "pair.yaml", "--compute", "fixed:0us", "prog.py"]
        found.append(sorted(map(int, orrery(command, tmp_path, *words).stdout.split())))
    added = [round((after - before) / 1000) for before, after in zip(*found, strict=True)]
    assert added == [0, 0, 0, 0, 40, 40, 80, 80, 80, 80]  # Microseconds, of both ranks, in order.


ALONE = """
import time
import torch
import torch.distributed as dist
dist.init_process_group()
own = [dist.new_group([0]), dist.new_group([1])][dist.get_rank()]
x = torch.ones(512)
dist.all_reduce(x)
time.sleep(0.003)
times = []
for group in (own, own, None):
    began = time.perf_counter_ns()
    dist.all_reduce(x, group=group)
    times.append(time.perf_counter_ns() - began)
print(*times)
"""


def test_a_group_of_one_rank_has_costs_of_its_own_and_wakes_nobody(command: Path, tmp_path: Path):
    (tmp_path / "prog.py").write_text(ALONE)
    unknown_device = f"{{{WAKES[1:-1]}, {COSTS[1:-1]}}}"
    known_device = unknown_device[:-1] + ", alone_costs: {all_reduce: [{size: 1KiB, time: 9us}]}}"
    found = []
    for device in ("{}", unknown_device, known_device):
        (tmp_path / "pair.yaml").write_text(PLAIN.replace("{DEVICE}", device))
        words = ["run", "-q", "-n", 2, "--cluster", "pair.yaml", "--compute", "fixed:0us", "prog.py"]
        [line] = {*orrery(command, tmp_path, *words).stdout.splitlines()}  # Of both ranks.
        found.append([int(time) / 1000 for time in line.split()])
    free, unknown, known = found
    pair = free[-1]
    assert free == pytest.approx([0, 0, pair], abs=0.01) and pair > 20  # Each segment takes 1 ns at least.
    # After 3 ms half of the 80 us of waking, once; 2 KiB cost 60 us.
    assert unknown == pytest.approx([100, 60, pair + 60], abs=1)
    assert known == pytest.approx([9, 9, pair + 100], abs=1)


def test_what_is_measured_includes_groups_of_one_rank(command: Path, tmp_path: Path):
    orrery(command, tmp_path, "calibrate", "collectives", "--plan", "whole.json")
    whole = json.loads((tmp_path / "whole.json").read_text())
    alone = {operation: size for operation, size, *_ in whole if operation.startswith("alone:")}
    assert len(alone) == 9, alone
    (tmp_path / "plan.json").write_text(json.dumps([[name, min(size, 1024), 3, 1] for name, size in alone.items()]))
    words = ["run", "--real", "-n", 2, "--out", "out", "-m", "orrery.live.probe", "plan.json"]
    orrery(command, tmp_path, *words)
    lines = (tmp_path / "out/events.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines if line[:2] in ("0,", "1,")]
    calls = [row[1] for row in rows if row[2] != "0"]
    assert len(calls) == 9 * 2 * (2 + 3)  # Operations, ranks, calls.
    assert len({*calls}) == 9


def test_pauses_must_ascend(command: Path, tmp_path: Path):
    (tmp_path / "pair.yaml").write_text(PLAIN.replace("{DEVICE}", WAKES.replace("5ms", "1ms")))
    said = orrery(command, tmp_path, "cluster", "check", "pair.yaml", code=2).stderr
    assert "pair.yaml:4:" in said and "expected a larger idle" in said, said


@pytest.mark.slow
def test_a_calibrated_cluster_repeats_what_was_measured(command: Path, tmp_path: Path):
    words = ["calibrate", "network", "--repeat", 1, "-o", "here.yaml", "--svg", "here.svg", "--json"]
    found = json.loads(orrery(command, tmp_path, *words).stdout)
    fitted = [point for point in found["points"] if not point["held_out"]]
    assert len(fitted) >= 15
    # Costs are never negative, so a point may be predicted slower than measured, but not faster; rounded to 1 ns.
    assert all(point["simulated_ps"] >= point["measured_ps"] - 2000 for point in fitted)
    # How many are met exactly depends on the host: what a pause adds is measured apart from them.
    assert sum(abs(point["simulated_ps"] - point["measured_ps"]) < 2000 for point in fitted) >= len(fitted) / 4
    assert found["values"]["bandwidth"] > 0 and found["values"]["latency"] >= 0
    orrery(command, tmp_path, "cluster", "check", "here.yaml")
    assert (tmp_path / "here.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_launches_of_different_times_and_hosts_are_fitted_together(command: Path, tmp_path: Path):
    orrery(command, tmp_path, "calibrate", "network", "--plan", "plan.json")
    assert ["message", 1024] in [entry[:2] for entry in json.loads((tmp_path / "plan.json").read_text())]
    (tmp_path / "kept").mkdir()
    orrery(command, tmp_path, "calibrate", "network", "--repeat", 1, "--keep", "kept/first")
    words = ["-m", "orrery.record", "--out", "kept/second/0", "-m", "orrery.live.probe", "plan.json"]
    line = [str(command.parent / "torchrun"), "--standalone", "--nproc-per-node", "2", *words]
    subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, timeout=600)
    words = ["calibrate", "network", "--from", "kept", "--elsewhere", "-o", "here.yaml", "--json"]
    found = json.loads(orrery(command, tmp_path, *words).stdout)
    assert any(point["spread"] > 0 for point in found["points"])  # Of two launches.
    orrery(command, tmp_path, "cluster", "check", "here.yaml")
    said = orrery(command, tmp_path, "calibrate", "collectives", "--from", "kept", code=2).stderr
    assert "kept: recordings of something else" in said
    said = orrery(command, tmp_path, "calibrate", "network", "--repeat", 1, "--keep", "kept", code=2).stderr
    assert "kept" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["network", "--keep", "a", "--from", "b"], "expected one of --plan, --keep and --from"),
        (["host", "--keep", "a"], "expected network or collectives"),
        (["network", "--from", "nowhere"], "expected a folder of recordings"),
        (["network", "--link", "1Mbps"], "expected 10Mbps or more"),
        (["networks"], "did you mean 'network'"),
    ],
)
def test_calibrate_refuses(command: Path, tmp_path: Path, words: list, said: str):
    assert said in orrery(command, tmp_path, "calibrate", *words, code=2).stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_validate_writes_its_part_of_a_page(command: Path, tmp_path: Path):
    (tmp_path / "page.md").write_text("# Mine\n")
    words = ["validate", "--links", "loopback", "--programs", "moe", "--launches", 1, "-o", "page.md", "--json"]
    row = json.loads(orrery(command, tmp_path, *words).stdout)["rows"][0]
    assert row["real_ms"] > 0 and row["simulated_ms"] > 0
    text = (tmp_path / "page.md").read_text()
    assert text.startswith("# Mine\n") and f"| moe | loopback | {row['real_ms']:.1f} |" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--programs", "tp_prefil"], "--programs: 'tp_prefil': expected some of: tp_decode, tp_prefill"),
        (["--links", "fast"], "--links: 'fast': expected loopback or a rate"),
        (["--launches", "0"], "--launches: '0': expected 1 to 1000"),
        (["-o", "nowhere/page.md"], "--output: 'nowhere/page.md': no such folder"),
    ],
)
def test_validate_refuses(command: Path, tmp_path: Path, words: list, said: str):
    assert said in orrery(command, tmp_path, "validate", *words, code=2).stderr
