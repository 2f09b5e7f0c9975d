# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed examples on simulated clusters: any number of ranks agrees with one process."""

from pathlib import Path

import pytest
from live_case import Case, ids

EXAMPLES = Path(__file__).parents[2] / "examples"
CLUSTER = "star:hosts=8,bandwidth=1Gbps,latency=50us"
#: Worlds that each algorithm allows, of 2, 3, 4 and 8; the first is tried in every run of the tests.
WORLDS = {
    "tensor_parallel": (4, 2, 3, 8),
    "pipeline_parallel": (3, 2, 4, 8),
    "tensor_pipeline_parallel": (4, 2, 8),
    "voltage": (3, 2, 4, 8),
    "voltage_improved": (3, 2, 4, 8),
    "two_tower": (2, 4, 8),
    "poisson_serving": (4, 2, 8),
    "yield_benchmark": (4, 2, 3, 8),
    "ddp": (2, 3, 4, 8),
    "fsdp2": (2, 3, 4, 8),
    "dtensor_sequence_parallel": (2, 3, 4, 8),
    "torch_pipelining": (2, 3, 4, 8),
    "moe_expert_parallel": (3, 2, 4, 8),
    "ring_attention": (3, 2, 4, 8),
    "ping_pong": (2, 3, 4, 8),
    "all_collectives": (3, 2, 4, 8),
    "collective_sweep": (2, 3, 4, 8),
}


def case(name: str, ranks: int) -> Case:
    words = ["-n", str(ranks), "-q", "--compute", "fixed:20us", str(EXAMPLES / f"{name}.py"), "--check"]
    return Case(f"{name}-{ranks}", words=words, cluster=CLUSTER, seconds=240)


QUICK = [case(name, worlds[0]) for name, worlds in WORLDS.items()]
SLOW = [case(name, ranks) for name, worlds in WORLDS.items() for ranks in worlds[1:]]


def test_every_example_is_here():
    scripts = {path.stem for path in EXAMPLES.glob("*.py") if "torch" in path.read_text()}
    assert scripts == set(WORLDS)


@pytest.mark.parametrize("case", ids(QUICK))
def test_equal_to_one_process(case, ahead):
    outcome = ahead(case)
    assert outcome.code == 0, str(outcome)


@pytest.mark.slow
@pytest.mark.parametrize("case", ids(SLOW))
def test_equal_to_one_process_in_other_worlds(case, ahead):
    outcome = ahead(case)
    assert outcome.code == 0, str(outcome)
