# SPDX-License-Identifier: Apache-2.0
"""`orrery explain`: what a user sees, from the command and from Python, good input and bad."""

import json

import orrery as package
import pytest
from trace_writer import node, training, write

STAR = "star:hosts=4,bandwidth=1GBps,latency=500us"  # A path takes 1 ms, a megabyte another.
MS = 10**9
GATHER = {"comm_type": "all_gather", "comm_size": 4_000_000}


def overlapped(**attributes):
    """10 ms, an all_gather of 5 ms, 7 ms that `attributes` describe."""
    return [
        node(1, "comp", "compute", micros=10_000),
        node(2, "coll", "all_gather at voltage.py:41", [1], **GATHER),
        node(3, "comp", "compute", [1, 2], micros=7_000, **attributes),
    ]


@pytest.fixture
def voltage(tmp_path):
    told = {"independent_ps": 4 * MS, "independent_of": 2, "independent_what": "linear at voltage.py:62 (12 calls)"}
    return write(tmp_path / "traces" / "voltage", [overlapped(**told)] * 2)


def explained(orrery, *arguments):
    return json.loads(orrery("explain", *arguments, "--json").stdout)


def check_path(result):
    """Without --all, only the sums can be checked."""
    path = result["critical_path"]
    for shares in (path["kinds"], path["sites"]):
        assert sum(share["time_ps"] for share in shares) == result["total_ps"]
        assert sum(share["steps"] for share in shares) == path["all_steps"]
    if len(path["steps"]) == path["all_steps"]:
        ends = [0, *(step["end_ps"] for step in path["steps"])]
        assert [step["begin_ps"] for step in path["steps"]] == ends[:-1]
        assert ends[-1] == result["total_ps"]


def test_names_the_collective_the_computing_and_the_gain(orrery, voltage):
    text = orrery("explain", voltage, "--cluster", STAR, "--algorithm", "ring").stdout
    assert "22 ms for voltage" in text
    assert (
        "all_gather at voltage.py:41: start it (async_op=True), compute linear at voltage.py:62 (12 calls) (4 ms), "
        "then wait: saves 4 ms (18.2 %)"
    ) in text
    assert "--dataflow" not in text
    result = explained(orrery, voltage, "--cluster", STAR, "--algorithm", "ring")
    check_path(result)
    (site,) = result["overlap"]["sites"]
    assert (site["saved_ps"], site["at_most_ps"], site["reason"]) == (4 * MS, 5 * MS, None)
    assert result["overlap"]["together"]["total_ps"] == 18 * MS
    (exposed,) = result["exposed"]
    assert (exposed["calls"], exposed["ranks"], exposed["transfer_ps"]) == (1, 2, 5 * MS)


def test_without_dataflow_there_is_a_bound(orrery, tmp_path):
    trace = write(tmp_path / "plain", [overlapped()] * 2)
    text = orrery("explain", trace, "--cluster", STAR, "--algorithm", "ring").stdout
    assert "all_gather at voltage.py:41: at most 5 ms (22.7 %) could be saved" in text
    assert "orrery run --capture DIR --dataflow" in text


def test_without_computing_there_is_no_gain(orrery, tmp_path):
    rank = [node(i, "coll", "all_gather", [i - 1] if i > 1 else [], **GATHER) for i in range(1, 6)]
    trace = write(tmp_path / "bare", [rank] * 2)
    assert "no gain" in orrery("explain", trace, "--cluster", STAR).stdout
    result = explained(orrery, trace, "--cluster", STAR)
    assert [kind["kind"] for kind in result["critical_path"]["kinds"]] == ["communication"]
    assert [site["at_most_ps"] for site in result["overlap"]["sites"]] == [0]
    assert result["overlap"]["together"] is None


MADE = "make:model=llama-3-8b,batch=8,seq=512,layers=4"


@pytest.mark.parametrize("layout", ["tp=4", "pp=4,micro_batch=2", "dp=4", "tp=2,pp=2"])
@pytest.mark.parametrize("network", ["flow", "alpha_beta"])
def test_the_path_adds_up_to_what_a_replay_takes(orrery, layout, network):
    words = [f"{MADE},{layout}", "--cluster", "hgx-h100", "--network", network]
    result = explained(orrery, *words, "--all")
    check_path(result)
    assert result["critical_path"]["all_steps"] == len(result["critical_path"]["steps"])
    replayed = json.loads(orrery("replay", *words, "--json").stdout)
    assert result["total_ps"] == replayed["total_ps"]
    assert result["manifest"]["digest"] == replayed["manifest"]["digest"]


def test_exposed_times_are_those_of_the_replay(orrery, tmp_path):
    trace = write(tmp_path / "dp", [training()] * 4)
    result = explained(orrery, trace, "--cluster", STAR)
    check_path(result)
    ranks = json.loads(orrery("replay", trace, "--cluster", STAR, "--json").stdout)["ranks"]
    (site,) = result["exposed"]
    assert site["calls"] == 3
    assert site["exposed_ps"] == max(rank["exposed_communication_ps"] for rank in ranks)


def test_top_and_all(orrery, tmp_path):
    trace = write(tmp_path / "dp", [training(20)] * 2)
    few = explained(orrery, trace, "--cluster", STAR, "--top", 3)["critical_path"]
    assert (len(few["steps"]), few["all_steps"]) == (3, 40)
    begins = [step["begin_ps"] for step in few["steps"]]
    assert begins == sorted(begins)
    assert len(explained(orrery, trace, "--cluster", STAR, "--all")["critical_path"]["steps"]) == 40


def test_same_bytes_again_and_in_a_file(orrery, voltage, tmp_path):
    words = ["explain", voltage, "--cluster", STAR, "--json"]
    first = orrery(*words).stdout
    assert first == orrery(*words).stdout
    told = orrery("explain", voltage, "--cluster", STAR, "-o", "why.json").stdout
    assert "written: why.json" in told
    written, printed = json.loads((tmp_path / "why.json").read_text()), json.loads(first)
    assert written.pop("manifest")["digest"] == printed.pop("manifest")["digest"]  # The command differs.
    assert written == printed


def test_from_python(orrery, voltage):
    result = package.explain(voltage, STAR, algorithm="ring", top=5)
    result.pop("manifest")
    printed = explained(orrery, voltage, "--cluster", STAR, "--algorithm", "ring", "--top", 5)
    printed.pop("manifest")
    assert result == printed
    with pytest.raises(package.InputError, match="top: '0': expected a number from 1"):
        package.explain(voltage, STAR, top=0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none", "--cluster", STAR], "none"),
        (["TRACE"], "--cluster"),
        (["TRACE", "--cluster", "hgx-h10"], "hgx-h100"),
        (["TRACE", "--cluster", STAR, "--top", "0"], "--top: '0': expected a number from 1"),
        (["TRACE", "--cluster", STAR, "--top", "x"], "--top"),
        (["TRACE", "--cluster", STAR, "--network", "flaw"], "flow"),
        (["TRACE", "--cluster", STAR, "-o", "no/such/folder.json"], "no/such"),
        (["TRACE", "--cluster", "star:hosts=1,bandwidth=1GBps,latency=1us"], "has 2 ranks"),
    ],
)
def test_mistakes_are_named(orrery, voltage, tmp_path, words, said):
    before = sorted(path.name for path in tmp_path.iterdir())
    result = orrery("explain", *(voltage if word == "TRACE" else word for word in words), code=2)
    assert said in result.stderr
    assert result.stderr.startswith("orrery: error: ")
    assert result.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"independent_ps": 8 * MS, "independent_of": 2}, "independent_ps: '8000000000': expected 0 to 7000000000"),
        ({"independent_ps": MS}, "independent_of: missing"),
        ({"independent_ps": MS, "independent_of": 1}, "independent_of: '1': expected the id of a communication"),
        ({"again_ps": MS}, "again_ps: means nothing without independent_ps"),
    ],
)
def test_bad_attributes_are_named(orrery, tmp_path, attributes, said):
    trace = write(tmp_path / "bad", [overlapped(**attributes)] * 2)
    assert said in orrery("explain", trace, "--cluster", STAR, code=2).stderr
