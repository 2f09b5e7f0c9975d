# SPDX-License-Identifier: Apache-2.0
"""Puts the simulated cluster under torch.distributed: the program notices nothing.

Whatever backend the program asks for (gloo, nccl, mpi, ucc, "cpu:gloo,cuda:nccl", none), it gets ours, registered as
a custom one; the names it sees stay those it asked for. Stores and rendezvous go through the coordinator, so that
whoever waits in them waits in virtual time. is_nccl_available() and is_mpi_available() say yes: to the program this
is a cluster that has them. A name that torch does not know gives torch's own error.

Nothing happens unless the process runs under `orrery run`. Standard library only, and importable from anywhere: it is
loaded into programs that need not have Orrery in their own environment.
"""

import atexit
import contextlib
import ctypes
import functools
import importlib.machinery
import importlib.util
import multiprocessing.process
import multiprocessing.util
import os
import sys
import sysconfig
from datetime import timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from urllib.parse import parse_qs, urlparse

from . import cuda_map

HERE = Path(__file__).resolve().parent
NAME = "orrery"
#: Backends that become ours. Others (fake, a third party's) are left alone.
REPLACED = ("gloo", "nccl", "mpi", "ucc")
NCCL_TIMEOUT = timedelta(minutes=10)
NCCL_VERSION = (2, 27, 3)  #: What a torch without NCCL says it has.


# ---- the rank library ----------------------------------------------------------------------------------------------


@functools.cache
def library() -> ctypes.CDLL | None:
    """The rank library, which is preloaded; None when it is not there."""
    found = ctypes.CDLL(None, use_errno=True)
    if not hasattr(found, "orrery_rank_is_live"):
        return None
    found.orrery_rank_reason.restype = ctypes.c_char_p
    found.orrery_operator_begin.argtypes = [ctypes.c_uint64]
    return found


def is_live() -> bool:
    return library() is not None and bool(library().orrery_rank_is_live())


def is_joined() -> bool:
    return bool(library().orrery_rank_is_joined())


def join(rank: int, world: int) -> None:
    """Makes this process a rank, unless it is one; it then sleeps until the simulation begins it."""
    if is_joined():
        return
    cuda_map.begin_rank(rank)
    if library().orrery_rank_join(rank, world) != 0:
        code = ctypes.get_errno()
        reason = library().orrery_rank_reason().decode(errors="replace") or os.strerror(code)
        raise RuntimeError(f"orrery: rank {rank} of {world} cannot join the simulation: {reason}")
    leave_at_exit()
    cuda_map.begin_queues()
    observe()
    if library().orrery_is_measured():
        from . import imports

        imports.watch(library().orrery_operator_begin, library().orrery_operator_end)


def try_join(rank: int | None = None, world: int | None = None) -> bool:
    """Joins when it is known who we are: from the arguments, else from the environment."""
    if is_joined():
        return True
    number = os.environ.get("RANK") if rank is None else rank
    count = os.environ.get("WORLD_SIZE") if world is None else world
    if number in (None, "", -1) or count in (None, "", -1):
        return False
    join(int(number), int(count))
    return True


#: What the program exits with, as soon as whoever runs it knows: the rank then need not wait for Python to shut down.
exit_status: int | None = None


def leave_at_exit() -> None:
    """The C library knows the exit status, whatever way the program ends; Python's own shutdown costs no time."""
    libc = ctypes.CDLL(None)
    libc.on_exit(ctypes.cast(library().orrery_rank_leave, ctypes.c_void_p), None)
    atexit.register(end_program)  # The first to be registered is the last to be called.
    if multiprocessing.process.parent_process() is not None:  # Those may end in os._exit().
        multiprocessing.util.Finalize(None, lambda: library().orrery_rank_leave(status_now()), exitpriority=-100)


def end_program() -> None:
    """After this, only Python's shutdown is left. Meanwhile the others would wait for us: a second with torch."""
    library().orrery_pause()
    if exit_status is not None:
        library().orrery_rank_leave(exit_status)


def status_now() -> int:
    """The exit status that the exception in flight will give."""
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return int(error is not None)


# ---- the shim ------------------------------------------------------------------------------------------------------


@functools.cache
def shim() -> ModuleType:
    """The C++ part, compiled for this torch; $ORRERY_SHIM names it, if it fits."""
    from . import build_shim

    chosen = os.environ.get("ORRERY_SHIM", "")
    fits = Path(chosen).name.startswith(build_shim.prefix(build_shim.find_torch()))
    path = chosen if fits and os.path.exists(chosen) else str(build_shim.ensure_shim())
    loader = importlib.machinery.ExtensionFileLoader(build_shim.MODULE, path)
    spec = importlib.util.spec_from_file_location(build_shim.MODULE, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    torch_folder = Path(sys.modules["torch"].__file__).parent
    ours = (HERE, os.path.dirname(os.path.abspath(__file__)))  # Also as it is linked.
    module.set_foreign([f"{folder}/" for folder in (torch_folder, *ours, sysconfig.get_paths()["stdlib"])])
    return module


def observe() -> None:
    """Reports operators of torch from now on, if torch is there and somebody wants to know."""
    if is_joined() and "torch" in sys.modules and getattr(sys.modules["torch"], "_orrery_patched", False):
        follow_data()
        shim().observe()


@functools.cache
def follow_data() -> None:
    """For --dataflow: notes which operators need what came from other ranks."""
    if folder := os.environ.get("ORRERY_DATAFLOW"):
        shim().follow_data()
        path = os.path.join(folder, f"dataflow.{library().orrery_rank_number()}.tsv")
        atexit.register(shim().write_dataflow, path)


# ---- when to patch -------------------------------------------------------------------------------------------------


def install() -> None:
    """Patches torch now if it is imported, else as soon as it is."""
    if not is_live():
        return
    torch = sys.modules.get("torch")
    if torch is None:
        sys.meta_path.insert(0, _Finder())
    elif not getattr(torch.__spec__, "_initializing", False):
        apply()


class _Finder:
    """Lets the others find torch, and looks at it when it has been executed."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            apply()

        spec.loader.exec_module = exec_module
        return spec


def apply() -> None:
    """Patches torch, which has been imported."""
    import torch
    import torch.distributed as dist

    if getattr(torch, "_orrery_patched", False) or not dist.is_available():
        return
    torch._orrery_patched = True
    core = sys.modules["torch.distributed.distributed_c10d"]
    patch_backends(core, dist)
    patch_groups(core)
    patch_stores(dist)
    cuda_map.install()
    observe()


# ---- backends ------------------------------------------------------------------------------------------------------


def patch_backends(core: ModuleType, dist: ModuleType) -> None:
    backend, types = core.Backend, core.ProcessGroup.BackendType
    backend.register_backend(
        NAME, lambda options, _: shim().create_backend(options, _label), extended_api=True, devices=["cpu", "cuda"]
    )
    stock = core.BackendConfig.__init__

    def init(self, asked):
        stock(self, backend.GLOO if str(asked) == backend.UNDEFINED else asked)
        self.asked = ",".join(f"{device}:{name}" for device, name in self.device_backend_map.items())
        if any(name in REPLACED for name in self.device_backend_map.values()):
            kept = {device: name for device, name in self.device_backend_map.items() if name not in REPLACED}
            self.device_backend_map = {**dict.fromkeys(("cpu", "cuda"), NAME), **kept}
        # As type GLOO, DDP would take our backend for a ProcessGroupGloo. From torch 2.15 on, the type is set when
        # the name is used first: just now.
        backend.backend_type_map.update(dict.fromkeys(REPLACED, types.CUSTOM))

    core.BackendConfig.__init__ = init
    core.BackendConfig.__repr__ = lambda self: self.asked
    core._GLOO_AVAILABLE = core._NCCL_AVAILABLE = core._MPI_AVAILABLE = core._UCC_AVAILABLE = True
    core._create_process_group_wrapper = lambda wrapped_pg, **_: wrapped_pg  # DETAIL would start a real gloo.
    dist._create_process_group_wrapper = core._create_process_group_wrapper
    if not isinstance(core.default_pg_nccl_timeout, timedelta):
        core.default_pg_nccl_timeout = NCCL_TIMEOUT
    bindings = sys.modules["torch"]._C
    if not hasattr(bindings, "_nccl_version"):  # torch.cuda.nccl.version(), which the profiler asks for.
        bindings._nccl_version = lambda: NCCL_VERSION[0] << 32 | NCCL_VERSION[1] << 16 | NCCL_VERSION[2]
        bindings._nccl_version_suffix = lambda: b""
    for name in ("ProcessGroupNCCL", "ProcessGroupMPI", "ProcessGroupUCC"):
        if not hasattr(core, name):  # Looked at by name where the availability says yes.
            setattr(core, name, type(name, (), {"Options": _Options}))
            setattr(dist, name, getattr(core, name))


class _Options(SimpleNamespace):
    """Stands for ProcessGroupNCCL.Options where torch has none: takes any setting, and none matters here."""

    def __init__(self, is_high_priority_stream=False, **settings):
        super().__init__(is_high_priority_stream=is_high_priority_stream, config=SimpleNamespace(), **settings)


# ---- groups --------------------------------------------------------------------------------------------------------

_label = NAME  #: What the program calls the backend of the group that is being made.


def patch_groups(core: ModuleType) -> None:
    group, stock = core.ProcessGroup, core._new_process_group_helper

    @functools.wraps(stock)
    def new_group(size, rank, ranks, backend, store, name, *rest, **options):
        global _label
        if str(backend) == core.Backend.FAKE:
            return stock(size, rank, ranks, backend, store, name, *rest, **options)
        if size == -1:  # MPI: torch would ask the MPI library.
            try_join()
            size, rank = library().orrery_rank_world(), library().orrery_rank_number()
            store = shim().Store("mpi://", NCCL_TIMEOUT)
        if not ranks:
            try_join(rank, size)
        _label = core.BackendConfig(backend).asked.partition(",")[0].partition(":")[2]
        made, prefix = stock(size, rank, ranks, backend, store, name, *rest, **options)
        if isinstance(made, group) and NAME in core.BackendConfig(backend).device_backend_map.values():
            made._set_default_backend(group.BackendType.CUSTOM)
        return made, prefix

    def set_timeout(timeout, group=None):
        made = group or core._get_default_group()
        if core._rank_not_in_group(made):
            raise ValueError("Invalid process group specified")
        for device in made._device_types:
            made._get_backend(device)._set_default_timeout(timeout)

    core._new_process_group_helper = new_group
    core._set_pg_timeout = set_timeout


# ---- stores and rendezvous -----------------------------------------------------------------------------------------

_rendezvous_count: dict[str, int] = {}
_suffix = ""
_hash_stores = 0


def patch_stores(dist: ModuleType) -> None:
    bindings = sys.modules["torch._C._distributed_c10d"]
    rendezvous = sys.modules["torch.distributed.rendezvous"]
    for make in (tcp_store, file_store, hash_store):
        name = make.__name__.title().replace("_S", "S").replace("Tcp", "TCP")
        original = getattr(bindings, name, None)
        if original is None:
            continue
        replaced = make(original)
        replaced.__module__, replaced.__qualname__, replaced.__name__ = original.__module__, name, name
        replaced.__doc__ = original.__doc__
        for module in (bindings, dist, rendezvous):
            if hasattr(module, name):
                setattr(module, name, replaced)
    for scheme in ("env", "tcp", "file"):
        handlers = rendezvous._rendezvous_handlers
        if scheme in handlers:
            handlers[scheme] = joining(handlers[scheme])


def joining(stock):
    """A rendezvous handler that first joins, and gives each rendezvous at the same place a store of its own."""

    @functools.wraps(stock)
    def handler(url, **options):
        global _suffix
        query = parse_qs(urlparse(url).query)
        rank, world = (int(query[name][0]) if name in query else None for name in ("rank", "world_size"))
        with contextlib.suppress(ValueError):  # The stock handler explains what is missing.
            try_join(rank, world)
        place = url.partition("?")[0] + os.environ.get("MASTER_PORT", "")
        count = _rendezvous_count[place] = _rendezvous_count.get(place, -1) + 1
        found = stock(url, **options)
        _suffix = f"#{count}" if count else ""
        try:
            first = next(found)
        finally:
            _suffix = ""
        yield first
        yield from found

    return handler


def _meta(original):
    """Of classes that stand for `original`, and give one of those in a process that is no rank."""

    class Meta(type(shim().Store)):
        def __call__(cls, *arguments, **options):
            if not try_join():
                return original(*arguments, **options)
            return super().__call__(*arguments, **options)

        def __instancecheck__(cls, instance):
            return isinstance(instance, original) or super().__instancecheck__(instance)

    return Meta


def tcp_store(original):
    class TCPStore(shim().Store, metaclass=_meta(original)):
        def __init__(
            self,
            host_name,
            port,
            world_size=None,
            is_master=False,
            timeout=timedelta(seconds=300),
            wait_for_workers=True,
            multi_tenant=False,
            master_listen_fd=None,
            use_libuv=True,
        ):
            if port == 0 and is_master:
                port = 20000 + shim().Store("orrery://", timeout).add("ports", 1)
            super().__init__(f"tcp://{host_name}:{port}{_suffix}", timeout)
            self.host, self.port, self.libuvBackend = host_name, port, use_libuv
            count = self.add("init/", 1)  # A real one has this key, too.
            if wait_for_workers and world_size is not None and world_size > 0:
                self._gather(count, world_size, is_master, timeout)

        def _gather(self, count, world_size, is_master, timeout):
            """The master waits until all have come."""
            gathering = shim().Store(f"{self.store_name}#init", timeout)
            if count % world_size == 0:
                gathering.set(str(count // world_size), "ready")
            if is_master:
                gathering.wait([str((count + world_size - 1) // world_size)])

        def __repr__(self):
            return f"TCPStore({self.host}:{self.port})"

    return TCPStore


def file_store(original):
    class FileStore(shim().Store, metaclass=_meta(original)):
        def __init__(self, file_name, world_size=-1):
            super().__init__(f"file://{os.path.realpath(file_name)}{_suffix}", timedelta(seconds=300))
            self.path = file_name

    return FileStore


def hash_store(original):
    class HashStore(shim().Store, metaclass=_meta(original)):
        def __init__(self):
            global _hash_stores
            _hash_stores += 1
            name = f"hash://{library().orrery_rank_number()}/{_hash_stores}"
            super().__init__(name, timedelta(seconds=300))

    return HashStore
