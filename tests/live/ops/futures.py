# SPDX-License-Identifier: Apache-2.0
"""Futures of operations: torch waits for them where no backend can see it."""

import torch
import torch.distributed as dist
from common import expect, expect_error, run_cases, simulated_only


def case_value(rank, size):
    tensor = torch.full((2,), float(rank))
    future = dist.all_reduce(tensor, async_op=True).get_future()
    value = future.wait()
    expect(value[0] if isinstance(value, list) else value, torch.full((2,), float(sum(range(size)))))
    assert future.done()


def case_after_the_fact(rank, size):
    tensor = torch.ones(2)
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    expect(work.get_future().wait()[0], torch.full((2,), float(size)))


def case_then(rank, size):
    tensor = torch.ones(2)
    future = dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0] / size)
    expect(future.wait(), torch.ones(2))


@simulated_only  # gloo runs callbacks on threads of its own, where this may deadlock.
def case_chains_that_post_and_wait(rank, size):
    def again(done):
        value = done.value()[0]
        dist.all_reduce(value)
        return dist.all_reduce(value, async_op=True).get_future().wait()[0]

    tensor = torch.ones(1)
    future = dist.all_reduce(tensor, async_op=True).get_future().then(again)
    expect(future.wait(), torch.tensor([float(size**3)]))


@simulated_only  # Receives of gloo have no futures.
def case_any_of_several(rank, size):
    """Who waits for the oldest operation first, or blocks in get_future(), deadlocks here."""
    if rank == 0:
        received = torch.zeros(1)
        first = dist.irecv(received, 1).get_future()
        tensor = torch.ones(1)
        second = dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0] * 2)
        expect(second.wait(), torch.tensor([2.0 * size]))
        dist.send(torch.ones(1), 1)
        first.wait()
        expect(received, torch.tensor([5.0]))
    else:
        dist.all_reduce(torch.ones(1))
        if rank == 1:
            received = torch.zeros(1)
            dist.recv(received, 0)
            dist.send(torch.tensor([5.0]), 0)


def case_collected(rank, size):
    tensors = [torch.full((1,), float(i + 1)) for i in range(5)]
    futures = [dist.all_reduce(tensor, async_op=True).get_future() for tensor in tensors]
    for i, done in enumerate(torch.futures.wait_all(futures)):
        expect(done[0], torch.tensor([float(size * (i + 1))]))


def case_order_of_callbacks(rank, size):
    seen = []
    futures = [
        dist.all_reduce(torch.ones(i + 1), async_op=True).get_future().then(lambda _, i=i: seen.append(i))
        for i in range(4)
    ]
    torch.futures.wait_all(futures)
    expect(sorted(seen), [0, 1, 2, 3])


@simulated_only
def case_callback_that_fails(rank, size):
    def fail(done):
        raise RuntimeError("on purpose")

    future = dist.all_reduce(torch.ones(1), async_op=True).get_future().then(fail)
    expect_error(RuntimeError, "on purpose", future.wait)


def case_result(rank, size):
    tensor = torch.ones(1)
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    expect(work.result()[0], torch.tensor([float(size)]))
    assert work.is_completed()


if __name__ == "__main__":
    run_cases(globals())
