# SPDX-License-Identifier: Apache-2.0
"""Waiting too long: who waits is told, in virtual time, and goes on."""

import time
from datetime import timedelta

import torch
import torch.distributed as dist
from common import expect, expect_error, run_cases, simulated_only


@simulated_only  # gloo closes the connection.
def case_wait_with_a_limit(rank, size):
    if rank == 0:
        received = torch.zeros(1)
        work = dist.irecv(received, 1)
        began = time.perf_counter()
        expect_error(RuntimeError, "timed out", work.wait, timedelta(milliseconds=50))
        assert time.perf_counter() - began < 0.1
        work.wait()
        expect(received, torch.tensor([7.0]))
    elif rank == 1:
        time.sleep(0.2)
        dist.send(torch.tensor([7.0]), 0)


def case_monitored_barrier(rank, size):
    group = dist.new_group(backend="gloo")
    if rank == 0:
        expect_error(RuntimeError, f"rank {size - 1}", dist.monitored_barrier, group, timedelta(seconds=2))
    elif rank < size - 1:
        expect_error(RuntimeError, "rank 0", dist.monitored_barrier, group, timedelta(seconds=2))
    else:
        time.sleep(3)


@simulated_only  # With gloo the group is of no use any more.
def case_collective(rank, size):
    group = dist.new_group(timeout=timedelta(seconds=3))
    if rank < size - 1:
        expect_error(dist.DistBackendError, "timed out waiting 3000ms", dist.all_reduce, torch.ones(1), group=group)
    else:
        time.sleep(5)


if __name__ == "__main__":
    run_cases(globals())
