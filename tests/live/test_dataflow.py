# SPDX-License-Identifier: Apache-2.0
"""`--dataflow`: which operators after a wait do not need what came from other ranks. Each takes a millisecond."""

import json
import subprocess

import pytest
from live_case import BEGIN, Case, check, execute

PROGRAM = (
    BEGIN
    + """
torch.manual_seed(0)
w, mine = torch.randn(64, 64), torch.randn(8, 64)
parts, full, out = [torch.empty(8, 64) for _ in range(world)], torch.empty(8 * world, 64), torch.empty(8, 64)
x = mine.clone()

def gather_rows():
    dist.all_gather(parts, mine)
    full = torch.cat(parts)  # Half of it is ours: again.
    q = full[8 * rank : 8 * rank + 8] @ w  # Independent, and views are nothing.
    k = full @ w
    return torch.softmax(q @ k.T, -1)

def gather_into():
    dist.all_gather_into_tensor(full, mine)
    return full[8 * rank :][:8] @ w  # Nothing again: the result itself is read.

def reduce_all():
    dist.all_reduce(x)
    y = x.relu()
    z = w @ w  # Independent.
    return y @ z

def root():
    dist.broadcast(x, 0)
    return x @ w  # Independent on rank 0 only.

def exchange():
    dist.all_to_all_single(out, mine)
    return out[4 * rank :][:4] @ w

def decide():
    dist.all_reduce(x)
    if x.sum().item() > 1e9:  # From here on everything depends on it.
        print("never")
    return w @ w

def overwrite():
    dist.all_reduce(x)
    x.copy_(mine)  # Independent: what came is not read.
    return x @ w

def unknown():
    dist.all_reduce(x)
    y = torch.nn.functional.dropout(x)  # Random: not computed twice.
    mask = y > 0
    return mask.sum() + w.sum()  # w.sum() is independent.

with torch.inference_mode():
    for one in (gather_rows, gather_into, reduce_all, root, exchange, decide, overwrite, unknown):
        one()
    dist.all_reduce(x)
state = torch.get_rng_state()
torch.manual_seed(0)
torch.randn(64, 64), torch.randn(8, 64), torch.nn.functional.dropout(mine)
assert torch.equal(state, torch.get_rng_state()), "the second computation drew random numbers"
"""
)
MS = 10**9
#: On rank 0, after each communication: independent, again, what.
EXPECTED = [
    ("all_gather", 1, 0.5, "matmul at prog.py"),
    ("all_gather_into_tensor", 1, 0, "matmul"),
    ("all_reduce", 1, 0, "matmul"),
    ("broadcast", 1, 0, "matmul"),
    ("all_to_all_single", 1, 0, "matmul"),
    ("all_reduce", 0, 0, ""),
    ("all_reduce", 2, 0, "copy_"),
    ("all_reduce", 1, 0, "sum"),
]
CLUSTER = "star:hosts=2,bandwidth=1GBps,latency=500us"


@pytest.fixture(scope="module")
def nodes(command, tmp_path_factory):
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("dataflow")
    words = ["-n", "2", "--compute", "fixed:1ms/op", "--capture", "traces", "--dataflow"]
    case = Case("dataflow", PROGRAM, words, cluster=CLUSTER)
    check(case, execute(case, command, folder))
    ranks = []
    for rank in range(2):
        trace, text = folder / "traces" / f"capture.{rank}.et", folder / f"{rank}.json"
        subprocess.run([command, "trace", "convert", trace, "-o", text], check=True, capture_output=True)
        ranks.append([node for node in json.loads(text.read_text())["nodes"]])
    assert not list((folder / "tmp").glob("orrery-*")), "notes were left behind"
    return ranks


def attributes(node: dict) -> dict:
    return {one["name"]: next(value for key, value in one.items() if key != "name") for one in node.get("attr", [])}


def found(nodes: list) -> list[tuple[str, float, float, str]]:
    names = {node["id"]: node["name"] for node in nodes}
    rows = []
    for node in nodes:
        said = attributes(node)
        if "independent_ps" in said and not names[said["independent_of"]].startswith("barrier"):
            name = names[said["independent_of"]].partition(" at ")[0]
            row = (name, int(said["independent_ps"]) / MS, int(said["again_ps"]) / MS, said["independent_what"])
            rows.append(row)
    return rows


@pytest.mark.parametrize("place", range(len(EXPECTED)), ids=[f"{i}-{row[0]}" for i, row in enumerate(EXPECTED)])
def test_what_is_independent(nodes, place):
    name, independent, again, what = EXPECTED[place]
    row = found(nodes[0])[place]
    assert row[:3] == (name, independent, again), row
    assert what in row[3], row


def test_only_the_root_has_what_it_sends(nodes):
    assert found(nodes[1])[3][:2] == ("broadcast", 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dataflow"], r"--dataflow.*expected --capture"),
        (["--dataflow", "--capture", "t", "--compute", "fixed:1ms"], r"--compute: 'fixed:1ms'.*fixed:TIME/op"),
    ],
    ids=["no capture", "operators without times"],
)
def test_what_it_needs(command, tmp_path, words, said):
    case = Case("refused", BEGIN, ["-n", "2", *words], cluster=CLUSTER, code=2, said=(said,))
    check(case, execute(case, command, tmp_path))
    assert not (tmp_path / "t").exists()
