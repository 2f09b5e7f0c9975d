# SPDX-License-Identifier: Apache-2.0
"""The cell magic, in a real IPython."""

import pytest

pytest.importorskip("torch")
shells = pytest.importorskip("IPython.core.interactiveshell")

CELL = """\
import torch, torch.distributed as dist
dist.init_process_group()
x = torch.ones(1000) * dist.get_rank()
dist.all_reduce(x)
print(f"rank {dist.get_rank()} has {x[0].item()}")
"""
LINE = "-n 3 --cluster star:hosts=3,bandwidth=1Gbps,latency=1ms --compute fixed:0us"


@pytest.fixture
def shell():
    made = shells.InteractiveShell.instance()
    made.run_line_magic("load_ext", "orrery")
    yield made
    shells.InteractiveShell.clear_instance()


def test_a_cell_runs_on_a_simulated_cluster(shell, capsys):
    shell.run_cell_magic("orrery", LINE, CELL)
    printed = capsys.readouterr().out
    for rank in range(3):
        assert f"rank {rank} has 3.0" in printed
    result = shell.user_ns["_orrery"]
    assert len(result["ranks"]) == 3
    assert result["total_ps"] > 2 * 2e9  # Two links of a millisecond each, at the least.


def test_a_cell_that_fails_says_so(shell, capsys):
    with pytest.raises(RuntimeError, match="exit code 3"):
        shell.run_cell_magic("orrery", LINE, CELL + "raise SystemExit(4)\n")
    assert "ended with exit status 4" in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="exit code 2"):
        shell.run_cell_magic("orrery", "-n 3 --cluster nowhere.yaml", CELL)
    assert "nowhere.yaml" in capsys.readouterr().out
