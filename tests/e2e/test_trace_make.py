# SPDX-License-Identifier: Apache-2.0
"""orrery trace make: sums against formulas written here anew, files that check and replay, mistakes."""

import hashlib
import json
from collections import defaultdict

import pytest

GPT3 = {"L": 96, "h": 12288, "a": 96, "k": 96, "d": 128, "f": 49152, "V": 50257, "g": 2}
LLAMA3_8B = {"L": 32, "h": 4096, "a": 32, "k": 8, "d": 128, "f": 14336, "V": 128256, "g": 3}
LLAMA2_70B = {"L": 80, "h": 8192, "a": 64, "k": 8, "d": 128, "f": 28672, "V": 32000, "g": 3}
MIXTRAL = {"L": 32, "h": 4096, "a": 32, "k": 8, "d": 128, "f": 14336, "V": 32000, "g": 3, "E": 8, "j": 2}
IDEAL = "star:hosts=64,bandwidth=1000000GBps,latency=0s"
SMALL = ["--layers", 4, "--hidden", 64, "--heads", 4, "--ffn", 128, "--vocab", 101, "--seq", 32]


def made(orrery, *arguments):
    return json.loads(orrery("trace", "make", *arguments, "--json").stdout)


def sums(data, field="bytes"):
    """{(operation, group): bytes} over all ranks."""
    return {(row["operation"], row["group"]): row[field] for row in data["communication"]}


def layer_flops(x, s):
    """Forward, per token."""
    mlp = 2 * x["g"] * x["h"] * x["f"]
    if "E" in x:
        mlp = x["j"] * mlp + 2 * x["h"] * x["E"]
    projections = 2 * x["h"] * (x["a"] + 2 * x["k"]) * x["d"] + 2 * x["a"] * x["d"] * x["h"]
    return projections + 4 * s * x["a"] * x["d"] + mlp


def train_flops(x, batch, s, layer_passes=3):
    return batch * s * (layer_passes * x["L"] * layer_flops(x, s) + 3 * 2 * x["h"] * x["V"])


def test_gpt_3_is_what_megatron_counts(orrery):
    B, s = 1536, 2048
    data = made(orrery, "--model", "gpt-3-175b", "--tp", 8, "--pp", 8, "--dp", 16, "--batch", B, "--seq", s)
    L, h, V = GPT3["L"], GPT3["h"], GPT3["V"]
    megatron = 72 * B * s * L * h * h + 12 * B * s * s * L * h + 6 * B * s * h * V
    assert data["flops"] == pytest.approx(megatron, rel=1e-12) == train_flops(GPT3, B, s)
    assert data["parameters"] == L * (12 * h * h + 13 * h) + (V + s) * h + 2 * h
    assert data["rank_count"] == 1024 and data["micro_batches"] == 96
    assert data["bubble_fraction"] == pytest.approx(7 / (96 + 7))
    # Two all-reduces forward and two backward per layer; one after the embedding, one before the logits.
    calls = sums(data, "calls")[("all_reduce", "tp")]
    assert calls == 16 * 8 * 96 * (4 * L + 2)
    assert sums(data)[("all_reduce", "tp")] == calls * s * h * 2
    assert sums(data)[("send", "pp")] == sums(data)[("receive", "pp")] == 2 * 7 * 16 * 8 * 96 * s * h * 2
    # Every gradient once: matrices and their biases are shared out over tp, the rest is on all of its ranks.
    split = L * (12 * h * h + 3 * h + 4 * h) + 2 * V * h
    whole = L * (2 * h + 4 * h) + s * h + 2 * h
    assert sums(data)[("all_reduce", "dp")] == 16 * (split + 8 * whole) * 2
    assert sums(data)[("all_reduce", "emb")] == 2 * 16 * V * h * 2


def test_recompute(orrery):
    arguments = ["--model", "gpt-3-175b", "--pp", 8, "--batch", 8]
    s = 2048
    assert made(orrery, *arguments, "--recompute", "full")["flops"] == train_flops(GPT3, 8, s, layer_passes=4)
    core = 4 * s * GPT3["a"] * GPT3["d"]
    expected = train_flops(GPT3, 8, s) + 8 * s * GPT3["L"] * core
    assert made(orrery, *arguments, "--recompute", "selective")["flops"] == expected


@pytest.mark.parametrize(
    ("name", "x", "layout"),
    [
        ("llama-3-8b", LLAMA3_8B, ["--tp", 8, "--pp", 4, "--dp", 2]),
        ("llama-3-8b", LLAMA3_8B, ["--tp", 4, "--cp", 4, "--sequence-parallel", "true"]),
        ("llama-3-8b", LLAMA3_8B, ["--cp", 8, "--context", "gather"]),
        ("llama-2-70b", LLAMA2_70B, ["--tp", 8, "--pp", 10, "--dp", 4, "--zero", 3]),
        ("mixtral-8x7b", MIXTRAL, ["--dp", 8, "--ep", 8]),
        ("mixtral-8x7b", MIXTRAL, ["--tp", 2, "--dp", 8, "--ep", 4, "--sequence-parallel", "true"]),
    ],
)
def test_no_layout_changes_the_flops(orrery, name, x, layout):
    data = made(orrery, "--model", name, "--batch", 32, "--seq", 4096, *layout)
    assert data["flops"] == train_flops(x, 32, 4096)
    assert sum(rank["flops"] for rank in data["ranks"]) == data["flops"]
    assert sum(rank["operations"] for rank in data["ranks"]) == data["operations"]


def test_palm_form_and_causal_mask(orrery):
    x, B, s = LLAMA3_8B, 4, 8192
    data = made(orrery, "--model", "llama-3-8b", "--batch", B, "--seq", s, "--tp", 2)
    embedding = x["V"] * x["h"]
    norms = (2 * x["L"] + 1) * x["h"]
    matrices = data["parameters"] - embedding - norms
    palm = 6 * matrices + 12 * x["L"] * x["a"] * x["d"] * s
    assert data["flops"] == B * s * palm
    causal = made(orrery, "--model", "llama-3-8b", "--batch", B, "--seq", s, "--cp", 4, "--mask", "causal")
    pairs = B * s * (s + 1) // 2
    assert causal["flops"] == B * s * 6 * matrices + 12 * x["L"] * x["a"] * x["d"] * pairs


def test_sequence_parallel_moves_the_same_bytes(orrery):
    arguments = ["--model", "llama-3-8b", "--tp", 8, "--batch", 4, "--seq", 4096]
    t, h, L = 4096, 4096, 32
    plain = sums(made(orrery, *arguments))
    split = sums(made(orrery, *arguments, "--sequence-parallel"))
    assert plain == {("all_reduce", "tp"): 8 * 4 * (4 * L + 2) * t * h * 2}
    # A pair for each all-reduce; embedding and logits have one half forward and the other backward.
    pairs = 8 * 4 * (4 * L + 2)
    assert split == {("all_gather", "tp"): pairs * t * h * 2 // 8, ("reduce_scatter", "tp"): pairs * t * h * 2}


def test_zero(orrery):
    arguments = ["--model", "llama-2-7b", "--dp", 8, "--batch", 32, "--seq", 1024]
    p, m = 6738415616, 4
    embedding = 32000 * 4096
    got = [sums(made(orrery, *arguments, "--zero", zero)) for zero in range(4)]
    assert got[0] == {("all_reduce", "dp"): 8 * p * 2}
    assert got[1] == {("reduce_scatter", "dp"): 8 * p * 2, ("all_gather", "dp"): p * 2}
    assert got[2] == {("reduce_scatter", "dp"): m * 8 * p * 2, ("all_gather", "dp"): p * 2}
    gathered = m * (2 * p - embedding) * 2  # The way back does not read the embedding.
    assert got[3] == {("reduce_scatter", "dp"): m * 8 * p * 2, ("all_gather", "dp"): gathered}
    wide = sums(made(orrery, *arguments, "--gradient-dtype", "fp32"))
    assert wide == {("all_reduce", "dp"): 8 * p * 4}


def test_experts(orrery):
    x = MIXTRAL
    data = made(orrery, "--model", "mixtral-8x7b", "--dp", 8, "--ep", 4, "--batch", 16, "--seq", 1024)
    t, m = 1024, 2
    assert sums(data)[("all_to_all", "ep")] == 8 * m * 4 * x["L"] * x["j"] * t * x["h"] * 2
    experts = x["L"] * x["E"] * 3 * x["h"] * x["f"]
    assert sums(data)[("all_reduce", "edp")] == 8 * experts // 4 * 2
    assert sums(data)[("all_reduce", "dp")] == 8 * (data["parameters"] - experts) * 2
    assert data["model"]["active_parameters"] == data["parameters"] - experts * 6 // 8


def test_context(orrery):
    x, cp, m, s = LLAMA3_8B, 4, 2, 8192
    kv = 2 * (s // cp) * x["k"] * x["d"] // 2 * 2
    arguments = ["--model", "llama-3-8b", "--tp", 2, "--cp", cp, "--batch", m, "--seq", s]
    ring = sums(made(orrery, *arguments))
    assert ring[("send", "cp")] == ring[("receive", "cp")] == 8 * m * x["L"] * (2 * (cp - 1) + cp) * kv
    gather = sums(made(orrery, *arguments, "--context", "gather"))
    assert gather[("all_gather", "cp")] == 8 * m * x["L"] * 2 * kv
    assert gather[("reduce_scatter", "cp")] == 8 * m * x["L"] * cp * kv


def test_inference(orrery):
    x = LLAMA3_8B
    logits = 2 * x["h"] * x["V"]
    prefill = made(orrery, "--model", "llama-3-8b", "--mode", "prefill", "--batch", 4, "--seq", 512)
    assert prefill["flops"] == 4 * (512 * x["L"] * layer_flops(x, 512) + logits)
    decode = made(orrery, "--model", "llama-3-8b", "--mode", "decode", "--batch", 8, "--seq", 1000, "--steps", 3,
                  "--tp", 2, "--pp", 2)
    assert decode["flops"] == 8 * sum(x["L"] * layer_flops(x, 1001 + step) + logits for step in range(3))
    assert sums(decode)[("all_reduce", "tp")] == 2 * 3 * 8 * (2 * x["L"] + 1) * x["h"] * 2
    assert sums(decode)[("all_gather", "tp")] == 2 * 3 * 8 * (x["V"] // 2) * 2
    # Activations three times, tokens back twice.
    assert sums(decode)[("send", "pp")] == 2 * (3 * 8 * x["h"] * 2 + 2 * 8 * 4)


CASES = [
    ["--tp", 2, "--pp", 2, "--dp", 2, "--batch", 8],
    ["--tp", 2, "--sequence-parallel", "true", "--dp", 2, "--zero", 3],
    ["--cp", 4, "--pp", 2, "--schedule", "gpipe", "--batch", 4, "--steps", 2],
    ["--experts", 4, "--dp", 4, "--ep", 2, "--tp", 2, "--zero", 1],
    ["--pp", 4, "--tied-embeddings", "true", "--gated", "false", "--biases", "true"],
    ["--mode", "decode", "--tp", 2, "--pp", 2, "--steps", 3],
    ["--mode", "prefill", "--cp", 2, "--context", "gather", "--dp", 2],
]


@pytest.mark.parametrize("layout", CASES, ids=lambda layout: " ".join(map(str, layout)))
def test_files_check_and_replay_like_the_line(orrery, tmp_path, layout):
    data = made(orrery, *SMALL, *layout, "-o", "t")
    assert data["files"] == {"first": "t.0.et", "last": f"t.{data['rank_count'] - 1}.et"}
    check = json.loads(orrery("trace", "check", "t", "--json").stdout)
    assert check["problems"] == []
    info = json.loads(orrery("trace", "info", "t", "--json").stdout)
    assert info["totals"]["flops"] == data["flops"]
    by_operation = defaultdict(int)
    for row in data["communication"]:
        by_operation[row["operation"]] += row["bytes"]
    for operation, counted in info["totals"]["collectives"].items():
        assert counted["bytes"] == by_operation[operation]
    cluster = "star:hosts=16,bandwidth=100Gbps,latency=1us,device=h100_sxm"
    line = "make:" + ",".join(
        f"{name.lstrip('-').replace('-', '_')}={value}"
        for name, value in zip((SMALL + layout)[::2], (SMALL + layout)[1::2], strict=True)
    )
    results = [
        json.loads(orrery("replay", trace, "--cluster", cluster, "--json").stdout) for trace in ("t", line)
    ]
    times = [[rank["finish_ps"] for rank in result["ranks"]] for result in results]
    assert times[0] == times[1] and min(times[0]) > 0


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
def test_bubble(orrery, schedule):
    for p, m in ((2, 3), (4, 4), (8, 24)):
        line = f"make:layers=8,hidden=64,heads=4,ffn=128,vocab=101,seq=32,pp={p},batch={m},op_time=2ms"
        line += f",schedule={schedule}"
        result = json.loads(orrery("replay", line, "--cluster", IDEAL, "--json").stdout)
        total = result["total_ps"]
        idle = sum(total - rank["compute_ps"] for rank in result["ranks"]) / (p * total)
        assert idle == pytest.approx((p - 1) / (m + p - 1), abs=1e-6)
        assert total == pytest.approx((m + p - 1) * 6e9, rel=1e-6)


def test_1024_ranks_in_one_command(orrery):
    line = "make:model=gpt-3-175b,tp=8,pp=8,dp=16,batch=64,detail=block"
    cluster = "rail_optimized:hosts=128,devices_per_host=8"
    described = {entry["name"] for entry in json.loads(orrery("describe", "generator", "--json").stdout)["entries"]}
    assert "star" in described
    cluster = "star:hosts=1024,bandwidth=400Gbps,latency=1us,device=h100_sxm"
    result = json.loads(orrery("replay", line, "--cluster", cluster, "--network", "alpha_beta", "--json").stdout)
    assert len(result["ranks"]) == 1024 and result["total_ps"] > 0


def test_files_are_the_same_bytes_and_never_replaced_silently(orrery, tmp_path):
    arguments = ["trace", "make", *SMALL, "--tp", 2, "--dp", 2]
    orrery(*arguments, "-o", "a")
    first = orrery(*arguments, "--json", "-o", "b")
    digests = [
        [hashlib.sha256((tmp_path / f"{name}.{rank}.et").read_bytes()).hexdigest() for rank in range(4)]
        for name in "ab"
    ]
    assert digests[0] == digests[1]
    assert "exists already" in orrery(*arguments, "-o", "a", code=2).stderr
    again = orrery(*arguments, "--json", "--force", "-o", "b")
    assert json.loads(first.stdout)["manifest"]["digest"] == json.loads(again.stdout)["manifest"]["digest"]
    # Ranks of an earlier, larger trace would be taken for some of this one.
    assert "a.2.et" in orrery("trace", "make", *SMALL, "--tp", 2, "--force", "-o", "a", code=2).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{n}.{r}.et" for n in "ab" for r in range(4))


MISTAKES = {
    "unknown model": (["--model", "lama-3-8b"], "did you mean 'llama-3-8b'"),
    "no model": ([], "layers"),
    "tp and heads": (["--model", "llama-3-8b", "--tp", 3], "tp: '3': expected a divisor of the number of heads"),
    "tp and kv heads": (["--model", "llama-3-8b", "--tp", 16], "heads of keys and values, which is 8"),
    "pp and layers": (["--model", "llama-3-405b", "--pp", 16], "divisor of the number of layers, which is 126"),
    "dp and batch": (["--model", "llama-3-8b", "--dp", 3, "--batch", 16], "dp: '3'"),
    "micro-batch": (["--model", "llama-3-8b", "--batch", 16, "--micro-batch", 5], "micro_batch: '5'"),
    "ep without experts": (["--model", "llama-3-8b", "--dp", 2, "--ep", 2], "no experts"),
    "ep and dp": (["--model", "mixtral-8x7b", "--dp", 2, "--ep", 4], "ep: '4': expected a divisor of dp"),
    "cp and seq": (["--model", "llama-3-8b", "--cp", 3], "divisor of seq"),
    "zero degree": (["--model", "llama-3-8b", "--tp", 0], "tp: '0'"),
    "degree is no number": (["--model", "llama-3-8b", "--tp", "two"], "tp: 'two'"),
    "unknown schedule": (["--model", "llama-3-8b", "--schedule", "1f1"], "1f1b"),
    "unknown option": (["--model", "llama-3-8b", "--shedule", "gpipe"], "did you mean '--schedule'"),
    "unknown device": (["--model", "llama-3-8b", "--device", "h100-sxm"], "did you mean 'h100_sxm'"),
    "efficiency alone": (["--model", "llama-3-8b", "--efficiency", "0.5"], "device"),
    "too many ranks": (["--model", "llama-3-8b", "--dp", 1048576, "--tp", 8], "ranks"),
    "too large": (
        ["--model", "llama-3-8b", "--seq", 1 << 24, "--batch", 1 << 24, "--micro-batch", 1 << 24],
        "micro-batch",
    ),
    "missing file": (["--model", "no/such.yaml"], "no/such.yaml"),
    "no folder": (["--model", "llama-3-8b", "-o", "no/such/folder/t"], "no/such/folder"),
    "folder": (["--model", "llama-3-8b", "-o", "."], "is a folder"),
    "unknown form": (["--model", "llama-3-8b", "--form", "jsn", "-o", "t"], "did you mean 'json'"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(orrery, tmp_path, name):
    arguments, part = MISTAKES[name]
    result = orrery("trace", "make", *arguments, code=2)
    assert part in result.stderr and result.stdout == "" and result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_line_for_replay(orrery):
    result = orrery("replay", "make:model=llama-3-8b,tp=3", "--cluster", "hgx-h100", code=2)
    assert "tp: '3': expected a divisor" in result.stderr


def test_a_model_file(orrery, tmp_path):
    (tmp_path / "mine.yaml").write_text("layers: 2\nhidden: 64\nheads: 4\nffn: 128\nvocab: 100\n")
    data = made(orrery, "--model", "mine.yaml", "--seq", 16)
    assert data["parameters"] == 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 2 * 100 * 64 + 64
    (tmp_path / "mine.yaml").write_text("layers: 2\nhiden: 64\n")
    wrong = orrery("trace", "make", "--model", "mine.yaml", code=2).stderr
    assert "mine.yaml:2" in wrong and "did you mean 'hidden'" in wrong


def test_python(orrery, tmp_path):
    module = pytest.importorskip("orrery")
    settings = {"layers": 4, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 101, "seq": 32, "tp": 2, "overlap": False}
    called = module.trace_make(**settings)
    shown = made(orrery, *SMALL, "--tp", 2, "--overlap", "false")
    for data in (called, shown):
        del data["manifest"]["command"]
    assert called == shown
    seen = []
    module.trace_make(tmp_path / "t", progress=lambda done, total: seen.append((done, total)), **settings)
    assert seen == [(1, 2), (2, 2)] and (tmp_path / "t.1.et").exists()
    with pytest.raises(module.InputError, match="divisor"):
        module.trace_make(**{**settings, "tp": 3})
    with pytest.raises(module.InputError, match="tp"):
        module.trace_make(**{**settings, "tp": [2]})
