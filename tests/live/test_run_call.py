# SPDX-License-Identifier: Apache-2.0
"""orrery.run(): the command as a call."""

from pathlib import Path

import pytest
from live_case import BEGIN, STAR

import orrery


def script(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(text)
    return path


def test_a_call_gives_what_result_json_holds(tmp_path: Path) -> None:
    program = script(tmp_path, BEGIN + "time.sleep(float(sys.argv[1]))\ndist.barrier()\n")
    result = orrery.run(program, 2.5, cluster=STAR, ranks=2, compute="fixed:1us", quiet=True)
    assert result["total_ps"] == pytest.approx(2.5e12, rel=1e-2)
    assert [one["name"] for one in result["operations"]] == ["barrier"]


@pytest.mark.parametrize(
    ("body", "ranks", "error", "said"),
    [
        ("dist.recv(torch.ones(1), 1 - rank)", 2, orrery.SimulationError, "deadlock at .*2 still waiting"),
        ("sys.exit(4)", None, orrery.SimulationError, "without calling init_process_group"),
        ("pass", 9, orrery.InputError, "'9'.*expected 1 to 4"),
    ],
)
def test_what_goes_wrong_is_raised(
    tmp_path: Path, body: str, ranks: int | None, error: type[Exception], said: str
) -> None:
    begin = BEGIN if ranks else "import sys\n"
    with pytest.raises(error, match=said):
        orrery.run(script(tmp_path, begin + body), cluster=STAR, ranks=ranks, quiet=True)


def test_a_program_that_never_joins_has_no_result(tmp_path: Path) -> None:
    with pytest.raises(orrery.SimulationError, match="nothing was simulated"):
        orrery.run(script(tmp_path, "print(1)"), cluster=STAR, quiet=True)
