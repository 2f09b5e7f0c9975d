# SPDX-License-Identifier: Apache-2.0
"""What stands around the collectives of a program: threads, loaders, profilers, the compiler, other backends' names."""

import os
import threading

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from common import IS_SIMULATED, expect, run_cases, simulated_only
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, TensorDataset

os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
dist.set_debug_level_from_env()


def case_another_thread(rank, size):
    tensors = [torch.full((3,), float(i + 1)) for i in range(3)]
    for tensor in tensors:
        thread = threading.Thread(target=dist.all_reduce, args=(tensor,))
        thread.start()
        thread.join()
    for i, tensor in enumerate(tensors):
        expect(tensor, torch.full((3,), float(size * (i + 1))))


def case_loader_with_workers(rank, size):
    loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2, num_workers=1)
    expect(sum(batch[0].sum().item() for batch in loader), 28.0)


def case_profiler(rank, size):
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        dist.all_reduce(torch.ones(5))
    names = {event.key for event in recorded.key_averages()}
    assert f"{dist.get_backend()}:all_reduce" in names, names


def case_compiled(rank, size):
    step = torch.compile(lambda x: functional.all_reduce(x * 2, "sum", dist.group.WORLD) + 1, backend="aot_eager")
    expect(step(torch.ones(2)), torch.full((2,), 2.0 * size + 1))


def case_nothing_is_charged_to_gradients(rank, size):
    weight = torch.ones(3, requires_grad=True)
    product = weight * 2
    with torch.no_grad():
        dist.all_reduce(product)
    expect(product.detach(), torch.full((3,), 2.0 * size))


@simulated_only
def case_other_names(rank, size):
    for name in (None, "gloo", "cpu:gloo,cuda:nccl", "nccl"):
        dist.destroy_process_group()
        dist.init_process_group(name)
        expect(dist.get_backend(), name or "undefined")
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
        net(torch.ones(1, 2)).sum().backward()


if __name__ == "__main__":
    run_cases(globals(), "nccl" if IS_SIMULATED else "gloo")
