# SPDX-License-Identifier: Apache-2.0
"""The memory that a run says it took is that of its peak, with what ranks share counted once."""

import re
from pathlib import Path

from live_case import BEGIN, Case, execute

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9}


def memory(command: Path, folder: Path, program: str) -> float:
    folder.mkdir()
    outcome = execute(Case("memory", BEGIN + program, words=["-n", "2"]), command, folder)
    assert outcome.code == 0, str(outcome)
    found = re.search(r"at most ([\d.]+) ?(\w+) of memory", outcome.stdout + outcome.stderr)
    assert found, str(outcome)
    return float(found[1]) * UNITS[found[2]]


def test_memory_is_that_of_the_peak(command: Path, tmp_path: Path) -> None:
    plain = memory(command, tmp_path / "plain", "dist.barrier()")
    more = "if rank == 0: torch.ones(64 << 20)  # 256 MiB, gone at once.\n"
    peak = memory(command, tmp_path / "more", more + "dist.barrier()")
    assert 240 < (peak - plain) / (1 << 20) < 300
    assert plain < 600 << 20, "torch itself is shared"
