# SPDX-License-Identifier: Apache-2.0
"""`orrery collective`: tables, JSON, files, and the laws a user can check from outside."""

import csv
import gzip
import json

import pytest

ROW = {
    "op": str,
    "algorithm": str,
    "schedule": str,
    "network": str,
    "ranks": int,
    "size_bytes": int,
    "time_ps": int,
    "total_time_ps": int,
    "algbw_GBps": float,
    "busbw_GBps": float,
    "messages": int,
    "wire_bytes": int,
    "best": bool,
    "notes": list,
    "digest": str,
}
OPERATIONS = [
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "barrier",
    "send_recv",
]


def results(orrery, *arguments):
    return json.loads(orrery("collective", *arguments, "--json").stdout)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_has_a_table_and_json_of_the_same_schema(orrery, operation):
    arguments = (operation, "--cluster", "hgx-h100", "--size", "1MiB")
    table = orrery("collective", *arguments).stdout
    data = results(orrery, *arguments)
    assert data["results"]
    for row in data["results"]:
        assert set(row) == set(ROW)
        for key, kind in ROW.items():
            assert isinstance(row[key], kind), (key, row[key])
        assert row["algorithm"] in table
    assert sum(row["best"] for row in data["results"]) == 1
    manifest = data["manifest"]
    assert {"version", "commit", "seed", "digest", "configuration", "command"} <= set(manifest)
    assert manifest["digest"] in table
    assert manifest["configuration"]["operation"] == operation


def test_the_default_sizes_are_those_of_nccl_tests(orrery):
    data = results(orrery, "all_reduce", "--cluster", "hgx-h100", "--algorithm", "ring")
    assert [row["size_bytes"] for row in data["results"]] == [1 << k for k in range(10, 31)]


def test_ring_is_its_closed_form(orrery):
    cluster = "star:hosts=4,bandwidth=1GBps,latency=500us"
    (row,) = results(orrery, "all_reduce", "--cluster", cluster, "--size", "4MB", "--algorithm", "ring")["results"]
    assert row["time_ps"] == 6 * 2_000_000_000
    assert row["busbw_GBps"] == pytest.approx(4 / 12 * 1.5)
    assert row["wire_bytes"] == 2 * 3 * 4_000_000


@pytest.mark.parametrize("network", ["alpha_beta", "flow", "flow:resolve_delay=1us"])
def test_workers_and_queues_give_the_same_bytes(orrery, network):
    arguments = ["all_reduce", "--cluster", "hgx-h100x4", "--size", "1KiB,1MiB", "--network", network, "--skew", "2us"]
    outputs = set()
    for extra in (["--workers", "1"], ["--workers", "2"], ["--queue", "radix"], ["--queue", "dary"]):
        data = results(orrery, *arguments, *extra)
        del data["manifest"]["command"]
        outputs.add(json.dumps(data))
    assert len(outputs) == 1


def test_seed_matters_only_where_something_is_random(orrery):
    def digest(*more):
        return results(orrery, "all_gather", "--cluster", "hgx-h100", "--size", "1MiB", *more)["manifest"]["digest"]

    assert digest("--seed", 1) == digest("--seed", 2)
    assert digest("--seed", 1, "--skew", "1us") != digest("--seed", 2, "--skew", "1us")


def test_groups_and_ranks(orrery):
    cluster = ["--cluster", "hgx-h100x4", "--size", "1MiB", "--algorithm", "ring"]
    near = results(orrery, "all_reduce", *cluster, "--ranks", 4)["results"][0]
    same = results(orrery, "all_reduce", *cluster, "--group", "0-3")["results"][0]
    far = results(orrery, "all_reduce", *cluster, "--group", "0,8,16,24")["results"][0]
    assert near["time_ps"] == same["time_ps"] < far["time_ps"]
    assert near["ranks"] == far["ranks"] == 4


def test_iterations_show_the_mean_and_the_total(orrery):
    arguments = ["all_gather", "--cluster", "star:hosts=16,bandwidth=1GBps,latency=500us", "--size", "16MB"]
    arguments += ["--algorithm", "ring", "--iterations", "20", "--skew", "1us"]
    (row,) = results(orrery, *arguments)["results"]
    assert row["total_time_ps"] == pytest.approx(0.6e12, rel=0.01)
    assert row["time_ps"] == -(-row["total_time_ps"] // 20)
    assert "total_us" in orrery("collective", *arguments).stdout


@pytest.mark.parametrize("word", ["all", "auto", "gloo", "nccl", "ring,direct"])
def test_selections(orrery, word):
    rows = results(orrery, "all_reduce", "--cluster", "hgx-h100", "--size", "8MiB", "--algorithm", word)["results"]
    assert rows
    if word == "ring,direct":
        assert [row["algorithm"] for row in rows] == ["ring", "direct"]
    if word in ("gloo", "nccl"):
        assert rows[0]["algorithm"].startswith(word)


def test_uneven_sizes_from_a_file(orrery, tmp_path):
    (tmp_path / "sizes.json").write_text('[1000000, 0, "2MB", 5]')
    cluster = ["--cluster", "jetson-lan", "--sizes-file", "sizes.json", "--algorithm", "direct"]
    (row,) = results(orrery, "all_gather", *cluster)["results"]
    assert row["size_bytes"] == 3_000_005


def test_network_settings_from_a_file(orrery, tmp_path):
    (tmp_path / "net.yaml").write_text("flow: {overhead: 5us}\n")
    arguments = ["all_reduce", "--cluster", "hgx-h100", "--size", "1KiB", "--algorithm", "one_shot"]
    (slow,) = results(orrery, *arguments, "--network", "net.yaml")["results"]
    (line,) = results(orrery, *arguments, "--network", "flow:overhead=5us")["results"]
    (fast,) = results(orrery, *arguments)["results"]
    assert slow["time_ps"] == line["time_ps"] > fast["time_ps"] + 5_000_000 - 1


def test_files(orrery, tmp_path):
    arguments = ["all_reduce", "--cluster", "hgx-h100", "--size", "1KiB,1MiB"]
    shown = orrery("collective", *arguments, "--csv", "t.csv", "--output", "o.json", "--trace", "t.json.gz").stdout
    assert "t.json.gz" in shown
    saved = json.loads((tmp_path / "o.json").read_text())
    lines = [line for line in (tmp_path / "t.csv").read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    assert [int(row["time_ps"]) for row in rows] == [row["time_ps"] for row in saved["results"]]
    trace = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))
    assert {event["ph"] for event in trace["traceEvents"]} >= {"X", "M"}
    assert "1MiB" in saved["trace"]["shows"]
    again = (tmp_path / "t.json.gz").read_bytes()
    orrery("collective", *arguments, "--csv", "t.csv", "--output", "o.json", "--trace", "t.json.gz")
    assert (tmp_path / "t.json.gz").read_bytes() == again
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.json", "t.csv", "t.json.gz"]


def test_json_is_alone_on_standard_output(orrery):
    result = orrery("collective", "barrier", "--cluster", "laptop", "--json")
    json.loads(result.stdout)
    assert result.stderr == ""
