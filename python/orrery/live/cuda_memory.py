# SPDX-License-Identifier: Apache-2.0
"""What torch.cuda and torch.accelerator say about memory, and storages that were saved on a device."""

from types import ModuleType, SimpleNamespace


def install(library: ModuleType, device: SimpleNamespace) -> None:
    import torch

    cuda = torch.cuda

    def index_of(which=None) -> int:
        return cuda._utils._get_device_index(which, optional=True)

    def nested(index: int) -> dict:
        now, peak, reserved, made, freed = library.memory(index)
        size = {"current": now, "peak": peak, "allocated": 0, "freed": 0}
        held = {"current": reserved, "peak": reserved, "allocated": 0, "freed": 0}
        count = {"current": made - freed, "peak": made - freed, "allocated": made, "freed": freed}
        return {
            **{name: {"all": size} for name in ("allocated_bytes", "active_bytes", "requested_bytes")},
            "reserved_bytes": {"all": held},
            **{name: {"all": count} for name in ("allocation", "active", "segment")},
            "num_alloc_retries": 0,
            "num_ooms": 0,
        }

    def info(which=None) -> tuple[int, int]:
        return device.memory - library.memory(index_of(which))[0], device.memory

    bindings = torch._C
    bindings._cuda_memoryStats = nested
    bindings._cuda_resetPeakMemoryStats = library.reset_peak
    bindings._cuda_resetAccumulatedMemoryStats = lambda _index: None
    bindings._cuda_emptyCache = library.empty_cache
    bindings._cuda_getAllocatorBackend = lambda: "native"
    bindings._cuda_cudaCachingAllocator_is_enabled = lambda: True
    limits = SimpleNamespace(fraction=1.0)

    def set_fraction(fraction, _index) -> None:
        limits.fraction = fraction
        library.set_memory_limit(int(device.memory * fraction))

    bindings._cuda_setMemoryFraction = set_fraction
    bindings._cuda_getMemoryFraction = lambda _index: limits.fraction
    for module in (cuda, cuda.memory):
        module.mem_get_info = info
    answers = {
        "empty_cache": library.empty_cache,
        "memory_stats": cuda.memory_stats,
        "memory_allocated": cuda.memory_allocated,
        "max_memory_allocated": cuda.max_memory_allocated,
        "memory_reserved": cuda.memory_reserved,
        "max_memory_reserved": cuda.max_memory_reserved,
        "reset_accumulated_memory_stats": lambda which=None: None,
        "reset_peak_memory_stats": lambda which=None: library.reset_peak(index_of(which)),
        "get_memory_info": info,
    }
    for module in (torch.accelerator, getattr(torch.accelerator, "memory", None)):
        for name, answer in answers.items():
            if hasattr(module, name):
                setattr(module, name, answer)
    install_storages(torch, library)


def install_storages(torch: ModuleType, library: ModuleType) -> None:
    resize, create = torch.UntypedStorage.resize_, torch.UntypedStorage.__new__

    def resize_(self, size):
        if self.device.type != "cuda":
            return resize(self, size)
        library.resize_storage(torch.empty(0, dtype=torch.uint8, device=self.device).set_(self), int(size))
        return self

    def new(cls, *sizes, device=None, **named):
        where = torch.device(device) if device is not None else None
        if where is None or where.type != "cuda" or len(sizes) != 1 or not isinstance(sizes[0], int):
            return create(cls, *sizes, **({} if device is None else {"device": device}), **named)
        return torch.empty(sizes[0], dtype=torch.uint8, device=where).untyped_storage()

    def tag(storage):
        return f"cuda:{storage.device.index}" if storage.device.type == "cuda" else None

    def restore(storage, location):
        if not location.startswith("cuda"):
            return None
        where = torch.device(location)
        index = library.get_device() if where.index is None else where.index
        if index >= torch.cuda.device_count():
            raise RuntimeError(
                f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is "
                f"{torch.cuda.device_count()}. Please use torch.load with map_location to map your storages "
                "to an existing device."
            )
        target = torch.empty(storage.nbytes(), dtype=torch.uint8, device=torch.device("cuda", index))
        if storage.nbytes() > 0:
            target.copy_(torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage))
        return target.untyped_storage()

    torch.UntypedStorage.resize_ = resize_
    torch.UntypedStorage.__new__ = new
    torch.serialization.register_package(15, tag, restore)
