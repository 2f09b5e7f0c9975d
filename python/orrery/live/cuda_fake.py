# SPDX-License-Identifier: Apache-2.0
"""`--compute fake`: the program's CUDA tensors have sizes and no data, so that models that fit no machine run here.

What the program computes on the CPU is real: loaders, samplers, seeds, objects that ranks send each other. Only values
of the device cannot be had; asking for one ends the run at the line that asks.
"""

from types import ModuleType


def install(library: ModuleType) -> None:
    import torch
    import torch._meta_registrations  # noqa: F401  Shapes of operators whose C++ part does not tell them.

    library.set_fake()
    save = torch.save

    def save_data(thing, *rest, **options):
        if has_cuda(torch, thing):
            raise NotImplementedError("orrery --compute fake: torch.save() needs values; tensors have none in this run")
        return save(thing, *rest, **options)

    torch.save = save_data
    keep_buckets(library)


def keep_buckets(library: ModuleType) -> None:
    """DDP sends the order of its buckets through the device to all ranks. It does not depend on values, so each rank
    has it already."""
    import torch.distributed as dist

    rebuild = dist.Reducer._rebuild_buckets

    def rebuild_buckets(self):
        library.keep_host_values(True)
        try:
            return rebuild(self)
        finally:
            library.keep_host_values(False)

    dist.Reducer._rebuild_buckets = rebuild_buckets


def has_cuda(torch: ModuleType, thing: object) -> bool:
    if isinstance(thing, torch.Tensor):
        return thing.is_cuda
    if isinstance(thing, dict):
        return any(has_cuda(torch, part) for part in thing.values())
    return isinstance(thing, (list, tuple)) and any(has_cuda(torch, part) for part in thing)


def share_objects_on_host() -> None:
    """With or without data, so that both take the same time: objects, and what DDP compares before it starts."""
    import torch
    import torch.distributed as dist
    from torch.distributed import distributed_c10d

    distributed_c10d._get_object_coll_device = lambda group=None: "cpu"
    verify = dist._verify_params_across_processes

    def verify_shapes(group, tensors, logger=None):
        verify(group, [torch.empty(()).expand(tensor.shape) for tensor in tensors], logger)

    dist._verify_params_across_processes = verify_shapes
