# SPDX-License-Identifier: Apache-2.0
"""`ranks[].memory` of runs with `--device-map cuda=cpu`: the peak of a device, in parts that follow from arithmetic."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from live_case import Case, Outcome, execute, ids

MIB = 1 << 20
PARTS = ("parameters", "gradients", "optimizer", "activations", "other")
BEGIN = """\
import os, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
"""
#: Weights of 1 MiB each, biases of 4 KiB and 1000 bytes, the last rounded up to two blocks.
MODEL = "nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 250))"
WEIGHTS = 256 * 1024 * 4 + 1024 * 4 + 1024 * 250 * 4 + 1024
STEPS = """\
for _ in range(3):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def training(optimizer: str, rows: int, ddp: str = "") -> str:
    return (
        f"{BEGIN}model = nn.parallel.DistributedDataParallel({MODEL}.cuda(){ddp})\n"
        f"optimizer = torch.optim.{optimizer}\nx = torch.randn({rows}, 256, device='cuda')\n{STEPS}"
    )


#: Eight layers of 4 MiB, each sharded by itself, made where they lie.
SHARDED = f"""{BEGIN}
from torch.distributed.fsdp import fully_shard
with torch.device("meta"): model = nn.Sequential(*(nn.Linear(1024, 1024, bias=False) for _ in range(8)))
for layer in model: fully_shard(layer)
fully_shard(model).to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
x = torch.randn(16, 1024, device="cuda")
{STEPS}"""
INFERENCE = f"""{BEGIN}
def main():
    model, x = {MODEL}.cuda(), torch.randn(64, 256, device="cuda")
    with torch.no_grad():
        for _ in range(2): y = model(x)
main()
"""
#: Two segments that are computed again in backward, by autograd's hooks and by a function of torch's own.
CHECKPOINTED = f"""{BEGIN}
from torch.utils.checkpoint import checkpoint
layers = [nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda() for _ in range(4)]
x = torch.randn(2048, 256, device="cuda", requires_grad=True)
y = x
for layer in layers: y = checkpoint(layer, y, use_reentrant=REENTRANT)
y.sum().backward()
"""


def small_device(folder: Path) -> None:
    (folder / "small.yaml").write_text(
        "name: small\ndevices:\n  toy: {peak: 1Tflops, memory_bandwidth: 1GBps, memory: 8MiB, host_overhead: 1us}\n"
        "topology: {switch: {hosts: 4, bandwidth: 1GBps, latency: 1us, device: toy}}\n"
    )


def case(name: str, program: str, *options: str, ranks: int = 2, **more) -> Case:
    words = ["-n", str(ranks), "--device-map", "cuda=cpu", *options]
    return Case(name, program, words=words, **{"cluster": "hgx-h100", **more})


FAKE = ("--json", "--compute", "fake")
ADAMW, SGD = "AdamW(model.parameters())", "SGD(model.parameters(), lr=0.1, foreach=False)"
RUNS = {
    one.name: one
    for one in (
        case("adamw", training(ADAMW, 8), *FAKE),
        case("adamw with data", training(ADAMW, 8), "--json", "--compute", "model"),
        case("sgd", training(SGD, 4096, ", gradient_as_bucket_view=True"), *FAKE),
        case("fsdp2", SHARDED, *FAKE, ranks=4),
        case("inference", INFERENCE, *FAKE),
        case("checkpoint", CHECKPOINTED.replace("REENTRANT", "False"), *FAKE, ranks=1),
        case("reentrant", CHECKPOINTED.replace("REENTRANT", "True"), *FAKE, ranks=1),
        case("summary", INFERENCE, "--compute", "fake"),
    )
}
FULL = case("full", training(ADAMW, 8), "-q", cluster="small.yaml", prepare=small_device)


def memory_of(outcome: Outcome) -> dict:
    """Of rank 0; all ranks of these programs have the same."""
    assert outcome.code == 0, str(outcome)
    ranks = [rank["memory"] for rank in json.loads(outcome.stdout)["ranks"]]
    assert all(memory == ranks[0] for memory in ranks), ranks
    assert sum(ranks[0][part] for part in PARTS) == ranks[0]["peak_bytes"] > 0
    assert ranks[0]["device_bytes"] == 80 * 1000**3 or ranks[0]["device_bytes"] == 80 << 30
    return ranks[0]


@pytest.fixture
def memory(ahead: Callable) -> Callable[[str], dict]:
    return lambda name: memory_of(ahead(RUNS[name]))


def test_print(command, bridge, tmp_path):
    for name, one in RUNS.items():
        folder = tmp_path / name
        folder.mkdir()
        done = execute(one, command, folder)
        try:
            print(name, json.loads(done.stdout)["ranks"][0]["memory"])
        except Exception:
            print(name, done)
