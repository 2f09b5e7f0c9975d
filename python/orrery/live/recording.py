# SPDX-License-Identifier: Apache-2.0
"""Notes what a rank of a real run does: wraps every gloo group that the program makes, and writes one file at the end.

The file begins with lines "KEY VALUE" (rank, world, host, clock, start, begin, finish, status; times in nanoseconds of
CLOCK_MONOTONIC), then groups, operations, and stretches in which the rank's thread was blocked or asleep.
Standard library only, and importable from anywhere, like patch.py.
"""

import contextlib
import functools
import importlib.machinery
import importlib.util
import os
import socket
import sys
import sysconfig
import time
from pathlib import Path
from types import ModuleType

NAME = "orrery_record"
HERE = Path(__file__).resolve().parent

_begin = 0  #: When the warm-up was over.
_finish = 0  #: When the program left its process group.
_start = 0
_barriers = 0
_priority = 0  #: Of gloo's threads; 0 without real-time scheduling.


@functools.cache
def recorder() -> ModuleType:
    from . import build_shim

    path = str(build_shim.ensure_shim(build_shim.RECORDER))
    loader = importlib.machinery.ExtensionFileLoader(build_shim.RECORDER, path)
    spec = importlib.util.spec_from_file_location(build_shim.RECORDER, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    folders = (Path(sys.modules["torch"].__file__).parent, HERE, sysconfig.get_paths()["stdlib"])
    module.set_foreign([f"{folder}/" for folder in folders])
    return module


def install() -> None:
    """Before the program runs, and before the fork of ranks: torch is imported here."""
    import torch.distributed as dist

    recorder()
    core = sys.modules["torch.distributed.distributed_c10d"]
    if NAME in core.Backend.backend_list:
        return
    patch_groups(core)
    patch_end(core, dist)
    patch_sleep()


def start() -> None:
    """The program's first moment, on the thread that runs it."""
    global _start
    if not recorder().listen(_priority):
        print("orrery: waits in futures cannot be seen: the library that sees them is not loaded", file=sys.stderr)
    watch_warmup()
    _start = recorder().now()


# ---- groups --------------------------------------------------------------------------------------------------------


def patch_groups(core: ModuleType) -> None:
    backend, types = core.Backend, core.ProcessGroup.BackendType

    def create(options, _):
        with helper_threads_first():
            inner = core.ProcessGroupGloo(options.store, options.group_rank, options.group_size, options.timeout)
        return recorder().wrap(inner, list(options.global_ranks_in_group), options.group_id)

    backend.register_backend(NAME, create, extended_api=True, devices=["cpu"])
    stock = core.BackendConfig.__init__

    def init(self, asked):
        stock(self, asked)
        self.asked = ",".join(f"{device}:{name}" for device, name in self.device_backend_map.items())
        kept = self.device_backend_map.items()
        self.device_backend_map = {device: NAME if name == backend.GLOO else name for device, name in kept}
        backend.backend_type_map[backend.GLOO] = types.CUSTOM  # As type GLOO, DDP would cast ours to gloo's class.

    core.BackendConfig.__init__ = init
    core.BackendConfig.__repr__ = lambda self: self.asked
    core._create_process_group_wrapper = lambda wrapped_pg, **_: wrapped_pg
    group, make = core.ProcessGroup, core._new_process_group_helper

    @functools.wraps(make)
    def new_group(size, rank, ranks, asked, store, name, *rest, **options):
        made, prefix = make(size, rank, ranks, asked, store, name, *rest, **options)
        if isinstance(made, group) and NAME in core.BackendConfig(asked).device_backend_map.values():
            made._set_default_backend(types.CUSTOM)
        return made, prefix

    core._new_process_group_helper = new_group


def prioritise(priority: int) -> None:
    """From now on gloo's threads run at this real-time priority: they move bytes while the rank computes, as a network
    card would, instead of waiting until it blocks. The rank itself does not: what is real-time all the time is stopped
    for 50 ms of every second."""
    global _priority
    _priority = priority


@contextlib.contextmanager
def helper_threads_first():
    """A new thread inherits from the one that made it."""
    if _priority == 0:
        yield
        return
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_priority))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


# ---- beginning and end ---------------------------------------------------------------------------------------------


def patch_end(core: ModuleType, dist: ModuleType) -> None:
    """What a rank does once it has left the world (taking gloo's threads down takes milliseconds) does not count."""
    stock = core.destroy_process_group

    @functools.wraps(stock)
    def destroy(group=None):
        global _finish
        if group is None or group is core.GroupMember.WORLD or group is core._get_default_group():
            _finish = recorder().now()
        return stock(group)

    core.destroy_process_group = dist.destroy_process_group = destroy


def patch_sleep() -> None:
    stock = time.sleep

    @functools.wraps(stock)
    def sleep(seconds):
        begin = recorder().now()
        stock(seconds)
        recorder().slept(begin, recorder().now())

    time.sleep = sleep


def end_warmup() -> None:
    global _begin
    if _begin == 0:
        _begin = recorder().now()


def watch_warmup() -> None:
    asked = os.environ.get("ORRERY_WARMUP", "")
    if asked.startswith("barrier:"):
        watch_barriers(int(asked.removeprefix("barrier:")))
        return
    from . import warmup

    warmup.end = end_warmup
    warmup.watch()


def watch_barriers(count: int) -> None:
    """The count-th barrier of the whole world, seen from its end."""
    import torch.distributed as dist

    core = sys.modules["torch.distributed.distributed_c10d"]
    stock = core.barrier

    @functools.wraps(stock)
    def barrier(group=core.GroupMember.WORLD, *rest, **options):
        global _barriers
        made = stock(group, *rest, **options)
        if group is None or core.get_world_size(group) == core.get_world_size():
            _barriers += 1
            if _barriers == count:
                end_warmup()
        return made

    core.barrier = dist.barrier = barrier


def clock_name(host: str) -> str:
    """The same for all that read the same clock: those of one host since it was started."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() or host
    except OSError:
        return host


def write(folder: str, status: int) -> None:
    """One file, under its name only when it is whole."""
    end = recorder().now()
    rank = int(os.environ.get("RANK", "0"))
    host = socket.gethostname().replace(" ", "-") or "unknown"
    values = {
        "rank": rank,
        "world": int(os.environ.get("WORLD_SIZE", "1")),
        "host": host,
        "clock": clock_name(host),
        "start": _start,
        "begin": _begin,
        "finish": _finish or end,
        "status": status,
        "fifo": int(_priority > 0),
    }
    head = "orrery-record 1\n" + "".join(f"{key} {value}\n" for key, value in values.items())
    path = os.path.join(folder, f"rank.{rank}.record")
    if not recorder().write(path + ".tmp", head):
        print(f"orrery: {path} cannot be written", file=sys.stderr)
        return
    os.rename(path + ".tmp", path)
