# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share. Each is a plain torch.distributed program that asserts what comes out:

    orrery run -n 4 --cluster jetson-lan collectives.py     on the simulated cluster
    torchrun --nproc-per-node 4 collectives.py              with the real gloo; what gloo cannot do is left out
"""

import os
import sys
import traceback
import warnings

import torch
import torch.distributed as dist

warnings.filterwarnings("ignore")  # Old names are tested, too.
IS_SIMULATED = "ORRERY_LIVE" in os.environ


def simulated_only(case):
    """Marks what gloo does not support."""
    case.is_simulated_only = True
    return case


def expect(actual, expected) -> None:
    if isinstance(expected, torch.Tensor):
        assert actual.dtype == expected.dtype, f"{actual.dtype} is not {expected.dtype}"
        assert actual.shape == expected.shape, f"{tuple(actual.shape)} is not {tuple(expected.shape)}"
        assert torch.equal(actual, expected), f"{actual} is not {expected}"
    else:
        assert actual == expected, f"{actual!r} is not {expected!r}"


def expect_error(kind, text, call, *arguments, **options) -> None:
    try:
        call(*arguments, **options)
    except kind as error:
        assert text.lower() in str(error).lower(), f"{error} does not say {text!r}"
        return
    raise AssertionError(f"{call} raised no {kind}")


def run_cases(module: dict, backend: str | None = "gloo") -> None:
    """Runs every function called case_*, in order, with (rank, size)."""
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    cases = [(name, case) for name, case in module.items() if name.startswith("case_")]
    count = 0
    for name, case in cases:
        if not IS_SIMULATED and getattr(case, "is_simulated_only", False):
            continue
        try:
            case(rank, size)
        except Exception:
            print(f"rank {rank}: {name} FAILED\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            os._exit(1)
        count += 1
        dist.barrier()
    if rank == 0:
        print(f"{count} cases passed with {size} ranks", flush=True)
    dist.destroy_process_group()
