# SPDX-License-Identifier: Apache-2.0
"""`orrery run --capture`: a replay of the capture gives the times of the run, to the picosecond."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from live_case import BEGIN, STAR, Case, execute, ids

FIXED = ["-n", "4", "--compute", "fixed:10us", "--json"]
#: Devices of three speeds that need time for each message, for operations and for waking up, on links of two.
MIXED = """\
name: mixed
devices:
  phone:
    compute_scale: 3.7
    send_overhead: 3us
    receive_overhead: 5us
    reduce_bandwidth: 3GBps
    operation_costs:
      all_reduce: [{size: 1KiB, time: 50us}, {size: 1MiB, time: 400us}]
      all_to_all: [{size: 1KiB, time: 30us}]
      send_recv: [{size: 1KiB, time: 20us}, {size: 100KiB, time: 90us}]
    wake_costs:
      all_reduce: [{idle: 0us, time: 0us}, {idle: 70us, time: 31us}, {idle: 2ms, time: 110us}]
      all_gather: [{idle: 1us, time: 0us}, {idle: 90us, time: 43us}]
      all_to_all: [{idle: 1us, time: 0us}, {idle: 50us, time: 17us}]
      broadcast: [{idle: 1us, time: 0us}, {idle: 50us, time: 23us}]
      send_recv: [{idle: 1us, time: 0us}, {idle: 60us, time: 13us}]
nodes:
  box: {count: 4, device: phone}
  ap: {kind: switch}
links:
  box[0:2] - ap: {bandwidth: 1Gbps, latency: 50us}
  box[2:4] - ap: {bandwidth: 300Mbps, latency: 90us}
overrides:
  box[1]: {compute_scale: 1}
  box[3]: {compute_scale: 0.3}
"""
#: The same, where buffers leave the caches and operations take the core from who computes: in the times of the capture.
COLD = MIXED.replace("name: mixed", "name: cold").replace("time: 43us}", "time: 43us, per_mib: 2ms}").replace(
    "    wake_costs:\n",
    """\
    send_buffer: 20kB
    alone_costs:
      all_reduce: [{size: 1KiB, time: 31us}, {size: 1MiB, time: 400us}]
      barrier: [{size: 0B, time: 29us}]
    notice_costs:
      all_gather: [{size: 0B, time: 1us}, {size: 1MiB, time: 200us}]
      all_to_all: [{size: 0B, time: 2us}]
    overlap_costs:
      all_reduce: [{size: 1KiB, time: 20us}, {size: 1MiB, time: 900us}]
      all_gather: [{size: 1KiB, time: 70us}]
      send_recv: [{size: 1KiB, time: 30us}]
    wake_costs:
""",
)
OVERLAP = """
big, small = torch.ones(1 << 18), torch.ones(1 << 12)
for step in range(3):
    first = dist.all_reduce(big, async_op=True)
    time.time()
    second = dist.all_reduce(small, async_op=True)
    for _ in range(rank):
        time.time()
    third = dist.all_gather_into_tensor(torch.empty(4 * 4096), small, async_op=True)
    second.wait()
    time.time()
    first.wait()
    third.wait()
"""
GROUPS = """
rows = [dist.new_group([0, 1]), dist.new_group([3, 2])]
columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
everybody = dist.new_group([3, 1, 0, 2])
for _ in range(2):
    x = torch.ones(3000 + rank // 2)
    one = dist.all_reduce(x, group=rows[rank // 2], async_op=True)
    y = torch.ones(50_001, dtype=torch.int16)
    two = dist.all_reduce(y, group=columns[rank % 2], async_op=True)
    one.wait(), two.wait()
    dist.broadcast(torch.ones(999), src=1, group=everybody)
dist.destroy_process_group(rows[rank // 2])
again = [dist.new_group([0, 1]), dist.new_group([3, 2])]
dist.all_reduce(torch.ones(77), group=again[rank // 2])
"""
#: In groups of one rank nothing wakes for what follows.
ALONE = """
own = [dist.new_group([i]) for i in range(world)][rank]
x = torch.ones(10_000)
for _ in range(3):
    dist.all_reduce(x, group=own)
    work = dist.all_reduce(x, group=own, async_op=True)
    for _ in range(rank):
        time.time()
    work.wait()
    dist.broadcast(x, 0, group=None)
    dist.barrier(group=own)
    dist.all_gather_into_tensor(torch.empty(10_000), x, group=own)
"""
MESSAGES = """
pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
x, y = torch.ones(1 << 16), torch.empty(1 << 16)
for _ in range(2):
    send = dist.isend(x, (rank + 1) % world)
    receive = dist.irecv(y, (rank - 1) % world)
    time.time()
    receive.wait()
    send.wait()
works = dist.batch_isend_irecv(
    [dist.P2POp(dist.isend, x, (rank + 2) % world), dist.P2POp(dist.irecv, y, (rank + 2) % world)]
)
[work.wait() for work in works]
if rank == 0:
    for _ in range(2 * (world - 1)):
        dist.recv(y)  # From anybody.
else:
    for _ in range(rank):
        time.time()
    dist.send(x[: 1000 * rank], 0)  # Shorter than what takes it.
    dist.send(x, 0)
other = rank ^ 1
if rank % 2 == 0:
    dist.send(x[:10], other, group=pairs[rank // 2], tag=7)
    dist.send(x[:20], other, tag=7)
else:
    first = dist.irecv(y[:20], other, tag=7)
    second = dist.irecv(y[:10], other, group=pairs[rank // 2], tag=7)
    first.wait(), second.wait()
"""
UNEVEN = """
dist.all_gather([torch.empty(100 * (i + 1)) for i in range(world)], torch.ones(100 * (rank + 1)))
sent, taken = [rank + i + 1 for i in range(world)], [rank + i + 1 for i in range(world)]
dist.all_to_all_single(torch.empty(sum(taken)), torch.ones(sum(sent)), taken, sent)
for _ in range(rank):
    time.time()
dist.all_to_all_single(torch.empty(4000), torch.ones(4000))  # Even; still nobody starts before all are there.
work = dist.all_to_all_single(torch.empty(40_000), torch.ones(40_000), async_op=True)
time.time()
dist.reduce_scatter(torch.empty(1000 + rank), [torch.ones(1000 + i) for i in range(world)])
work.wait()
"""
ROOTED = """
x = torch.ones(33_333)
dist.broadcast(x, 1)
dist.reduce(x, 2)
for _ in range(rank):
    time.time()
dist.gather(x, [torch.empty_like(x) for _ in range(world)] if rank == 3 else None, dst=3)
dist.scatter(x, [torch.ones_like(x) for _ in range(world)] if rank == 1 else None, src=1)
dist.reduce_scatter_tensor(torch.empty(5000), torch.ones(20_000))
dist.barrier()
dist.all_gather_object([None] * world, {"rank": rank})
"""
PAUSES = """
store = dist.distributed_c10d._get_default_store()
time.sleep(0.001 * (world - rank))
if rank == 2:
    time.sleep(0.02)
    store.set("key", "value")
store.wait(["key"])
work = dist.all_reduce(torch.ones(1 << 20), async_op=True)
while not work.is_completed():
    time.time()
dist.monitored_barrier()
"""
#: Waits that need no request, since the rank has been told; ranks that leave before their operations have ended.
LEFT_BEHIND = """
dist.barrier()
works = [dist.all_reduce(torch.ones(1000), async_op=True) for _ in range(40)]
works[-1].wait()
[work.wait() for work in works]
works = [dist.all_reduce(torch.ones(1 << 16), async_op=True) for _ in range(3)]
if rank == 0:
    work = dist.isend(torch.ones(1 << 16), 1)
if rank == 1:
    dist.recv(torch.empty(1 << 16), 0)
if rank == 2:
    never = dist.isend(torch.ones(4), 3)
if rank > 1:
    works[-1].wait()
"""
#: Rank 0's second wait needs no request on the star, where the second operation ends first; elsewhere it ends last.
TOLD_BEFORE = """
groups = [dist.new_group([0, 1]), dist.new_group([0, 2])]
x, y = torch.ones(1 << 18), torch.ones(200_000)
works = []
if rank in (0, 1):
    works.append(dist.all_reduce(x, group=groups[0], async_op=True))
if rank in (0, 2):
    works.append(dist.all_reduce(y, group=groups[1], async_op=True))
for work in works:
    work.wait()
for _ in range(20 if rank == 0 else 0):
    x.add_(1)
dist.barrier()
"""
DDP = """
from torch.nn.parallel import DistributedDataParallel
torch.manual_seed(0)
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(6)))
model = DistributedDataParallel(model, bucket_cap_mb=0.02)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(4, 64)).sum().backward()
    optimizer.step()
"""


def replay(command: Path, folder: Path, cluster: str, *words: str) -> dict:
    line = [str(command), "replay", "capture", "--cluster", cluster, "--json", *words]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def captured(case: Case, command: Path, folder: Path) -> tuple[dict, dict]:
    """What the run said, and what a replay of its capture says."""
    (folder / "mixed.yaml").write_text(MIXED)
    (folder / "cold.yaml").write_text(COLD)
    outcome = execute(case, command, folder)
    assert outcome.code == 0, str(outcome)
    files = sorted(path.name for path in (folder / "capture").iterdir())
    live = json.loads(outcome.stdout)
    assert files == [f"capture.{rank}.et" for rank in range(len(live["ranks"]))]
    network = case.words[case.words.index("--network") + 1] if "--network" in case.words else "flow"
    return live, replay(command, folder, case.cluster, "--network", network)


def case(name: str, program: str, cluster: str = STAR, *words: str) -> Case:
    return Case(
        name, BEGIN + program, words=[*(words or FIXED), "--capture", "capture"], cluster=cluster, run=captured
    )


PROGRAMS = {
    "overlap": OVERLAP,
    "groups": GROUPS,
    "alone": ALONE,
    "messages": MESSAGES,
    "uneven": UNEVEN,
    "rooted": ROOTED,
    "pauses": PAUSES,
    "left behind": LEFT_BEHIND,
    "ddp": DDP,
}
CASES = [
    *(case(name, program) for name, program in PROGRAMS.items()),
    *(case(f"{name}, mixed", program, "mixed.yaml") for name, program in PROGRAMS.items()),
    *(case(f"{name}, cold", program, "cold.yaml") for name, program in PROGRAMS.items()),
    case("overlap, packets", OVERLAP, STAR, *FIXED, "--network", "packet"),
    case("rooted, nccl", ROOTED, "hgx-h100"),
    case("ddp, measured", DDP, "mixed.yaml", "-n", "4", "--json"),
    case("overlap, measured", OVERLAP, "mixed.yaml", "-n", "4", "--json", "--jobs", "2"),
]
QUICK = {
    "overlap, mixed", "overlap, cold", "alone, cold", "messages", "uneven, mixed", "groups", "ddp, measured",
    "left behind",
}  # fmt: skip


@pytest.mark.parametrize("case", ids(CASES, QUICK))
def test_replay_gives_the_times_of_the_run(case: Case, ahead: Callable[[Case], tuple[dict, dict]]) -> None:
    live, replayed = ahead(case)
    assert replayed["total_ps"] == live["total_ps"]
    assert [one["finish_ps"] for one in replayed["ranks"]] == [one["finish_ps"] for one in live["ranks"]]


def elsewhere(case: Case, command: Path, folder: Path) -> tuple[dict, dict]:
    """Captured here; run there with the same compute times, and replayed there."""
    (folder / "mixed.yaml").write_text(MIXED)
    outcome = execute(case, command, folder)
    assert outcome.code == 0, str(outcome)
    compute = case.words[case.words.index("--compute") + 1]
    line = [str(command), "run", "-n", "4", "--cluster", "mixed.yaml", "--compute", compute, "--json", "prog.py"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), replay(command, folder, "mixed.yaml")


#: By operator, since how often a program asks depends on the network; computing takes most of the time.
SLOW = ["-n", "4", "--compute", "fixed:500us/op", "--json"]
ELSEWHERE = [
    Case(name, BEGIN + program, words=[*words, "--capture", "capture"], run=elsewhere)
    for name, program, words in (
        ("overlap", OVERLAP, FIXED),
        ("told before", TOLD_BEFORE, SLOW),
        ("ddp", DDP, SLOW),
        ("uneven", UNEVEN, SLOW),
        ("rooted", ROOTED, SLOW),
    )
]


@pytest.mark.parametrize("case", ids(ELSEWHERE, {"overlap", "told before"}))
def test_a_capture_moves_to_another_cluster(case: Case, ahead: Callable[[Case], tuple[dict, dict]]) -> None:
    live, replayed = ahead(case)
    assert replayed["total_ps"] == pytest.approx(live["total_ps"], rel=0.01)


REFUSED = [
    Case("there is one", BEGIN, words=["-n", "2", "--capture", "."], code=2, said=("has something in it",)),
    Case("a rank fails", BEGIN + "1 / rank", words=["-n", "2", "--capture", "capture"], code=3),
    Case("with results", BEGIN, words=["-n", "2", "--capture", "a", "--out", "a"], code=2, said=("another folder",)),
]


@pytest.mark.parametrize("case", ids(REFUSED))
def test_no_capture_of_what_fails(case: Case, ahead: Callable[[Case], object]) -> None:
    outcome = ahead(case)
    assert outcome.code == case.code, str(outcome)
    for part in case.said:
        assert part in outcome.stderr
    assert not [path.name for path in outcome.folder.iterdir() if path.is_dir() and path.name.startswith("capture")]
