# SPDX-License-Identifier: Apache-2.0
"""Runs the scripts of this folder on the simulated cluster; each asserts what comes out of torch.distributed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from live_case import Case, Outcome, ids

FOLDER = Path(__file__).parent
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path.name not in ("common.py", "test_ops.py"))


def cases(ranks: int, *options: str) -> list[Case]:
    words = ["-n", str(ranks), "-q", *options]
    return [Case(f"{script.stem}-{ranks}", words=[*words, str(script)], seconds=300) for script in SCRIPTS]


def check(outcome: Outcome, ranks: int) -> None:
    assert outcome.code == 0, str(outcome)
    assert f"cases passed with {ranks} ranks" in outcome.stdout, str(outcome)


@pytest.mark.parametrize("case", ids(cases(4)))
def test_four_ranks(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    check(ahead(case), 4)


@pytest.mark.slow
@pytest.mark.parametrize("case", ids(cases(3, "--compute", "fixed:1us")))
def test_three_ranks(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    check(ahead(case), 3)


@pytest.mark.slow
@pytest.mark.parametrize("case", ids(cases(2, "--fresh")))
def test_two_fresh_ranks(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    check(ahead(case), 2)
