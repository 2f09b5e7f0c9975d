# SPDX-License-Identifier: Apache-2.0
"""What a process does to be a rank: the environment torchrun would give it, joining the run, and the program."""

import atexit
import os
import random
import runpy
import sys
import threading
from types import TracebackType

from . import cuda_map

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
MASTER_PORT = "29500"


def set_environment(rank: int, ranks: int) -> None:
    """As torchrun sets it on one host. The agent's store is off: there is no agent, and the store is ours."""
    values = {
        "RANK": rank,
        "LOCAL_RANK": rank,
        "WORLD_SIZE": ranks,
        "LOCAL_WORLD_SIZE": ranks,
        "GROUP_RANK": 0,
        "GROUP_WORLD_SIZE": 1,
        "ROLE_RANK": rank,
        "ROLE_NAME": "default",
        "ROLE_WORLD_SIZE": ranks,
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": 1,
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
        "TORCHELASTIC_RUN_ID": "orrery",
        "TORCHELASTIC_USE_AGENT_STORE": False,
    }
    values.update(cuda_map.environment(rank))
    for name, value in values.items():
        os.environ[name] = str(value)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", MASTER_PORT)


def redirect_output(rank: int) -> None:
    """To this rank's own pipes, where the coordinator wants to tell the ranks' lines apart."""
    ends = [int(end) for end in os.environ.pop("ORRERY_OUTPUTS", "").split(",") if end]
    if not ends:
        return
    os.dup2(ends[2 * rank], 1)
    os.dup2(ends[2 * rank + 1], 2)
    for end in ends:
        os.close(end)


def reseed() -> None:
    """A fork has its parent's random state; a new interpreter would have a fresh one."""
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def join(rank: int, ranks: int) -> None:
    from . import patch

    try:
        patch.join(rank, ranks)
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        os._exit(1)


def run_program(program: list) -> None:
    """Runs it as `python PROGRAM...` would, and exits with its status."""
    for stream in (sys.stdout, sys.stderr):  # Whole lines: ranks that run at the same time must not mix theirs.
        if stream is not None:
            stream.reconfigure(line_buffering=True, write_through=False)
    status = 0
    try:
        if program[0] == "-m":
            sys.argv = program[1:]
            sys.path[0] = os.getcwd()
            runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = list(program)
            sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
            runpy.run_path(program[0], run_name="__main__")
    except SystemExit as wish:
        status = exit_status(wish)
    except BaseException as problem:
        status = 1
        if not cuda_map.explain(problem):
            show_exception()
    leave(status)


def leave(status: int) -> None:
    """Ends as Python would, but for taking the interpreter apart: that would copy every page that ranks share."""
    from orrery_live import patch

    try:
        threading._shutdown()  # Threads that are no daemons still belong to the program.
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        patch.library().orrery_rank_leave(status)
        os._exit(status)


def exit_status(wish: SystemExit) -> int:
    if wish.code is None:
        return 0
    if isinstance(wish.code, int):
        return wish.code & 0xFF
    print(wish.code, file=sys.stderr)
    return 1


def show_exception() -> None:
    """The traceback from the program's first line on, without our frames and runpy's."""
    kind, value, _ = sys.exc_info()
    sys.excepthook(kind, trimmed(value), value.__traceback__)


def trimmed(value: BaseException) -> BaseException:
    shown: BaseException | None = value
    seen = set()
    while shown is not None and id(shown) not in seen:
        seen.add(id(shown))
        shown.__traceback__ = without_us(shown.__traceback__)
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
    return value


def without_us(trace: TracebackType | None) -> TracebackType | None:
    if trace is None:
        return None
    rest = without_us(trace.tb_next)
    name = trace.tb_frame.f_code.co_filename
    if name.startswith(HERE) or name in (runpy.__file__, "<frozen runpy>"):
        return rest
    trace.tb_next = rest
    return trace
