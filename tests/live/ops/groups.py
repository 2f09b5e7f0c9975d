# SPDX-License-Identifier: Apache-2.0
"""Groups: names, members, ranks in them, meshes; and what the program is told about its backend."""

from datetime import timedelta

import torch
import torch.distributed as dist
from common import IS_SIMULATED, expect, expect_error, run_cases, simulated_only


def case_who_we_are(rank, size):
    expect(dist.get_backend(), "gloo")
    assert dist.is_initialized() and dist.is_gloo_available()
    expect(dist.get_process_group_ranks(dist.group.WORLD), list(range(size)))


@simulated_only
def case_what_the_cluster_has(rank, size):
    assert dist.is_nccl_available() and dist.is_mpi_available()
    assert dist.is_backend_available("nccl") and not dist.is_backend_available("no_such_backend")
    expect(dist.get_backend_config(), "cpu:gloo,cuda:gloo")
    dist.ProcessGroupNCCL.Options()


def case_pairs(rank, size):
    groups = [dist.new_group([i, (i + 1) % size]) for i in range(size)]
    for i, group in enumerate(groups):
        members = sorted({i, (i + 1) % size})
        tensor = torch.tensor([float(rank)])
        if rank in members:
            dist.all_reduce(tensor, group=group)
            expect(tensor, torch.tensor([float(sum(members))]))
            expect(dist.get_group_rank(group, rank), members.index(rank))


def case_group_of_one(rank, size):
    for i in range(size):
        group = dist.new_group([i])
        if rank == i:
            tensor = torch.tensor([3.0])
            dist.all_reduce(tensor, group=group)
            expect(tensor, torch.tensor([3.0]))
            dist.barrier(group)


def case_roots_are_ranks_of_the_world(rank, size):
    members = list(range(1, size))
    group = dist.new_group(members)
    if rank in members:
        tensor = torch.tensor([float(rank)])
        dist.broadcast(tensor, src=members[-1], group=group)
        expect(tensor, torch.tensor([float(members[-1])]))
        dist.broadcast(tensor, group=group, group_src=0)
        if len(members) > 1:
            outputs = [torch.empty(1) for _ in members] if rank == members[0] else None
            dist.gather(torch.tensor([float(rank)]), outputs, dst=members[0], group=group)
            if outputs:
                expect(torch.cat(outputs), torch.tensor([float(m) for m in members]))
            if rank == members[0]:
                dist.send(torch.ones(1), members[1], group=group)
            elif rank == members[1]:
                received = torch.zeros(1)
                dist.recv(received, members[0], group=group)
                expect(received, torch.ones(1))


def case_names_of_backends(rank, size):
    for name in ["gloo", "cpu:gloo"] + (["nccl", "mpi", "ucc", "cpu:gloo,cuda:nccl"] if IS_SIMULATED else []):
        group = dist.new_group(list(range(size)), backend=name)
        tensor = torch.ones(2)
        dist.all_reduce(tensor, group=group)
        expect(tensor, torch.full((2,), float(size)))
        expect(dist.get_backend(group), name)
        dist.destroy_process_group(group)


def case_unknown_backend(rank, size):
    expect_error((ValueError, AssertionError), "", dist.new_group, list(range(size)), backend="no_such_backend")
    dist.barrier()


def case_subgroups(rank, size):
    if size % 2:
        return
    group, _ = dist.new_subgroups(2)
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=group)
    first = rank // 2 * 2
    expect(tensor, torch.tensor([2.0 * first + 1]))


def case_mesh(rank, size):
    from torch.distributed.device_mesh import init_device_mesh

    if size % 2:
        return
    mesh = init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("outer", "inner"))
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=mesh.get_group("inner"))
    expect(tensor, torch.tensor([2.0 * (rank // 2 * 2) + 1]))
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=mesh.get_group("outer"))
    expect(tensor, torch.tensor([float(sum(range(rank % 2, size, 2)))]))


def case_groups_overlap_in_time(rank, size):
    other = dist.new_group(list(range(size)))
    first, second = torch.ones(10), torch.full((10,), 2.0)
    works = [dist.all_reduce(first, async_op=True), dist.all_reduce(second, group=other, async_op=True)]
    for work in reversed(works):
        work.wait()
    expect(first, torch.full((10,), float(size)))
    expect(second, torch.full((10,), 2.0 * size))


def case_timeouts_can_be_set(rank, size):
    dist.distributed_c10d._set_pg_timeout(timedelta(minutes=7))
    group = dist.new_group(list(range(size)), timeout=timedelta(seconds=90))
    dist.barrier(group)


@simulated_only
def case_split(rank, size):
    group = dist.group.WORLD.split_group(list(range(size - 1)), group_name="most") if size > 1 else None
    if rank < size - 1:
        tensor = torch.ones(1)
        group.allreduce([tensor]).wait()
        expect(tensor, torch.tensor([float(size - 1)]))


if __name__ == "__main__":
    run_cases(globals())
