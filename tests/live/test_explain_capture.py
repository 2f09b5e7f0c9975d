# SPDX-License-Identifier: Apache-2.0
"""`orrery explain` of what `orrery run --capture` wrote: it accounts for every picosecond of the run."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from live_case import BEGIN, STAR, Case, execute, ids
from test_capture import DDP, FIXED, GROUPS, LEFT_BEHIND, MESSAGES, MIXED, OVERLAP, PAUSES, ROOTED, UNEVEN

EXAMPLES = Path(__file__).parents[2] / "examples"
BARE = """
for _ in range(6):
    dist.all_gather_into_tensor(torch.empty(4 * 4096), torch.ones(4096))
"""


def explain(command: Path, folder: Path, cluster: str) -> str:
    line = [str(command), "explain", "capture", "--cluster", cluster, "--json", "--all"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def explained(case: Case, command: Path, folder: Path) -> tuple[dict, dict]:
    """What the run said, and what is said of its capture; twice the same."""
    (folder / "mixed.yaml").write_text(MIXED)
    outcome = execute(case, command, folder)
    assert outcome.code == 0, str(outcome)
    why = explain(command, folder, case.cluster)
    assert why == explain(command, folder, case.cluster)
    return json.loads(outcome.stdout), json.loads(why)


def case(name: str, program: str, cluster: str = STAR) -> Case:
    return Case(name, BEGIN + program, words=[*FIXED, "--capture", "capture"], cluster=cluster, run=explained)


def example(name: str) -> Case:
    words = ["-n", "3", "--compute", "fixed:20us/op", "--json", "--capture", "capture", str(EXAMPLES / f"{name}.py")]
    return Case(name, words=words, run=explained)


PROGRAMS = {
    "overlap": OVERLAP,
    "groups": GROUPS,
    "messages": MESSAGES,
    "uneven": UNEVEN,
    "rooted": ROOTED,
    "pauses": PAUSES,
    "left behind": LEFT_BEHIND,
    "ddp": DDP,
}
CASES = [*(case(name, program, "mixed.yaml") for name, program in PROGRAMS.items()), example("voltage")]


@pytest.mark.parametrize("case", ids(CASES, {"overlap", "messages", "voltage"}))
def test_every_picosecond_is_accounted_for(case: Case, ahead: Callable[[Case], tuple[dict, dict]]) -> None:
    live, why = ahead(case)
    assert why["total_ps"] == live["total_ps"]
    path = why["critical_path"]
    ends = [0, *(step["end_ps"] for step in path["steps"])]
    assert [step["begin_ps"] for step in path["steps"]] == ends[:-1]
    assert ends[-1] == why["total_ps"]
    assert sum(site["time_ps"] for site in path["sites"]) == why["total_ps"]
    for site in why["overlap"]["sites"]:
        assert site["reason"] is not None or site["saved_ps"] > 0
        assert site["reason"] is None or not site["reason"].startswith("cannot be moved")


@pytest.mark.parametrize("case", ids([example("voltage")], {"voltage"}))
def test_sites_are_lines_of_the_program(case: Case, ahead: Callable[[Case], tuple[dict, dict]]) -> None:
    _, why = ahead(case)
    (gather,) = [site for site in why["exposed"] if site["site"].startswith("all_gather at ")]
    assert "voltage.py:" in gather["site"]
    assert gather["ranks"] == 3
    assert gather["transfer_ps"] > 0


NO_COMPUTE = Case(
    "bare",
    BEGIN + BARE,
    words=["-n", "4", "--compute", "fixed:1ps/op", "--json", "--capture", "capture"],
    run=explained,
)


@pytest.mark.parametrize("case", ids([NO_COMPUTE], set()))
def test_without_computing_there_is_nothing_to_gain(case: Case, ahead: Callable[[Case], tuple[dict, dict]]) -> None:
    _, why = ahead(case)
    assert [kind["kind"] for kind in why["critical_path"]["kinds"]][0] == "communication"
    for site in why["overlap"]["sites"]:
        assert (site["at_most_ps"] or 0) < why["total_ps"] / 10_000
    assert why["overlap"]["together"] is None


WIDE = ["--dim", "512", "--hidden", "1024", "--layers", "4", "--tokens", "1", "--prompt", "planets" * 20]
FOUND = Case(
    "voltage's overlap",
    words=["-n", "3", "--json", "--capture", "capture", "--dataflow", str(EXAMPLES / "voltage.py"), *WIDE],
    run=explained,
)


@pytest.mark.parametrize("case", ids([FOUND]))
def test_what_improves_voltage_is_found(case: Case, ahead: Callable[[Case], tuple[dict, dict]]) -> None:
    """examples/voltage_improved.py computes the queries of its own rows while the others' travel."""
    _, why = ahead(case)
    site = max(why["overlap"]["sites"], key=lambda one: one["saved_ps"] or 0)
    assert site["site"].startswith("all_gather at ")
    assert "linear at voltage.py:" in json.dumps(site, ensure_ascii=False).replace("examples/", "")
    assert 0 < site["saved_ps"] < why["total_ps"]
