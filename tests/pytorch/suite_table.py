# SPDX-License-Identifier: Apache-2.0
"""Writes what came of PyTorch's own tests: suite_table.py FOLDER DOCUMENT, with the outcomes of run_suite.py in FOLDER.

gloo.json is the yardstick, orrery.json is ours; mpi.json, if there, has the tests that only MPI may run.
"""

import ast
import json
import sys
import textwrap
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

#: Why a test that passes with gloo does not with ours.
EXPLAINED = {
    "DistributedTest.test_ddp_logging_data_cpu": "DDP's private telemetry calls the backend `custom`; under the name "
    "`gloo` torch would look for gloo's own process group inside ours. `get_backend()` says `gloo`.",
}

#: What PyTorch says when it skips a test, by the words in it.
REASONS = {
    "needs CUDA devices or NCCL": ("CUDA", "nccl", "Nccl", "NCCL"),
    "PyTorch runs it on MPI only": ("Only MPI",),
    "PyTorch has disabled it on Linux": ("github.com", "flakiness", "failing"),
    "needs torchvision": ("torchvision",),
}


def reason(detail: str) -> str:
    return next((text for text, words in REASONS.items() if any(word in detail for word in words)), detail)


def rpc_tests() -> dict[str, int]:
    """Tests of the installed torch that need its RPC framework, by file."""
    folder = Path(find_spec("torch").origin).parent / "testing/_internal/distributed"
    files = [*folder.glob("rpc/**/*.py"), *folder.glob("nn/**/*.py"), folder / "ddp_under_dist_autograd_test.py"]
    counts = {}
    for file in sorted(files):
        nodes = ast.walk(ast.parse(file.read_text()))
        names = [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        if names:
            counts[str(file.relative_to(folder))] = len(names)
    return counts


def read(file: Path) -> dict[str, dict]:
    return json.loads(file.read_text()) if file.exists() else {}


def names(tests: list[str]) -> str:
    return ", ".join(f"`{test.removeprefix('DistributedTest.test_')}`" for test in tests)


def wrapped(text: str, indent: str = "") -> str:
    """At most 120 columns; after the first line, `indent`."""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def ended(outcomes: dict[str, dict], *words: str) -> list[str]:
    return [test for test, outcome in outcomes.items() if outcome["outcome"] in words]


def introduction() -> list[str]:
    return [
        "# PyTorch's own tests",
        "",
        wrapped(
            f"The tests that the wheel of torch {version('torch').partition('+')[0]} carries for `torch.distributed` "
            "(`torch.testing._internal.distributed.distributed_test`), unmodified, on the CPU: once on stock gloo as "
            "the yardstick, once under `orrery run`. Four ranks, or eight where a test wants more. Made by:"
        ),
        "",
        "    python tests/pytorch/run_suite.py gloo --out build/pytorch-suite/gloo.json",
        "    python tests/pytorch/run_suite.py orrery --out build/pytorch-suite/orrery.json",
        "    python tests/pytorch/run_suite.py orrery --backend mpi --only to_all --out build/pytorch-suite/mpi.json",
        "    python tests/pytorch/suite_table.py build/pytorch-suite docs/pytorch-suite.md",
        "",
    ]


def comparison(gloo: dict[str, dict], ours: dict[str, dict]) -> list[str]:
    lines = ["| | stock gloo | `orrery run` |", "|---|---:|---:|"]
    for title, words in {"passed": ("passed",), "failed": ("failed", "hung"), "inapplicable": ("skipped",)}.items():
        lines.append(f"| {title} | {len(ended(gloo, *words))} | {len(ended(ours, *words))} |")
    lines += ["", "## Differences", ""]
    different = [test for test in gloo if test in ours and gloo[test]["outcome"] != ours[test]["outcome"]]
    if not different:
        return [*lines, "None: every test ends with ours as it does with gloo.", ""]
    for test in different:
        why = EXPLAINED.get(test, "not explained yet")
        text = f"- {names([test])}: {gloo[test]['outcome']} with gloo, {ours[test]['outcome']} with ours: {why}"
        lines.append(wrapped(text, "  "))
    return [*lines, ""]


def passed(gloo: dict[str, dict], ours: dict[str, dict], mpi: dict[str, dict]) -> list[str]:
    lines = ["## Passed", ""]
    for world in sorted({outcome["world"] for outcome in ours.values()}):
        tests = [test for test in ended(ours, "passed") if ours[test]["world"] == world]
        if tests:
            lines += [wrapped(f"With {world} ranks ({len(tests)}): {names(tests)}."), ""]
    tests = [test for test in ended(mpi, "passed") if gloo.get(test, {}).get("outcome") == "skipped"]
    if tests:
        intro = "Asked for as `mpi`, which stock PyTorch has only where it was built with MPI"
        lines += [wrapped(f"{intro} ({len(tests)}): {names(tests)}."), ""]
    return lines


def inapplicable(ours: dict[str, dict], mpi: dict[str, dict]) -> list[str]:
    lines = ["## Inapplicable", ""]
    groups: dict[str, list[str]] = {}
    for test in ended(ours, "skipped"):
        if mpi.get(test, {}).get("outcome") != "passed":
            groups.setdefault(reason(ours[test]["detail"]), []).append(test)
    for why, tests in sorted(groups.items(), key=lambda group: -len(group[1])):
        lines.append(wrapped(f"- **{why}** ({len(tests)}): {names(tests)}", "  "))
    lines += ["", "Not run: they need the RPC framework, which has transports of its own beside process groups.", ""]
    lines += [f"- `{file}` ({count})" for file, count in rpc_tests().items()]
    text = (
        "The wheel has no tests of FSDP, DTensor, tensor or pipeline parallelism, only helpers for them; "
        "`examples/` and `tests/` cover these."
    )
    return [*lines, "", wrapped(text)]


def main() -> None:
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    gloo, ours, mpi = (read(folder / name) for name in ("gloo.json", "orrery.json", "mpi.json"))
    lines = introduction() + comparison(gloo, ours) + passed(gloo, ours, mpi) + inapplicable(ours, mpi)
    target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
