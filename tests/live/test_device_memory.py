# SPDX-License-Identifier: Apache-2.0
"""`ranks[].memory` of runs with `--device-map cuda=cpu`: the peak of a device, in parts that follow from arithmetic."""

import json
import re
from pathlib import Path

import pytest
from live_case import Case, Outcome, ids

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
#: All gradients in one piece, rounded once.
BUCKET = -(-(256 * 1024 + 1024 + 1024 * 250 + 250) * 4 // 512) * 512
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
#: Four segments that are computed again in backward.
CHECKPOINTED = f"""{BEGIN}
from torch.utils.checkpoint import checkpoint
layers = [nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda() for _ in range(4)]
x = torch.randn(2048, 256, device="cuda", requires_grad=True)
y = x
for layer in layers: y = checkpoint(layer, y, use_reentrant=False)
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
        case("checkpoint", CHECKPOINTED, *FAKE, ranks=1),
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
    assert ranks[0]["device_bytes"] == 80 * 1000**3
    return ranks[0]


def only(*names: str) -> list:
    return ids([RUNS[name] for name in names])


@pytest.mark.parametrize("case", only("adamw", "adamw with data"))
def test_adamw(case, ahead):
    memory = memory_of(ahead(case))
    assert memory["parameters"] == WEIGHTS
    assert memory["gradients"] == WEIGHTS + BUCKET
    assert memory["optimizer"] == 2 * WEIGHTS  # Its counts of steps are on the host.
    assert memory["activations"] == 512  # The loss, which the program holds; the peak is in the step.
    assert memory["other"] == WEIGHTS + 8 * 256 * 4  # What the step holds for a moment, and x.


@pytest.mark.parametrize("case", only("sgd"))
def test_sgd_has_no_state(case, ahead):
    memory = memory_of(ahead(case))
    assert (memory["parameters"], memory["gradients"], memory["optimizer"]) == (WEIGHTS, BUCKET, 0)
    # Backward has come to the ReLU, which saved what it gave; beside it the loss. Two gradients of that size, and x.
    assert memory["activations"] == 4096 * 1024 * 4 + 512
    assert memory["other"] == 2 * 4096 * 1024 * 4 + 4096 * 256 * 4 + 512


@pytest.mark.parametrize("case", only("fsdp2"))
def test_fsdp2_has_a_share(case, ahead):
    memory = memory_of(ahead(case))
    assert memory["parameters"] == 8 * MIB + 4 * MIB  # Its fourth of all, and one layer that is gathered.
    assert memory["optimizer"] == 16 * MIB
    assert memory["gradients"] % MIB == 0 and 0 < memory["gradients"] <= 8 * MIB


@pytest.mark.parametrize("case", only("inference"))
def test_inference(case, ahead):
    memory = memory_of(ahead(case))
    inputs, hidden, results = 64 * 256 * 4, 64 * 1024 * 4, 64 * 250 * 4
    assert memory["parameters"] == WEIGHTS
    assert (memory["gradients"], memory["optimizer"], memory["activations"]) == (0, 0, 0)
    assert memory["other"] == inputs + 2 * hidden + results  # Those of the first round are held through the second.


@pytest.mark.parametrize("case", only("checkpoint"))
def test_recomputed_activations(case, ahead):
    # Backward is in the first layer: what was computed again, the last result and its sum.
    assert memory_of(ahead(case))["activations"] == 2048 * 1024 * 4 + 2048 * 256 * 4 + 512


@pytest.mark.parametrize("case", only("summary"))
def test_summary_has_a_line(case, ahead):
    outcome = ahead(case)
    lines = [line for line in outcome.stdout.splitlines() if line.startswith("device memory: ")]
    assert lines == [
        "device memory: peak 2.6 MiB of 74.5 GiB on rank 0: parameters 2.0 MiB, gradients 0 B, optimizer 0 B, "
        "activations 0 B, other 638.5 KiB"
    ], str(outcome)


@pytest.mark.parametrize("case", ids([FULL]))
def test_full_device_says_of_what(case, ahead):
    outcome = ahead(case)
    assert outcome.code == 3, str(outcome)
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate" in outcome.stderr, str(outcome)
    assert re.search(r"GPU 0 has a total capacity of 8\.00 MiB of which \d\.\d\d MiB is free", outcome.stderr)
    assert re.search(
        r"Of the allocated memory \d\.\d\d MiB: parameters 1\.98 MiB, gradients 3\.96 MiB, optimizer state "
        r"\d\.\d\d MiB, activations 0\.00 MiB, other 0\.0\d MiB\.",
        outcome.stderr,
    ), str(outcome)
    assert 'live/cuda_parts.py"' not in outcome.stderr, str(outcome)
