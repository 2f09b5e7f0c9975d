# SPDX-License-Identifier: Apache-2.0
"""orrery trace: info, check, json and convert, as a user runs them."""

import gzip
import json

import pytest

NODES = [
    {"id": 1, "name": "matmul", "type": "COMP_NODE", "duration_micros": 30,
     "attr": [{"name": "num_ops", "int64_val": 1000}]},
    {"id": 2, "name": "grads", "type": "COMM_COLL_NODE", "data_deps": [1],
     "attr": [{"name": "comm_type", "int32_val": 0}, {"name": "comm_size", "uint64_val": 1048576}]},
]


@pytest.fixture
def trace(tmp_path):
    for rank in range(4):
        (tmp_path / f"t.{rank}.json").write_text(json.dumps({"metadata": {"version": "0.0.4"}, "nodes": NODES}))
    return "t"


def test_info(orrery, trace):
    text = orrery("trace", "info", trace).stdout
    assert "4 ranks, 8 nodes" in text and "0-3" in text and "4MiB" in text
    data = json.loads(orrery("trace", "info", trace, "--json").stdout)
    assert [rank["critical_path"]["time_ps"] for rank in data["ranks"]] == [30_000_000] * 4
    assert data["totals"]["flops"] == 4000
    assert data["totals"]["collectives"] == {"all_reduce": {"count": 4, "bytes": 4 << 20}}


def test_check(orrery, trace, tmp_path):
    assert "ok: 4 ranks" in orrery("trace", "check", trace).stdout
    broken = [dict(NODES[0], data_deps=[2]), NODES[1]]
    (tmp_path / "t.2.json").write_text(json.dumps({"nodes": broken}))
    result = orrery("trace", "check", trace, "--json", code=3)
    problems = json.loads(result.stdout)["problems"]
    assert [problem["kind"] for problem in problems] == ["cycle"]
    assert problems[0]["nodes"] == [{"rank": 2, "id": 1, "name": "matmul"}, {"rank": 2, "id": 2, "name": "grads"}]
    (tmp_path / "t.3.json").unlink()
    (tmp_path / "t.1.json").unlink()
    assert "files of rank 1 are missing" in orrery("trace", "check", trace, code=2).stderr


def test_convert_and_back(orrery, trace, tmp_path):
    orrery("trace", "convert", trace, "-o", "made", "--to", "et.gz")
    assert gzip.decompress((tmp_path / "made.3.et.gz").read_bytes()).startswith(b"\x07\n\x050.0.4")
    data = json.loads(orrery("trace", "json", "made.3.et.gz").stdout)
    assert data["nodes"] == NODES
    orrery("trace", "convert", "made.0.et.gz", "-o", "plain.0.et")
    again = orrery("trace", "json", "plain.0.et", "-o", "again.0.json", "--json")
    assert json.loads(again.stdout)["files"] == [{"input": "plain.0.et", "output": "again.0.json", "nodes": 2}]
    assert "several" not in orrery("trace", "info", "plain").stdout
    assert "end it in one of" in orrery("trace", "convert", "plain.0.et", "-o", "x", code=2).stderr


def test_python(trace, tmp_path):
    import orrery

    info = orrery.trace_info(tmp_path / trace)
    assert info["totals"]["nodes"] == 8
    assert orrery.trace_check(tmp_path / trace)["ok"] is True
    with pytest.raises(orrery.InputError, match="no such trace"):
        orrery.trace_check(tmp_path / "none")
