# SPDX-License-Identifier: Apache-2.0
"""Every type of tensor, and every way one may lie in memory."""

import torch
import torch.distributed as dist
from common import IS_SIMULATED, expect, run_cases, simulated_only

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int8, torch.uint8, torch.int32, torch.int64]
COMPLEX = [torch.complex64, torch.complex128]
SMALL = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
OTHERS = [torch.int16, torch.uint16, torch.uint32, torch.uint64, torch.bool, torch.complex32]


def case_sum_of_every_type(rank, size):
    types = FLOATS + INTEGERS + COMPLEX + (SMALL + OTHERS[:-2] if IS_SIMULATED else [])
    for dtype in types:
        tensor = torch.full((33,), rank + 1, dtype=torch.float32).to(dtype)
        dist.all_reduce(tensor)
        expect(tensor, torch.full((33,), size * (size + 1) / 2).to(dtype))


@simulated_only
def case_booleans(rank, size):
    tensor = torch.tensor([rank == 0, True, False])
    dist.all_reduce(tensor)
    expect(tensor, torch.tensor([True, True, False]))
    tensor = torch.tensor([rank == 0, True, False])
    dist.all_reduce(tensor, dist.ReduceOp.PRODUCT)
    expect(tensor, torch.tensor([size == 1, True, False]))


@simulated_only
def case_extremes_of_every_type(rank, size):
    for dtype in FLOATS + INTEGERS + SMALL:
        for reduction, expected in ((dist.ReduceOp.MIN, 1), (dist.ReduceOp.MAX, size)):
            tensor = torch.full((5,), float(rank + 1)).to(dtype)
            dist.all_reduce(tensor, reduction)
            expect(tensor, torch.full((5,), float(expected)).to(dtype))


@simulated_only
def case_not_a_number_wins(rank, size):
    for reduction in (dist.ReduceOp.MIN, dist.ReduceOp.MAX, dist.ReduceOp.SUM):
        for dtype in (torch.float32, torch.bfloat16):
            tensor = torch.tensor([float("nan") if rank == size - 1 else 1.0], dtype=dtype)
            dist.all_reduce(tensor, reduction)
            assert tensor.isnan().all()


@simulated_only
def case_rounded_at_every_step_in_rank_order(rank, size):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        torch.manual_seed(7)
        parts = [torch.randn(10_001, dtype=torch.float32).to(dtype) for _ in range(size)]
        tensor = parts[rank].clone()
        dist.all_reduce(tensor)
        expected = parts[0]
        for part in parts[1:]:
            expected = expected + part
        expect(tensor, expected)
        scattered = torch.empty(10_001, dtype=dtype)
        dist.reduce_scatter_tensor(scattered, torch.cat([parts[rank]] * size))
        expect(scattered, expected)


def case_moved_unchanged(rank, size):
    types = FLOATS + INTEGERS + (SMALL + OTHERS + COMPLEX if IS_SIMULATED else [])
    for dtype in types:
        value = torch.tensor([0, 1, 1, 0]).to(torch.float32).to(dtype)
        value = value if rank == 0 else torch.zeros_like(value)
        dist.broadcast(value, 0)
        expect(value.to(torch.complex64), torch.tensor([0, 1, 1, 0]).to(torch.complex64))


def case_complex(rank, size):
    tensor = torch.full((3,), complex(rank, -rank), dtype=torch.complex64)
    dist.all_reduce(tensor)
    total = sum(range(size))
    expect(tensor, torch.full((3,), complex(total, -total), dtype=torch.complex64))
    outputs = [torch.empty(3, dtype=torch.complex64) for _ in range(size)]
    dist.all_gather(outputs, torch.full((3,), complex(0, rank), dtype=torch.complex64))
    for i, output in enumerate(outputs):
        expect(output, torch.full((3,), complex(0, i), dtype=torch.complex64))


@simulated_only
def case_not_contiguous(rank, size):
    whole = torch.zeros(4, 6)
    view = whole[:, 1:4].t()
    view.fill_(rank + 1.0)
    dist.all_reduce(view)
    total = size * (size + 1) / 2
    expect(view, torch.full((3, 4), total))
    expect(whole[:, 0], torch.zeros(4))
    expect(whole[:, 4:], torch.zeros(4, 2))
    strided = torch.arange(20.0)[::2] + rank
    dist.broadcast(strided, size - 1)
    expect(strided, torch.arange(20.0)[::2] + size - 1)
    image = torch.full((2, 3, 4, 5), float(rank)).to(memory_format=torch.channels_last)
    outputs = [torch.empty(2, 3, 4, 5) for _ in range(size)]
    dist.all_gather(outputs, image)
    for i, output in enumerate(outputs):
        expect(output, torch.full((2, 3, 4, 5), float(i)))
    if rank == 0:
        dist.send(torch.arange(6.0).view(2, 3).t(), 1)
    elif rank == 1:
        received = torch.empty(2, 3).t()
        dist.recv(received, 0)
        expect(received, torch.arange(6.0).view(2, 3).t())


def case_nothing_at_all(rank, size):
    dist.all_reduce(torch.empty(0))
    dist.broadcast(torch.empty(3, 0), 0)
    outputs = [torch.empty(0) for _ in range(size)]
    dist.all_gather(outputs, torch.empty(0))


@simulated_only
def case_nothing_at_all_in_other_forms(rank, size):
    dist.all_gather_into_tensor(torch.empty(0), torch.empty(0))
    dist.reduce_scatter_tensor(torch.empty(0), torch.empty(0))
    dist.all_to_all_single(torch.empty(0), torch.empty(0))
    dist.all_to_all_single(torch.empty(0, 3), torch.empty(0, 3), [0] * size, [0] * size)
    if rank == 0:
        dist.send(torch.empty(0), 1)
    elif rank == 1:
        dist.recv(torch.empty(0), 0)


def case_scalars(rank, size):
    tensor = torch.tensor(float(rank + 1))
    dist.all_reduce(tensor)
    expect(tensor, torch.tensor(size * (size + 1) / 2))
    outputs = [torch.empty(()) for _ in range(size)]
    dist.all_gather(outputs, torch.tensor(float(rank)))
    expect(torch.stack(outputs), torch.arange(size, dtype=torch.float32))


@simulated_only
def case_gathered_scalars(rank, size):
    output = torch.empty(size)
    dist.all_gather_into_tensor(output, torch.tensor(float(rank)))
    expect(output, torch.arange(size, dtype=torch.float32))


def case_leaf_that_needs_a_gradient(rank, size):
    weight = torch.nn.Parameter(torch.full((3,), float(rank)))
    dist.broadcast(weight.data, 0)
    expect(weight.data, torch.zeros(3))
    with torch.no_grad():
        dist.all_reduce(weight)


def case_large(rank, size):
    tensor = torch.full((3_000_001,), float(rank + 1))
    dist.all_reduce(tensor)
    expect(tensor, torch.full((3_000_001,), size * (size + 1) / 2))


if __name__ == "__main__":
    run_cases(globals())
