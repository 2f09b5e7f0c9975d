# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed examples under torchrun and gloo: two real processes agree with one.

They need PyTorch, which the other tests do not: in the interpreter that runs the tests, or in the one that
TORCH_PYTHON names. Without it they are skipped.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
QUICK = ("all_collectives", "ddp", "tensor_parallel", "voltage_improved")
SLOW = (
    "collective_sweep",
    "dtensor_sequence_parallel",
    "fsdp2",
    "moe_expert_parallel",
    "ping_pong",
    "pipeline_parallel",
    "poisson_serving",
    "ring_attention",
    "tensor_pipeline_parallel",
    "torch_pipelining",
    "two_tower",
    "voltage",
    "yield_benchmark",
)
SECONDS = 240  # Some seconds are enough, mostly for imports; a busy machine needs more.
PYTHON = os.environ.get("TORCH_PYTHON") or sys.executable
HAS_TORCH = "TORCH_PYTHON" in os.environ or importlib.util.find_spec("torch") is not None

needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="no PyTorch here; TORCH_PYTHON may name a Python that has it")
some_slow = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]

# Runs a script in which one function of torch.distributed spoils the first tensor it is given, if that has fractions.
SPOILER = """
import runpy, sys
import torch.distributed as dist
name, script = sys.argv[1:3]
sys.argv[:] = sys.argv[2:]
sys.path[0] = script.rpartition("/")[0]
true = getattr(dist, name)
def spoiled(first, *args, **options):
    result = true(first, *args, **options)
    if hasattr(result, "wait"):
        result.wait()
    tensor = first[0] if isinstance(first, list) else first
    if tensor.is_floating_point():
        tensor.mul_(-2)
    return result
setattr(dist, name, spoiled)
runpy.run_path(script, run_name="__main__")
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def run(cache: Path, *command: object) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(cache)}
    process = subprocess.Popen(
        [PYTHON, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        stdout, stderr = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)  # The launcher then ends its workers; a kill would orphan them.
        stdout, stderr = process.communicate(timeout=60)
        pytest.fail(f"no end after {SECONDS} s: {process.args}\n{stdout}\n{stderr}")
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def torchrun(cache: Path, *command: object, ranks: int = 2) -> "subprocess.CompletedProcess[str]":
    """--standalone finds a free port for each run."""
    return run(cache, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, *command)


def test_every_example_has_a_test():
    scripts = {path.stem for path in EXAMPLES.glob("*.py") if "import torch" in path.read_text()}
    assert scripts == {*QUICK, *SLOW}


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_example_is_plain_torch(name):
    assert "orrery" not in (EXAMPLES / f"{name}.py").read_text().lower()


@needs_torch
@pytest.mark.parametrize("name", some_slow)
def test_two_ranks_equal_one(name, cache):
    done = torchrun(cache, EXAMPLES / f"{name}.py", "--check", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert (result["example"], result["world_size"], result["equal"]) == (name, 2, True)


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize("name", ["tensor_parallel", "voltage", "poisson_serving"])
def test_three_ranks_with_uneven_shares(name, cache):
    done = torchrun(cache, EXAMPLES / f"{name}.py", "--check", "--json", "--tokens", 4, ranks=3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["equal"] is True


@needs_torch
@pytest.mark.slow
def test_text_shows_both(cache):
    done = torchrun(cache, EXAMPLES / "tensor_parallel.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    prompt, generated, alone, speed, verdict = done.stdout.splitlines()
    assert prompt.startswith("prompt: ")
    assert generated.removeprefix("generated: ") == alone.removeprefix("1 process: ")
    assert "tokens/s" in speed
    assert verdict == "check: equal to one process"


@needs_torch
@pytest.mark.parametrize(
    ("name", "options", "line"),
    [
        ("ping_pong", [], "ping_pong.py: needs at least 2 ranks"),
        pytest.param(
            "tensor_parallel",
            ["--heads", 3],
            "tensor_parallel.py: --heads must be a multiple of --kv-heads",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_refusal_is_one_line(name, options, line, cache):
    done = run(cache, EXAMPLES / f"{name}.py", *options)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line + "\n")


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("moe_expert_parallel", "all_to_all_single"),
        ("pipeline_parallel", "recv"),
        ("tensor_parallel", "all_reduce"),
        ("two_tower", "all_gather"),
        ("voltage", "all_gather"),
    ],
)
def test_check_notices_wrong_values(name, function, cache, tmp_path):
    spoiler = tmp_path / "spoiler.py"
    spoiler.write_text(SPOILER)
    done = torchrun(cache, spoiler, function, EXAMPLES / f"{name}.py", "--check", "--json")
    assert done.returncode != 0
    assert json.loads(done.stdout)["equal"] is False
