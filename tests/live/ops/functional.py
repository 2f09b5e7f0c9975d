# SPDX-License-Identifier: Apache-2.0
"""The functional collectives, which DTensor and the compiler use, and those that autograd can go through."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn.functional as differentiable
from common import expect, run_cases, simulated_only


def wait(tensor):
    return functional.wait_tensor(tensor)


def case_all_reduce(rank, size):
    expect(wait(functional.all_reduce(torch.ones(3), "sum", dist.group.WORLD)), torch.full((3,), float(size)))
    tensors = functional.all_reduce_coalesced([torch.ones(2), torch.ones(3)], "sum", dist.group.WORLD)
    for tensor in tensors:
        expect(wait(tensor), torch.full_like(tensor, float(size)))


def case_broadcast(rank, size):
    expect(wait(functional.broadcast(torch.tensor([float(rank)]), 0, dist.group.WORLD)), torch.zeros(1))


def case_all_gather(rank, size):
    for axis in (0, 1):
        mine = torch.full((2, 3), float(rank))
        whole = wait(functional.all_gather_tensor(mine, axis, dist.group.WORLD))
        expect(whole, torch.cat([torch.full((2, 3), float(i)) for i in range(size)], axis))


@simulated_only
def case_all_gather_coalesced(rank, size):
    tensors = [torch.full((2,), float(rank)), torch.full((3,), rank, dtype=torch.int8), torch.full((1,), rank * 1.0)]
    for tensor, whole in zip(
        tensors, functional.all_gather_into_tensor_coalesced(tensors, dist.group.WORLD), strict=True
    ):
        expect(wait(whole), torch.cat([torch.full_like(tensor, i) for i in range(size)]))


def case_reduce_scatter(rank, size):
    whole = torch.cat([torch.full((2,), float(i)) for i in range(size)])
    expect(
        wait(functional.reduce_scatter_tensor(whole, "sum", 0, dist.group.WORLD)), torch.full((2,), float(rank * size))
    )


@simulated_only
def case_reduce_scatter_average_and_coalesced(rank, size):
    whole = torch.full((2 * size,), float(rank))
    expect(
        wait(functional.reduce_scatter_tensor(whole, "avg", 0, dist.group.WORLD)), torch.full((2,), (size - 1) / 2)
    )
    inputs = [torch.arange(2.0 * size), torch.arange(3 * size, dtype=torch.int8)]
    outputs = functional.reduce_scatter_tensor_coalesced(inputs, "sum", [0, 0], dist.group.WORLD)
    for tensor, output in zip(inputs, outputs, strict=True):
        expect(wait(output), tensor.chunk(size)[rank] * size)


def case_all_to_all(rank, size):
    mine = torch.full((size,), float(rank))
    out = wait(functional.all_to_all_single(mine, [1] * size, [1] * size, dist.group.WORLD))
    expect(out, torch.arange(size, dtype=torch.float32))


def case_gradients_of_all_reduce(rank, size):
    tensor = torch.full((2,), float(rank + 1), requires_grad=True)
    total = differentiable.all_reduce(tensor * 1)
    total.sum().backward()
    expect(tensor.grad, torch.full((2,), float(size)))


@simulated_only
def case_gradients_of_others(rank, size):
    tensor = torch.full((2,), float(rank + 1), requires_grad=True)
    torch.cat(differentiable.all_gather(tensor)).sum().backward()
    expect(tensor.grad, torch.full((2,), float(size)))
    tensor = torch.ones(size, requires_grad=True)
    out = differentiable.all_to_all_single(torch.empty(size), tensor)
    (out * (rank + 1)).sum().backward()
    expect(tensor.grad, torch.arange(1.0, size + 1))


if __name__ == "__main__":
    run_cases(globals())
