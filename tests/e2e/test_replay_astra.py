# SPDX-License-Identifier: Apache-2.0
"""`orrery replay` with ASTRA-sim's files: its cycles, and the same run on the graph that they describe."""

import json
from pathlib import Path

import pytest
from trace_writer import node, write

SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring"],
    "all-gather-implementation": ["ring"],
    "reduce-scatter-implementation": ["ring"],
    "all-to-all-implementation": ["ring"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 1600,
}


@pytest.fixture
def files(tmp_path: Path) -> "list[str]":
    write(tmp_path / "w", [[node(1, "coll", comm_type="all_reduce", comm_size=1 << 20)]] * 8)
    (tmp_path / "system.json").write_text(json.dumps(SYSTEM))
    (tmp_path / "network.yml").write_text(
        "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]  # ns\n"
    )
    return ["--astra-workload", "w", "--astra-system", "system.json", "--astra-network", "network.yml"]


def replayed(orrery, *arguments):
    return json.loads(orrery("replay", *arguments, "--json").stdout)


def test_its_cycles(orrery, files):
    for network in ("astra_unaware", "astra_aware"):
        result = replayed(orrery, *files, "--network", network)
        # Four chunks one after the other: e + 14 steps of (500 + 32768 / 53.687 + e) + 7 reductions of 3 * 20 ns.
        assert [rank["cycles"] for rank in result["ranks"]] == [64440] * 8
        assert [rank["exposed_cycles"] for rank in result["ranks"]] == [64440] * 8
        assert result["network"] == network
        assert "native" not in result


def test_its_own_flags_mean_the_same(orrery, files):
    names = {"--astra-workload": "--workload-configuration", "--astra-system": "--system-configuration"}
    names["--astra-network"] = "--network-configuration"
    own = [names.get(word, word) for word in files]
    assert replayed(orrery, *own)["ranks"] == replayed(orrery, *files)["ranks"]


def test_the_real_graph_beside_it(orrery, files):
    result = replayed(orrery, *files, "--network", "flow")
    native = result["native"]
    assert result["cycles"] == 64440
    assert native["network"] == "flow"
    assert len(native["ranks"]) == 8
    # A ring with the whole buffer at once: no more than the chunks one after the other.
    assert 0.3 < native["total_ps"] / result["total_ps"] < 1
    assert native["collectives"][0]["algorithm"] == "ring"
    text = orrery("replay", *files, "--network", "flow").stdout
    assert "64440 cycles" in text
    assert "On the real graph with the flow network" in text


def test_mistakes(orrery, files):
    assert "--astra-network" in orrery("replay", *files[:4], code=2).stderr
    assert "neither TRACE nor --cluster" in orrery("replay", "w", *files, code=2).stderr
    assert "--num-queues-per-dim" in orrery("replay", *files, "--num-queues-per-dim", "0", code=2).stderr
    assert "--rendezvous-protocol" in orrery("replay", *files, "--rendezvous-protocol", "maybe", code=2).stderr
    assert "nowhere" in orrery("replay", "--astra-workload", "nowhere", *files[2:], code=2).stderr
