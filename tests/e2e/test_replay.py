# SPDX-License-Identifier: Apache-2.0
"""`orrery replay`: what a user sees, from the command and from Python, good input and bad."""

import csv
import gzip
import json
import signal
import subprocess
import time

import orrery as package
import pytest
from trace_writer import node, training, write

STAR = "star:hosts=4,bandwidth=1GBps,latency=500us"  # A path takes 1 ms, a megabyte another.
RANK = {
    "rank",
    "node",
    "device",
    "finish_ps",
    "compute_ps",
    "communication_ps",
    "exposed_communication_ps",
    "overlap_ps",
    "waiting_ps",
    "memory_ps",
    "bytes",
    "operations",
}


@pytest.fixture
def trained(tmp_path):
    return write(tmp_path / "traces" / "dp", [training()] * 4)


def replayed(orrery, *arguments):
    return json.loads(orrery("replay", *arguments, "--json").stdout)


def test_times_add_up(orrery, trained):
    result = replayed(orrery, trained, "--cluster", STAR)
    assert len(result["ranks"]) == 4
    for rank in result["ranks"]:
        assert rank.keys() == RANK
        assert rank["compute_ps"] == 300_000_000
        assert rank["finish_ps"] == rank["compute_ps"] + rank["exposed_communication_ps"]
        assert rank["communication_ps"] == rank["exposed_communication_ps"] + rank["overlap_ps"]
    assert result["total_ps"] == max(rank["finish_ps"] for rank in result["ranks"])
    (kind,) = result["collectives"]
    assert (kind["operation"], kind["calls"], kind["size_bytes"]) == ("all_reduce", 3, 1 << 20)
    assert kind["time_ps"] == result["total_ps"] - 300_000_000
    assert sum(link["bytes"] for link in result["links"]) == 2 * kind["wire_bytes"]  # Two links from host to host.


def test_one_collective_takes_what_the_collective_command_says(orrery, tmp_path):
    size = 3 << 20
    trace = write(tmp_path / "one", [[node(1, "coll", comm_type="all_reduce", comm_size=size)]] * 4)
    for network in ("flow", "alpha_beta"):
        for algorithm in ("ring", "direct", "gloo"):
            alone = json.loads(
                orrery(
                    "collective", "all_reduce", "--cluster", STAR, "--size", f"{size}B", "--dtype", "uint8",
                    "--algorithm", algorithm, "--network", network, "--json",
                ).stdout
            )  # fmt: skip
            result = replayed(orrery, trace, "--cluster", STAR, "--algorithm", algorithm, "--network", network)
            assert result["total_ps"] == alone["results"][0]["time_ps"]


def test_folding_and_the_timeline_change_no_time(orrery, trained, tmp_path):
    plain = replayed(orrery, trained, "--cluster", "hgx-h100", "--no-fold")
    folded = replayed(orrery, trained, "--cluster", "hgx-h100")
    watched = replayed(orrery, trained, "--cluster", "hgx-h100", "--trace", tmp_path / "t.json.gz")
    assert folded["collectives"][0]["folded"] == 2
    assert plain["collectives"][0]["folded"] == 0
    for result in (folded, watched):
        assert result["ranks"] == plain["ranks"]
        assert result["links"] == plain["links"]


def test_the_same_input_gives_the_same_bytes(orrery, trained, tmp_path):
    first, second = (
        orrery("replay", "traces/dp", "--cluster", STAR, "--json", "--out", f"run{i}").stdout for i in (1, 2)
    )
    assert json.loads(first)["ranks"] == json.loads(second)["ranks"]
    assert json.loads(first)["manifest"]["digest"] == json.loads(second)["manifest"]["digest"]
    names = sorted(path.name for path in (tmp_path / "run1").iterdir())
    assert names == ["manifest.json", "operations.csv", "ranks.csv", "result.json", "timeline.json.gz"]
    rows = [line for line in (tmp_path / "run1/operations.csv").read_text().splitlines() if line[0] != "#"]
    other = [line for line in (tmp_path / "run2/operations.csv").read_text().splitlines() if line[0] != "#"]
    assert rows == other
    assert len(rows) == 1 + 4 * 6
    table = [line for line in (tmp_path / "run1/ranks.csv").read_text().splitlines() if line[0] != "#"]
    assert set(next(csv.reader(table))) == RANK
    events = json.loads(gzip.decompress((tmp_path / "run1/timeline.json.gz").read_bytes()))["traceEvents"]
    assert sum(event.get("name") == "step 1" for event in events) == 4


def test_python_returns_what_the_command_prints(orrery, trained):
    result = replayed(orrery, trained, "--cluster", STAR, "--algorithm", "all_reduce=ring", "--streams", "comm=2")
    again = package.replay(trained, STAR, algorithm={"all_reduce": "ring"}, streams={"comm": 2})
    for one in (result, again):
        one["manifest"].pop("command")
    assert again == result
    with pytest.raises(package.InputError, match="cluster"):
        package.replay(trained)
    with pytest.raises(package.SimulationError, match="nobody sends"):
        lost = [[node(1, "recv", comm_src=1, comm_size=8, comm_tag=0)], []]
        package.replay(write(trained.parent / "lost", lost), STAR)


def test_more_ranks_than_the_trace_has(orrery, trained):
    result = replayed(orrery, trained, "--cluster", "fattree:k=4,bandwidth=100Gbps,latency=1us", "--ranks", 16)
    assert len(result["ranks"]) == 16
    assert result["collectives"][0]["ranks"] == 16
    halves = [training()] * 2 + [training(2)] * 2
    write(trained.parent / "halves", halves)
    error = orrery("replay", "traces/halves", "--cluster", STAR, "--ranks", 8, code=2).stderr
    assert "rank 2 has more or fewer nodes than rank 0" in error


def test_text_is_bounded(orrery, trained):
    out = orrery("replay", trained, "--cluster", "fattree:k=8,bandwidth=100Gbps,latency=1us", "--ranks", 100).stdout
    assert "... and 84 more ranks" in out
    assert len(out.splitlines()) < 50


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([[node(1, "comp", micros=1, deps=[2]), node(2, "comp", micros=1, deps=[1])]], ["cycle", "node 1", "node 2"]),
        ([[node(1, "comp", micros=1, deps=[7])]], ["depends on node 7"]),
        ([[node(1, "recv", comm_src=1, comm_size=8, comm_tag=3)], []], ["rank 0", "rank 1", "tag 3", "nobody sends"]),
        (
            [
                [node(1, "send", comm_dst=1, comm_size=8, comm_tag=0)],
                [node(1, "recv", comm_src=0, comm_size=9, comm_tag=0)],
            ],
            ["disagree on the size", "8B", "9B"],
        ),
        ([training(2), training(3)], ["gradients", "collective #3", "rank 0 did not call it"]),
        ([training(size=8), training(size=16)], ["disagree on the size", "collective #1"]),
    ],
)
def test_what_never_ends_is_exit_3_with_who_waits(orrery, tmp_path, ranks, words):
    trace = write(tmp_path / "bad", ranks)
    error = orrery("replay", trace, "--cluster", STAR, code=3).stderr
    for word in words:
        assert word in error
    assert orrery("replay", trace, "--cluster", STAR, "--window", 1, code=3).stdout == ""


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nowhere"], "nowhere"),
        (["traces/dp", "--cluster", "hgx-h10"], "hgx-h100"),
        (["traces/dp", "--network", "flo"], "flow"),
        (["traces/dp", "--algorithm", "rin"], "ring"),
        (["traces/dp", "--algorithm", "auto"], "one way"),
        (["traces/dp", "--compute", "rooflin"], "roofline"),
        (["traces/dp", "--compute", "fixed:3"], "fixed:10us"),
        (["traces/dp", "--streams", "com=2"], "comm"),
        (["traces/dp", "--eager-limit", "many"], "64KiB"),
        (["traces/dp", "--ranks", "0"], "1 to"),
        (["traces/dp", "--ranks", "x"], "--ranks"),
        (["traces/dp", "--trace", "t.png"], ".json"),
        (["traces/dp", "--out", "traces"], "has something in it"),
        (["traces/dp", "--comm-group", "none.json"], "none.json"),
        (["traces/dp", "--cluster", "star:hosts=2,bandwidth=1GBps,latency=1us"], "4 ranks"),
        ([], "trace"),
    ],
)
def test_mistakes_are_named(orrery, trained, arguments, word):
    with_cluster = arguments if "--cluster" in arguments else [*arguments, "--cluster", STAR]
    error = orrery("replay", *with_cluster, code=2).stderr
    assert word in error
    assert error.count("\n") == 1


def test_interrupt_exits_130_and_writes_nothing(command, tmp_path):
    nodes = [node(i, "coll", comm_type="all_to_all", comm_size=1 << 26) for i in range(1, 1600)]
    write(tmp_path / "traces" / "long", [nodes] * 72)
    process = subprocess.Popen(
        [str(command), "replay", "traces/long", "--cluster", "gb200-nvl72", "--algorithm", "direct", "--no-fold",
         "--out", "results", "--csv", "ranks.csv"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["traces"]


def test_a_link_that_stays_down_names_the_ranks_that_wait(orrery, trained, tmp_path):
    (tmp_path / "c.yaml").write_text(
        "nodes: {h: {count: 4, device: laptop_cpu}, s: {kind: switch}}\n"
        "links: {'h[*] - s': {bandwidth: 1GBps, latency: 1us}}\n"
        "events: [{at: 1us, link: 'h[0] - s', state: down}]\n"
    )
    error = orrery("replay", trained, "--cluster", "c.yaml", code=3).stderr
    assert "down" in error
    assert "'gradients': all_reduce" in error


def test_compute_without_a_time_is_refused_and_can_be_given_one(orrery, tmp_path):
    trace = write(tmp_path / "quick", [[node(1, "comp", "add")]])
    assert "rank 0: node 1 'add'" in orrery("replay", trace, "--cluster", STAR, code=2).stderr
    assert replayed(orrery, trace, "--cluster", STAR, "--compute", "recorded:1ns")["total_ps"] == 1000
    (tmp_path / "times.yaml").write_text("{ad*: 2us}")
    assert replayed(orrery, trace, "--cluster", STAR, "--compute", "table:times.yaml")["total_ps"] == 2_000_000


def test_memory_over_time_where_the_trace_names_tensors(orrery, tmp_path):
    one = [
        node(1, "comp", "forward", micros=100, inputs=["weights", "1000"], outputs=["hidden", "400"]),
        node(2, "comp", "backward", [1], micros=50, inputs=["weights", "1000", "hidden", "400"], outputs=["g", "1000"]),
        node(3, "coll", "sum", [2], comm_type="all_reduce", comm_size=1000, inputs=["g", "1000"], outputs=[]),
    ]
    trace = write(tmp_path / "lives", [one, training(1, size=1000)])
    out = tmp_path / "out"
    pair = "star:hosts=2,bandwidth=1GBps,latency=500us"
    result = replayed(orrery, trace, "--cluster", pair, "--out", out)
    first, second = result["ranks"]
    assert (first["peak_memory_bytes"], first["peak_memory_at_ps"]) == (2400, 100_000_000)
    assert second.keys() == RANK
    rows = [line for line in (out / "memory.csv").read_text().splitlines() if not line.startswith("#")]
    end = first["finish_ps"]
    assert rows == ["rank,time_ps,bytes", "0,0,1400", "0,100000000,2400", "0,150000000,1000", f"0,{end},0"]
    with gzip.open(out / "timeline.json.gz", "rt") as file:
        events = json.load(file)["traceEvents"]
    names = {event["args"]["name"]: event["pid"] for event in events if event["name"] == "process_name"}
    curve = [list(event["args"].values()) for event in events if event["ph"] == "C" and event["pid"] == names["memory"]]
    assert curve == [[1400], [2400], [1000], [0]]
    shown = orrery("replay", trace, "--cluster", pair, "--out", tmp_path / "again").stdout
    assert "peak memory" in shown
    assert replayed(orrery, trace, "--cluster", pair)["ranks"][0].keys() == RANK  # Nobody looks at times.


def test_a_made_workload_needs_no_files(orrery):
    made = "make:model=llama-3-8b,layers=2,tp=4,dp=2,seq=128"
    result = replayed(orrery, made, "--cluster", "hgx-h100")
    assert len(result["ranks"]) == 8
    assert all(rank["compute_ps"] > 0 and rank["communication_ps"] > 0 for rank in result["ranks"])
    assert "tp" in orrery("replay", "make:model=llama-3-8b,tq=4", "--cluster", "hgx-h100", code=2).stderr


def test_help_shows_examples(orrery):
    assert "orrery replay traces/llama --cluster hgx-h100" in orrery("replay", "--help").stdout
    assert "--eager-limit" in orrery("completion", "bash").stdout
