# SPDX-License-Identifier: Apache-2.0
"""Messages between two ranks, objects, and what a receive knows."""

import torch
import torch.distributed as dist
from common import expect, expect_error, run_cases, simulated_only


def case_ring(rank, size):
    tensor = torch.full((3,), float(rank))
    received = torch.empty(3)
    if rank % 2 == 0:
        dist.send(tensor, (rank + 1) % size)
        dist.recv(received, (rank - 1) % size)
    else:
        dist.recv(received, (rank - 1) % size)
        dist.send(tensor, (rank + 1) % size)
    expect(received, torch.full((3,), float((rank - 1) % size)))


def case_a_short_message_fills_the_beginning(rank, size):
    if rank == 0:
        dist.send(torch.arange(3.0), 1)
    elif rank == 1:
        received = torch.full((5,), -1.0)
        dist.recv(received, 0)
        expect(received, torch.tensor([0.0, 1.0, 2.0, -1.0, -1.0]))


def case_async_in_any_order(rank, size):
    received = torch.empty(3)
    works = [dist.irecv(received, (rank - 1) % size), dist.isend(torch.full((3,), float(rank)), (rank + 1) % size)]
    for work in works:
        work.wait()
    expect(received, torch.full((3,), float((rank - 1) % size)))


def case_batch(rank, size):
    left, right = (rank - 1) % size, (rank + 1) % size
    from_left, from_right = torch.empty(2), torch.empty(2)
    operations = [
        dist.P2POp(dist.isend, torch.full((2,), float(rank)), right),
        dist.P2POp(dist.irecv, from_left, left),
        dist.P2POp(dist.isend, torch.full((2,), -float(rank)), left, tag=1),
        dist.P2POp(dist.irecv, from_right, right, tag=1),
    ]
    if rank % 2:
        operations.reverse()
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    expect(from_left, torch.full((2,), float(left)))
    expect(from_right, torch.full((2,), -float(right)))


def case_tags(rank, size):
    if rank == 0:
        works = [dist.isend(torch.tensor([float(tag)]), 1, tag=tag) for tag in (3, 1, 2)]
        for work in works:
            work.wait()
    elif rank == 1:
        for tag in (1, 2, 3):
            received = torch.empty(1)
            dist.recv(received, 0, tag=tag)
            expect(received, torch.tensor([float(tag)]))


def case_from_anybody(rank, size):
    if rank == 0:
        seen = set()
        for _ in range(size - 1):
            received = torch.empty(1)
            source = dist.recv(received)
            expect(received, torch.tensor([float(source)]))
            seen.add(source)
        expect(seen, set(range(1, size)))
    else:
        dist.send(torch.tensor([float(rank)]), 0)
    dist.barrier()


def case_many_in_order(rank, size):
    if rank == 0:
        for i in range(50):
            dist.send(torch.tensor([i]), 1)
    elif rank == 1:
        for i in range(50):
            received = torch.empty(1, dtype=torch.int64)
            dist.recv(received, 0)
            expect(received, torch.tensor([i]))


def case_sent_before_changed(rank, size):
    if rank == 0:
        tensor = torch.ones(1000)
        work = dist.isend(tensor, 1)
        work.wait()
        tensor.zero_()
    elif rank == 1:
        received = torch.empty(1000)
        dist.recv(received, 0)
        expect(received, torch.ones(1000))


def case_objects(rank, size):
    mine = {"rank": rank, "list": list(range(rank)), "tensor": torch.full((rank + 1,), float(rank))}
    gathered = [None] * size
    dist.all_gather_object(gathered, mine)
    for i, value in enumerate(gathered):
        expect((value["rank"], value["list"]), (i, list(range(i))))
        expect(value["tensor"], torch.full((i + 1,), float(i)))
    shared = ["hello", {"a": 1}, rank] if rank == 0 else [None] * 3
    dist.broadcast_object_list(shared, src=0)
    expect(shared, ["hello", {"a": 1}, 0])
    collected = [None] * size if rank == size - 1 else None
    dist.gather_object(("from", rank), collected, dst=size - 1)
    if collected is not None:
        expect(collected, [("from", i) for i in range(size)])
    scattered = [None]
    dist.scatter_object_list(scattered, [f"for {i}" for i in range(size)] if rank == 0 else None, src=0)
    expect(scattered, [f"for {rank}"])


def case_object_lists(rank, size):
    if rank == 0:
        dist.send_object_list(["x", 7], dst=1)
    elif rank == 1:
        received = [None, None]
        dist.recv_object_list(received, src=0)
        expect(received, ["x", 7])


@simulated_only
def case_source_rank(rank, size):
    if rank == 0:
        work = dist.group.WORLD.recv_anysource([torch.empty(1)], 9)
        work.wait()
        expect(work._source_rank(), 1)
    elif rank == 1:
        dist.send(torch.ones(1), 0, tag=9)


def case_wrong_arguments(rank, size):
    expect_error(ValueError, "", dist.send, torch.ones(1), rank)
    expect_error((ValueError, RuntimeError), "", dist.isend, torch.ones(1), (rank + 1) % size, None, -1)


if __name__ == "__main__":
    run_cases(globals())
