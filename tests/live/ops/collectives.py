# SPDX-License-Identifier: Apache-2.0
"""Every collective function of torch.distributed, in all its forms."""

import torch
import torch.distributed as dist
from common import expect, expect_error, run_cases, simulated_only


def mine(rank, count=5):
    return torch.arange(count, dtype=torch.float32) + 10 * rank


def case_all_reduce(rank, size):
    tensor = mine(rank)
    assert dist.all_reduce(tensor) is None
    expect(tensor, sum(mine(i) for i in range(size)))


def case_all_reduce_async(rank, size):
    tensors = [mine(rank, count) for count in (1, 7, 1000)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        assert work.wait() is True
    for tensor in tensors:
        expect(tensor, sum(mine(i, tensor.numel()) for i in range(size)))


def case_all_reduce_is_a_snapshot_of_now(rank, size):
    tensor = torch.ones(3)
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    tensor.add_(1)
    expect(tensor, torch.full((3,), float(size + 1)))


def case_all_reduce_operations(rank, size):
    op = dist.ReduceOp
    for reduction, expected in (
        (op.SUM, sum(range(1, size + 1))),
        (op.PRODUCT, torch.arange(1, size + 1).prod().item()),
        (op.MIN, 1),
        (op.MAX, size),
    ):
        for dtype in (torch.float32, torch.int64, torch.float64):
            tensor = torch.full((2, 3), rank + 1, dtype=dtype)
            dist.all_reduce(tensor, reduction)
            expect(tensor, torch.full((2, 3), expected, dtype=dtype))


def case_all_reduce_bits(rank, size):
    op = dist.ReduceOp
    values = [0b1100 ^ i for i in range(size)]
    band, bor, bxor = values[0], 0, 0
    for value in values:
        band, bor, bxor = band & value, bor | value, bxor ^ value
    for reduction, expected in ((op.BAND, band), (op.BOR, bor), (op.BXOR, bxor)):
        tensor = torch.full((3,), values[rank], dtype=torch.int32)
        dist.all_reduce(tensor, reduction)
        expect(tensor, torch.full((3,), expected, dtype=torch.int32))


@simulated_only
def case_all_reduce_average(rank, size):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        tensor = torch.full((4,), 2.0 * rank, dtype=dtype)
        dist.all_reduce(tensor, dist.ReduceOp.AVG)
        expect(tensor, torch.full((4,), size - 1.0, dtype=dtype))


@simulated_only
def case_all_reduce_scaled(rank, size):
    from torch.distributed import _make_nccl_premul_sum

    for factor in (0.5, torch.tensor([0.5])):
        tensor = torch.full((4,), 2.0 * (rank + 1))
        dist.all_reduce(tensor, _make_nccl_premul_sum(factor))
        expect(tensor, torch.full((4,), size * (size + 1) / 2))


def case_all_reduce_coalesced(rank, size):
    tensors = [mine(rank, 3), mine(rank, 6).view(2, 3), mine(rank, 1)]
    expected = [sum(mine(i, t.numel()) for i in range(size)).view_as(t) for t in tensors]
    dist.all_reduce_coalesced(tensors)
    for tensor, result in zip(tensors, expected, strict=True):
        expect(tensor, result)


def case_coalescing_manager(rank, size):
    from torch.distributed.distributed_c10d import _coalescing_manager

    tensors = [mine(rank, 3), mine(rank, 5)]
    with _coalescing_manager(async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    manager.wait()
    for tensor in tensors:
        expect(tensor, sum(mine(i, tensor.numel()) for i in range(size)))


@simulated_only
def case_coalescing_manager_of_a_device(rank, size):
    from torch.distributed.distributed_c10d import _coalescing_manager

    inputs = [torch.full((2,), float(rank)), torch.full((3,), float(rank))]
    outputs = [[torch.empty_like(tensor) for _ in range(size)] for tensor in inputs]
    with _coalescing_manager(device=torch.device("cpu")):
        for output, tensor in zip(outputs, inputs, strict=True):
            dist.all_gather(output, tensor)
    for output, tensor in zip(outputs, inputs, strict=True):
        for i in range(size):
            expect(output[i], torch.full_like(tensor, float(i)))


def case_sparse_all_reduce(rank, size):
    index = torch.tensor([[rank, size]])
    tensor = torch.sparse_coo_tensor(index, torch.tensor([1.0, 2.0]), (size + 1,))
    dist.all_reduce(tensor)
    expect(tensor.to_dense(), torch.tensor([1.0] * size + [2.0 * size]))


def case_broadcast(rank, size):
    for root in range(size):
        tensor = mine(rank)
        dist.broadcast(tensor, root)
        expect(tensor, mine(root))
        work = dist.broadcast(tensor, src=root, async_op=True)
        work.wait()


def case_reduce(rank, size):
    for root in range(size):
        tensor = mine(rank)
        dist.reduce(tensor, root, dist.ReduceOp.MAX)
        if rank == root:
            expect(tensor, mine(size - 1))


def case_all_gather(rank, size):
    outputs = [torch.empty(5) for _ in range(size)]
    dist.all_gather(outputs, mine(rank))
    for i, output in enumerate(outputs):
        expect(output, mine(i))


@simulated_only
def case_all_gather_uneven(rank, size):
    outputs = [torch.empty(i + 1) for i in range(size)]
    dist.all_gather(outputs, mine(rank, rank + 1))
    for i, output in enumerate(outputs):
        expect(output, mine(i, i + 1))


def case_all_gather_into_tensor(rank, size):
    output = torch.empty(size * 5)
    dist.all_gather_into_tensor(output, mine(rank))
    expect(output, torch.cat([mine(i) for i in range(size)]))


@simulated_only
def case_all_gather_stacked(rank, size):
    stacked = torch.empty(size, 5)
    dist.all_gather_into_tensor(stacked, mine(rank))
    expect(stacked, torch.stack([mine(i) for i in range(size)]))


@simulated_only
def case_all_gather_coalesced(rank, size):
    from torch.distributed.distributed_c10d import all_gather_coalesced

    inputs = [mine(rank, 2), mine(rank, 3)]
    outputs = [[torch.empty(2), torch.empty(3)] for _ in range(size)]
    all_gather_coalesced(outputs, inputs)
    for i, (first, second) in enumerate(outputs):
        expect(first, mine(i, 2))
        expect(second, mine(i, 3))


def case_gather(rank, size):
    for root in range(size):
        outputs = [torch.empty(5) for _ in range(size)] if rank == root else None
        dist.gather(mine(rank), outputs, dst=root)
        for i, output in enumerate(outputs or []):
            expect(output, mine(i))


def case_scatter(rank, size):
    for root in range(size):
        output = torch.empty(5)
        inputs = [mine(i) * (root + 1) for i in range(size)] if rank == root else None
        dist.scatter(output, inputs, src=root)
        expect(output, mine(rank) * (root + 1))


def case_reduce_scatter(rank, size):
    output = torch.empty(5)
    dist.reduce_scatter(output, [mine(rank) * (i + 1) for i in range(size)])
    expect(output, sum(mine(i) * (rank + 1) for i in range(size)))


@simulated_only
def case_reduce_scatter_uneven(rank, size):
    output = torch.empty(rank + 1)
    dist.reduce_scatter(output, [mine(rank, i + 1) for i in range(size)])
    expect(output, sum(mine(i, rank + 1) for i in range(size)))


def case_reduce_scatter_tensor(rank, size):
    whole = torch.cat([mine(rank) * (i + 1) for i in range(size)])
    output = torch.empty(5)
    dist.reduce_scatter_tensor(output, whole)
    expect(output, sum(mine(i) * (rank + 1) for i in range(size)))


@simulated_only
def case_reduce_scatter_tensor_average(rank, size):
    output = torch.empty(2)
    dist.reduce_scatter_tensor(output, torch.full((2 * size,), 2.0 * rank), dist.ReduceOp.AVG)
    expect(output, torch.full((2,), size - 1.0))


def case_all_to_all_single(rank, size):
    whole = torch.cat([torch.full((2,), 100.0 * rank + i) for i in range(size)])
    output = torch.empty_like(whole)
    dist.all_to_all_single(output, whole)
    expect(output, torch.cat([torch.full((2,), 100.0 * i + rank) for i in range(size)]))


def case_all_to_all_single_uneven(rank, size):
    # Rank r sends r + i + 1 rows to rank i.
    rows = [rank + i + 1 for i in range(size)]
    whole = torch.cat([torch.full((count, 3), 100.0 * rank + i) for i, count in enumerate(rows)])
    output = torch.empty(sum(rows), 3)
    dist.all_to_all_single(output, whole, rows, rows)
    expect(output, torch.cat([torch.full((count, 3), 100.0 * i + rank) for i, count in enumerate(rows)]))


def case_all_to_all_single_with_nothing_for_some(rank, size):
    splits_in = [4 if i == (rank + 1) % size else 0 for i in range(size)]
    splits_out = [4 if i == (rank - 1) % size else 0 for i in range(size)]
    output = torch.empty(4)
    dist.all_to_all_single(output, torch.full((4,), float(rank)), splits_out, splits_in)
    expect(output, torch.full((4,), float((rank - 1) % size)))


@simulated_only
def case_all_to_all(rank, size):
    inputs = [torch.full((rank + i + 1,), 10.0 * rank + i) for i in range(size)]
    outputs = [torch.empty(rank + i + 1) for i in range(size)]
    dist.all_to_all(outputs, inputs)
    for i, output in enumerate(outputs):
        expect(output, torch.full((rank + i + 1,), 10.0 * i + rank))


def case_barriers(rank, size):
    dist.barrier()
    dist.barrier(async_op=True).wait()
    dist.monitored_barrier()


def case_polling(rank, size):
    tensor = mine(rank)
    work = dist.all_reduce(tensor, async_op=True)
    polls = 0
    while not work.is_completed():
        polls += 1
    assert work.is_success()
    expect(tensor, sum(mine(i) for i in range(size)))


def case_dropped_work_still_lands(rank, size):
    tensor = mine(rank)
    dist.all_reduce(tensor, async_op=True)
    for _ in range(3):
        dist.barrier()
    expect(tensor, sum(mine(i) for i in range(size)))


def case_wrong_arguments(rank, size):
    group = dist.group.WORLD
    expect_error(ValueError, "", dist.all_gather, [torch.empty(2, dtype=torch.int64)] * size, torch.ones(2))
    expect_error(RuntimeError, "", dist.all_gather, [torch.empty(2)] * (size + 1), torch.ones(2))
    expect_error(RuntimeError, "", dist.all_gather_into_tensor, torch.empty(2 * size + 1), torch.ones(2))
    expect_error(RuntimeError, "", dist.reduce_scatter_tensor, torch.empty(2), torch.ones(2 * size + 1))
    expect_error(RuntimeError, "", group.broadcast, [torch.ones(1), torch.ones(2)])
    splits = [1] * (size + 1)
    expect_error(RuntimeError, "split", dist.all_to_all_single, torch.empty(size), torch.ones(size), None, splits)
    if rank == 0:
        expect_error(ValueError, "", dist.gather, torch.ones(2), None, 0)
    dist.barrier()


@simulated_only
def case_reductions_without_meaning(rank, size):
    expect_error(RuntimeError, "non-integral", dist.all_reduce, torch.ones(2), dist.ReduceOp.BAND)
    expect_error(RuntimeError, "Boolean", dist.all_reduce, torch.ones(2, dtype=torch.bool), dist.ReduceOp.AVG)


if __name__ == "__main__":
    run_cases(globals())
