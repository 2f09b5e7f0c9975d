# SPDX-License-Identifier: Apache-2.0
"""`--device-map cuda=cpu` and `--compute fake`: scripts written for CUDA, where there is none."""

import json
from pathlib import Path

import pytest
from live_case import STAR, Case, execute, ids

EXAMPLES = Path(__file__).parents[2] / "examples" / "cuda"
CLUSTER = "hgx-h100"
MAP = ["--device-map", "cuda=cpu"]
#: Ranks that each script is tried with.
RANKS = {
    "ddp": 2,
    "ddp_amp": 2,
    "fsdp2": 4,
    "tensor_parallel": 4,
    "sequence_parallel": 2,
    "pipelining": 2,
    "moe_all_to_all": 4,
    "accumulate_checkpoint": 2,
    "memory": 2,
    "mesh_2d": 4,
}
BEGIN = """\
import os, torch, torch.distributed as dist
dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
"""


def words(ranks: int, *options: str) -> list[str]:
    return ["-n", str(ranks), *MAP, *options]


def script(name: str, ranks: int, *options: str, arguments: tuple[str, ...] = ()) -> Case:
    path = str(EXAMPLES / f"{name}.py")
    return Case(name, words=[*words(ranks, *options), path, *arguments], cluster=CLUSTER, seconds=240)


SCRIPTS = [script(name, ranks, "-q", "--compute", "fixed:20us") for name, ranks in RANKS.items()]
#: Without data, so that large products cost nothing here, and by the device's model, so that times are the same always.
SCRIPTS += [script("streams", 2, "-q", "--compute", "fake", arguments=("--size", "4096"))]


def test_every_script_is_here():
    others = {"model", "llama_tp_decode", "ddp_step", "streams"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(RANKS) | others


@pytest.mark.parametrize("case", ids(SCRIPTS))
def test_script(case, ahead):
    outcome = ahead(case)
    assert outcome.code == 0, str(outcome)


def result_of(case: Case, command: Path, folder: Path) -> dict:
    folder.mkdir()
    outcome = execute(case, command, folder)
    assert outcome.code == 0, str(outcome)
    return json.loads(outcome.stdout)


def test_no_data_same_times(command, bridge, tmp_path):
    small = ("--layers", "2", "--width", "128", "--words", "256", "--length", "32")
    model, fake = (
        result_of(script("ddp_step", 2, "--json", "--compute", how, arguments=small), command, tmp_path / how)
        for how in ("model", "fake")
    )
    assert model["total_ps"] == fake["total_ps"] > 0
    assert [rank["finish_ps"] for rank in model["ranks"]] == [rank["finish_ps"] for rank in fake["ranks"]]
    assert model["operations"] == fake["operations"]


def test_ledger_repeats(command, bridge, tmp_path):
    program = BEGIN + (
        "a = torch.randn(64, 64, device='cuda'); side = torch.cuda.Stream()\n"
        "for i in range(3):\n"
        "    with torch.cuda.stream(side): b = a @ a\n"
        "    c = a @ a; torch.cuda.current_stream().wait_stream(side); dist.all_reduce(c); c.sum().item()\n"
    )
    first, second = (
        result_of(
            Case(name, program, words=words(2, "--json", "--compute", how, "--out", "out"), cluster=CLUSTER),
            command,
            tmp_path / name,
        )
        for name, how in (("first", "measured"), ("second", "ledger:../first/out"))
    )
    assert first["total_ps"] == second["total_ps"]


def run(name: str, program: str, *options: str, code: int = 0) -> Case:
    return Case(name, BEGIN + program, words=words(2, "-q", *options), cluster=CLUSTER, code=code)


PROGRAMS = [
    run(
        "devices and events",
        "x = torch.ones(3, device='cuda')\n"
        "assert x.is_cuda and x.device == torch.device('cuda', rank) and str(x.device) == f'cuda:{rank}'\n"
        "assert torch.cuda.device_count() == 8 and torch.cuda.get_device_capability() == (9, 0)\n"
        "first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))\n"
        "first.record(); y = x * 2; last.record(); last.synchronize()\n"
        "assert abs(first.elapsed_time(last) - 0.01) < 1e-9, first.elapsed_time(last)\n",
        "--compute",
        "fixed:10us/op",
    ),
    run(
        "devices do not mix",
        "try: torch.ones(3, device='cuda') + torch.ones(3)\n"
        "except RuntimeError as problem: assert 'same device' in str(problem)\n"
        "else: raise SystemExit('mixed')\n",
    ),
]
#: What the program does, and the one line that says that it cannot be had.
REFUSED = {
    "not simulated": ("graph = torch.cuda.CUDAGraph()\n", (), "prog.py:5: --device-map cuda=cpu: torch.cuda.CUDAGraph"),
    "no value": (
        "x = torch.ones(3, device='cuda')\nif x.sum().item() > 2: print('yes')\n",
        ("--compute", "fake"),
        "prog.py:6: --compute fake: aten::_local_scalar_dense needs values",
    ),
    "no data to save": (
        "torch.save({'a': torch.ones(3, device='cuda')}, 'file')\n",
        ("--compute", "fake"),
        "prog.py:5: --compute fake: torch.save() needs values",
    ),
}
REFUSALS = [run(name, program, *options, code=3) for name, (program, options, _) in REFUSED.items()]


@pytest.mark.parametrize("case", ids(PROGRAMS))
def test_program(case, ahead):
    outcome = ahead(case)
    assert outcome.code == 0, str(outcome)


@pytest.mark.parametrize("case", ids(REFUSALS))
def test_refusal_names_the_line(case, ahead):
    outcome = ahead(case)
    assert outcome.code == 3, str(outcome)
    assert REFUSED[case.name][2] in outcome.stderr and "Traceback" not in outcome.stderr, str(outcome)


MISTAKES = [
    Case("unknown map", "", words=["-n", "2", "--device-map", "tpu=cpu"], cluster=CLUSTER, code=2),
    Case("no map", "", words=["-n", "2", "--compute", "fake"], cluster=CLUSTER, code=2),
    Case("no peak", "", words=words(2, "--compute", "fake"), cluster=STAR, code=2),
    Case("capture", "", words=words(2, "--capture", "there"), cluster=CLUSTER, code=2),
    Case("raw", "", words=words(2, "--compute", "measured:raw"), cluster=CLUSTER, code=2),
]
SAID = {
    "raw": ["--compute: 'measured:raw'", "does not tell the device's part"],
    "unknown map": ["--device-map: 'tpu=cpu'", "expected cuda=cpu"],
    "no map": ["--compute: 'fake'", "needs --device-map cuda=cpu"],
    "no peak": ["peak"],
    "capture": ["--capture: 'there'", "cannot be captured"],
}


@pytest.mark.parametrize("case", ids(MISTAKES))
def test_mistake(case, ahead):
    outcome = ahead(case)
    assert outcome.code == 2, str(outcome)
    assert all(part in outcome.stderr for part in SAID[case.name]), str(outcome)
    assert "Traceback" not in outcome.stderr and not (outcome.folder / "there").exists()


LARGE = [script(name, 8, "-q", "--compute", "fake") for name in ("llama_tp_decode", "ddp_step")]


@pytest.mark.slow
@pytest.mark.parametrize("case", ids(LARGE))
def test_models_that_fit_no_machine(case, ahead):
    outcome = ahead(case)
    assert outcome.code == 0, str(outcome)
