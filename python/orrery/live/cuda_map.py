# SPDX-License-Identifier: Apache-2.0
"""`orrery run --device-map cuda=cpu`: CUDA devices for programs where there are none.

The devices are genuine to torch: a small library (cuda/) gives it tensors, streams, events and generators of device
type "cuda" whose memory and kernels are the CPU's. It is loaded before torch is imported, as torch asks only once
whether there is CUDA. What is left for Python is torch.cuda itself, whose C part a torch without CUDA does not have.
"""

import ctypes
import functools
import importlib.machinery
import importlib.util
import json
import os
import sys
from types import ModuleType


@functools.cache
def settings() -> dict | None:
    """What the coordinator says about the devices; None: no map."""
    text = os.environ.get("ORRERY_DEVICE_MAP", "")
    return json.loads(text) if text else None


@functools.cache
def _path() -> str:
    from . import build_shim

    return str(build_shim.ensure_shim(build_shim.CUDA))


def load() -> None:
    """Before torch is imported."""
    if settings() is None:
        return
    from . import build_shim

    torch = sys.modules.get("torch")
    version: dict = {}
    exec((build_shim.find_torch().folder / "version.py").read_text(), version)
    if version.get("cuda") or version.get("hip"):
        raise build_shim.ShimError(
            f"--device-map cuda=cpu needs a torch without CUDA (torch {version['__version__']} has its own): install "
            "the CPU build of torch into the environment, or choose another interpreter with --python"
        )
    if torch is None:
        ctypes.CDLL(_path())


@functools.cache
def library() -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader("orrery_cuda", _path())
    spec = importlib.util.spec_from_file_location("orrery_cuda", _path(), loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def environment(rank: int) -> dict:
    """Where torchrun would say that this rank is: on a host of the simulated cluster."""
    if settings() is None:
        return {}
    host, local, ranks, _, _ = settings()["ranks"][rank]
    return {
        "LOCAL_RANK": local,
        "LOCAL_WORLD_SIZE": ranks,
        "GROUP_RANK": host,
        "GROUP_WORLD_SIZE": settings()["hosts"],
    }


_is_installed = False


def install() -> None:
    """When torch is there."""
    global _is_installed
    if settings() is None or _is_installed or "torch" not in sys.modules:
        return
    _is_installed = True
    from . import cuda_bindings, cuda_fake, cuda_parts

    cuda_bindings.install(library())
    describe(0)  # Programs that start their own ranks ask before they are ranks.
    cuda_fake.share_objects_on_host()
    if settings()["fake"]:
        cuda_fake.install(library())
    cuda_parts.install(library())


def describe(rank: int) -> None:
    """Sets the devices of the host on which this rank is."""
    from . import cuda_bindings

    _, _, _, count, kind = settings()["ranks"][rank]
    device = settings()["devices"][kind]
    library().set_device_count(count)
    library().set_memory_limit(device["memory"])
    cuda_bindings.describe(device["name"], device["memory"], count)


def begin_rank(rank: int) -> None:
    """In the process that will be this rank, before its time begins."""
    if settings() is None or not _is_installed:
        return
    import torch

    describe(rank)
    # Backward runs on the thread that calls it, as it does for the CPU: the engine starts no threads for devices.
    torch._C._set_multithreading_enabled(False)
    library().set_engine_starting(True)
    torch.ones(1, requires_grad=True).sum().backward()
    library().set_engine_starting(False)


def explain(problem: BaseException) -> bool:
    """One line for what the map does not have; True when that was it."""
    text = str(problem)
    if settings() is None or not text.startswith("orrery --"):
        return False
    from . import cuda_bindings

    where = cuda_bindings.place_of(problem)
    print(f"orrery: {where + ': ' if where else ''}{text.removeprefix('orrery ')}", file=sys.stderr)
    return True


def begin_queues() -> None:
    if settings() is not None and _is_installed:
        library().begin_queues()
