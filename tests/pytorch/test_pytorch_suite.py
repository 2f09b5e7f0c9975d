# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own distributed tests under `orrery run`: a few at every `make test`, all of them with -m slow."""

import importlib.util
import sys
from pathlib import Path

import pytest

missing = [name for name in ("torch", "numpy", "expecttest") if importlib.util.find_spec(name) is None]
if missing:
    pytest.skip(f"PyTorch's own tests need {', '.join(missing)}", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
import run_suite  # noqa: E402
import suite_table  # noqa: E402

QUICK = [
    "test_all_gather",
    "test_all_gather_object_default_pg",
    "test_all_reduce_full_group_max",
    "test_all_reduce_sum_async",
    "test_barrier",
    "test_batch_isend_irecv_gloo",
    "test_DistributedDataParallelCPU",
    "test_gather_checks",
    "test_get_future",
    "test_irecv",
    "test_isend_torch_profiler",
    "test_monitored_barrier_gloo_rank_0_timeout",
    "test_new_subgroups_with_group_param",
    "test_scatter_object_list",
    "test_send_recv_any_source",
]


def check(tests: list[str]) -> None:
    outcomes = run_suite.run_suite("orrery", tests)
    unexpected = {
        test: outcome.detail
        for test, outcome in outcomes.items()
        if outcome.outcome in ("failed", "hung") and test not in suite_table.EXPLAINED
    }
    assert not unexpected, "\n\n".join(f"{test}:\n{detail}" for test, detail in unexpected.items())


def test_quick() -> None:
    check([f"DistributedTest.{name}" for name in QUICK])


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all() -> None:
    check(run_suite.all_tests())
