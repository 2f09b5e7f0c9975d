# SPDX-License-Identifier: Apache-2.0
"""One rank of PyTorch's own distributed tests: suite_rank.py FOLDER, started once per rank with RANK and WORLD_SIZE.

FOLDER/tests.txt names the tests, one a line. Each gets a process group of its own, as in PyTorch's own
MultiProcessTestCase, but all run in this process. The outcome of each goes to FOLDER/rank-<RANK>.jsonl; the first
failure ends this rank, since the other ranks may be anywhere by then. run_suite.py starts the ranks and goes on with
the tests that are left.
"""

import gc
import json
import os
import sys
import traceback
import unittest
from datetime import timedelta
from pathlib import Path

FAILED = 10  # Exit status after a failed test, as in PyTorch.


def main() -> None:
    folder, rank = Path(sys.argv[1]), int(os.environ["RANK"])
    tests = (folder / "tests.txt").read_text().split()
    os.environ["TEMP_DIR"] = str(folder)  # Wanted while the tests are imported.
    if os.environ.get("SUITE_DEVICES") == "cpu":
        import cpu_devices
        from torch.testing._internal import common_distributed
        from torch.testing._internal.distributed import distributed_test  # noqa: F401  (looks for real devices)

        cpu_devices.install(common_distributed)
    with (folder / f"rank-{rank}.jsonl").open("w", buffering=1) as record:
        for number, test in enumerate(tests):
            scratch = folder / f"scratch-{number}"
            for name in ("barrier", "test_dir", "init_dir"):
                (scratch / name).mkdir(parents=True, exist_ok=True)
            record.write(json.dumps({"test": test, "outcome": "begun"}) + "\n")
            outcome, detail = run_one(test, rank, scratch)
            record.write(json.dumps({"test": test, "outcome": outcome, "detail": detail}) + "\n")
            if outcome == "failed":
                print(f"{test} failed on rank {rank}:\n{detail}", file=sys.stderr, flush=True)
                os._exit(FAILED)


def load(test: str, rank: int) -> unittest.TestCase:
    from torch.testing._internal.distributed import distributed_test as suite

    kind, name = test.split(".")
    if kind != "DistributedTest":
        return getattr(suite, kind)(name)
    spawned = type(kind, (suite.TestDistBackend, suite.DistributedTest._DistTestBase), {})
    case = spawned(name)
    case.rank = rank
    return case


def run_one(test: str, rank: int, scratch: Path) -> tuple[str, str]:
    """passed, skipped or failed, and why."""
    import torch.distributed as dist
    from torch.testing._internal import common_distributed, common_utils
    from torch.testing._internal.distributed import distributed_test as suite

    os.environ["TEMP_DIR"] = str(scratch)
    case, name = load(test, rank), test.split(".")[1]
    why = skip_reason(case, name)
    if why is not None:
        return "skipped", why
    needs_group = isinstance(case, suite.TestDistBackend)
    suite.Barrier.barrier_id = 0
    skips = {skip.exit_code: skip.message for skip in common_distributed.TEST_SKIPS.values()}
    try:
        if needs_group:
            dist.init_process_group(
                init_method=f"file://{scratch}/store",
                backend=suite.BACKEND,
                world_size=int(case.world_size),
                rank=rank,
                timeout=timedelta(seconds=suite.CUSTOM_PG_TIMEOUT.get(name, suite.default_pg_timeout)),
            )
            case._barrier()
        common_utils.set_rng_seed()
        try:
            getattr(case, name)() if needs_group else case.debug()
        except unittest.SkipTest as skip:
            return "skipped", str(skip)
        except SystemExit as wish:
            if wish.code in skips:
                return "skipped", skips[wish.code]
            raise
        if needs_group:
            case._barrier()
    except BaseException:
        return "failed", traceback.format_exc()
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
        os.environ.pop("TORCH_DISTRIBUTED_DEBUG", None)
        dist.set_debug_level_from_env()
        gc.collect()
    return "passed", ""


def skip_reason(case: unittest.TestCase, name: str) -> str | None:
    """What a decorator says before the test has begun."""
    method = getattr(type(case), name)
    if getattr(method, "__unittest_skip__", False):
        return method.__unittest_skip_why__
    return None


if __name__ == "__main__":
    main()
