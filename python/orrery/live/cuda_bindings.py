# SPDX-License-Identifier: Apache-2.0
"""torch.cuda for simulated devices: the functions that torch's C part has where it was built with CUDA.

What is not here raises an error that names it and the line of the program that asked for it.
"""

import os
import sys
from types import ModuleType, SimpleNamespace

#: What `torch.version.cuda` says; programs compare it before they use bf16 or NCCL.
CUDA_VERSION = "12.8"
#: Compute capability by the beginning of the catalogue's name (NVIDIA CUDA GPUs page; AMD's gfx942 for MI300X).
CAPABILITIES = {"a100": (8, 0), "h100": (9, 0), "gb200": (10, 0), "jetson_orin": (8, 7), "mi300x": (9, 4)}
MULTIPROCESSORS = {"a100": 108, "h100": 132, "gb200": 148, "jetson_orin": 8, "mi300x": 304}  # Architecture papers.
NO_LIMIT = 1 << 40  #: Memory of a device whose description does not say.

_device = SimpleNamespace(name="cpu", memory=0, count=1)


class NotSimulated(AttributeError):
    """Raised for parts of CUDA that the map does not have. An AttributeError, so that hasattr() says no."""


def describe(name: str, memory: int, count: int) -> None:
    """What this rank's devices are."""
    _device.name, _device.memory, _device.count = name or "cpu", memory or NO_LIMIT, count


def _by_name(table: dict, other):
    return next((value for start, value in table.items() if _device.name.startswith(start)), other)


def properties(_device_index: int = 0) -> SimpleNamespace:
    major, minor = _by_name(CAPABILITIES, (8, 0))
    return SimpleNamespace(
        name=_device.name,
        major=major,
        minor=minor,
        total_memory=_device.memory,
        multi_processor_count=_by_name(MULTIPROCESSORS, 1),
        is_integrated=0,
        is_multi_gpu_board=0,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=49152,
        warp_size=32,
        gcnArchName=_device.name,
        L2_cache_size=0,
        uuid="00000000-0000-0000-0000-000000000000",
    )


def is_foreign(name: str) -> bool:
    """Whether a file is torch's, Python's or ours."""
    torch = os.path.dirname(sys.modules["torch"].__file__)
    here = os.path.dirname(os.path.abspath(__file__))
    return name.startswith((torch, here, os.path.dirname(os.__file__), "<frozen"))


def place_of(problem: BaseException) -> str:
    """The innermost line of the program that led to it."""
    found, trace = "", problem.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not is_foreign(name):
            found = f"{os.path.basename(name)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def not_simulated(what: str) -> NotSimulated:
    return NotSimulated(f"orrery --device-map cuda=cpu: {what} is not simulated")


def refusing(what: str):
    def refuse(*_, **__):
        raise not_simulated(what)

    return refuse


def install(library: ModuleType) -> None:
    import torch

    from . import cuda_memory, cuda_streams

    bindings, cuda = torch._C, torch.cuda
    nothing = lambda *_, **__: None  # noqa: E731
    given = {
        "_cuda_init": nothing,
        "_cuda_isInBadFork": lambda: False,
        "_cuda_getDeviceCount": lambda: _device.count,
        "_cuda_getDevice": library.get_device,
        "_cuda_setDevice": library.set_device,
        "_cuda_exchangeDevice": lambda index: exchange(library, index),
        "_cuda_maybeExchangeDevice": lambda index: exchange(library, index),
        "_cuda_hasPrimaryContext": lambda _index: True,
        "_cuda_synchronize": library.synchronize,
        "_cuda_getCompiledVersion": lambda: 12080,
        "_cuda_getArchFlags": lambda: " ".join("sm_{}{}".format(*pair) for pair in CAPABILITIES.values()),
        "_cuda_canDeviceAccessPeer": lambda _first, _second: True,
        "_cuda_ipc_collect": nothing,
        "_cuda_isCurrentStreamCapturing": lambda: False,
        "_cuda_get_sync_debug_mode": lambda: 0,
        "_cuda_set_sync_debug_mode": nothing,
        "_cuda_clearCublasWorkspaces": nothing,
        "_cuda_sleep": refusing("torch.cuda._sleep()"),
        "_cuda_cudaHostAllocator": nothing,
        "_has_cuda": True,
    }
    for name, value in given.items():
        setattr(bindings, name, value)
    bindings.__getattr__ = missing
    torch.version.cuda = CUDA_VERSION
    cuda._exchange_device = given["_cuda_exchangeDevice"]
    cuda._maybe_exchange_device = given["_cuda_maybeExchangeDevice"]
    cuda._get_device_properties = properties
    cuda.get_device_properties = lambda device=None: properties()
    cuda.get_device_name = lambda device=None: _device.name
    cuda.get_device_capability = lambda device=None: (properties().major, properties().minor)
    cuda.device_count = lambda: _device.count
    cuda.is_available = lambda: True
    cuda._lazy_init = lambda: initialize(cuda)
    cuda.default_generators = Generators(library)
    cuda.cudart = refusing("torch.cuda.cudart()")
    for name in ("utilization", "temperature", "power_draw", "clock_rate", "memory_usage", "device_memory_used"):
        setattr(cuda, name, refusing(f"torch.cuda.{name}()"))
    cuda_streams.install(library)
    cuda_memory.install(library, _device)
    initialize(cuda)


def exchange(library: ModuleType, index: int) -> int:
    before = library.get_device()
    if index >= 0:
        library.set_device(index)
    return before


def initialize(cuda: ModuleType) -> None:
    """Seeds that were set before CUDA was used wait for this."""
    cuda._initialized = True
    waiting = list(cuda._queued_calls)
    cuda._queued_calls.clear()
    for call, _ in waiting:
        if getattr(call, "__name__", "") not in ("_check_capability", "_check_cubins"):
            call()


def missing(name: str):
    if "cuda" in name.lower() or name.startswith("_nccl"):
        raise not_simulated(f"torch._C.{name}")
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")


class Generators:
    """torch.cuda.default_generators, of as many devices as the rank's host has."""

    def __init__(self, library: ModuleType):
        self._library = library

    def __len__(self) -> int:
        return _device.count

    def __getitem__(self, index: int):
        return self._library.default_generator(index)

    def __iter__(self):
        return (self[index] for index in range(len(self)))
