# SPDX-License-Identifier: Apache-2.0
"""CUDA devices that are the CPU, so that tests of DDP that were written for GPUs run where there is none.

Whatever a test puts on "cuda:1" stays in main memory; streams and events do nothing. It is no simulation of a GPU: only
what a test says about the values, the collectives and the errors of its ranks means anything.
"""

import contextlib

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.overrides import TorchFunctionMode

COUNT = 8


class _OnCpu(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.to:
            args = (args[0], *(here(argument) for argument in args[1:]))
        if func is torch._C._nn._parse_to:  # Of Module.to().
            args = tuple(here(argument) for argument in args)
        if kwargs.get("device") is not None:
            kwargs["device"] = here(kwargs["device"])
        return func(*args, **kwargs)


def here(device):
    """The CPU, when `device` names a GPU; anything else as it is."""
    is_gpu = str(device).startswith("cuda") or (isinstance(device, int) and not isinstance(device, bool))
    return torch.device("cpu") if is_gpu else device


class _Nothing(contextlib.nullcontext):
    """A stream or an event."""

    def __init__(self, *_, **__):
        super().__init__()

    def __getattr__(self, name):
        return lambda *_, **__: None


def install(testing) -> None:
    """From now on, for this thread. `testing` is torch.testing._internal.common_distributed."""
    stock = DistributedDataParallel.__init__

    def init(self, module, device_ids=None, output_device=None, *rest, **options):
        stock(self, module, None, None, *rest, **options)

    DistributedDataParallel.__init__ = init
    testing.TEST_CUDA = True
    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: COUNT
    cuda.current_device = lambda: 0
    for name in ("set_device", "synchronize", "empty_cache", "manual_seed", "manual_seed_all"):
        setattr(cuda, name, lambda *_, **__: None)
    for name in ("Stream", "Event", "stream", "device", "current_stream", "default_stream"):
        setattr(cuda, name, _Nothing)
    _OnCpu().__enter__()
