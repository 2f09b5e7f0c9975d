# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks: launch.py fork|fresh RANKS CONTROL SCRIPT [ARGUMENTS...], or -m MODULE in place of the script.

fork imports torch once and forks one process per rank, so that sixty-four ranks start in the time of one and share
everything that was imported; fresh starts an interpreter for each. Either says on the CONTROL socket which process is
which rank, then leaves: the ranks belong to the coordinator.
"""

import importlib.machinery
import importlib.util
import json
import os
import socket
import sys


def main() -> None:
    kind, ranks, control = sys.argv[1], int(sys.argv[2]), socket.socket(fileno=int(sys.argv[3]))
    control.set_inheritable(False)
    program = sys.argv[4:]
    try:
        prepare(kind)
    except Exception as problem:  # One line for the user; the coordinator shows it and ends the run.
        kind = "" if type(problem).__name__ == "ShimError" else f"{type(problem).__name__}: "
        control.send(json.dumps({"error": f"{kind}{problem}"[:3000] + hidden_module(problem)}).encode())
        os._exit(2)
    for rank in range(ranks):
        start_rank(kind, rank, ranks, control, program)
    control.close()
    os._exit(0)


def prepare(kind: str) -> None:
    """Loads what every rank needs, before there are ranks."""
    find_ourselves()
    from orrery_live import build_shim, cuda_map, patch, warmup

    build_shim.ensure_shim()
    cuda_map.load()
    if kind != "fork":
        return
    try:
        import torch  # noqa: F401
    except ImportError as problem:
        raise build_shim.ShimError(f"torch cannot be imported by {sys.executable}: {problem}") from problem
    patch.install()
    patch.shim()
    cuda_map.install()
    warmup.watch()


def hidden_module(problem: BaseException) -> str:
    """Says so when a file in this folder has the name of a module of Python's, which then is missing to torch."""
    files = {getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    step = (problem.__cause__ or problem).__traceback__
    while step is not None:
        files.add(step.tb_frame.f_code.co_filename)
        step = step.tb_next
    here = os.path.abspath(sys.path[0] or os.curdir)
    for file in sorted(filter(None, files)):
        name = os.path.splitext(os.path.basename(file))[0]
        if name in sys.stdlib_module_names and os.path.dirname(os.path.abspath(file)) == here:
            return f"; {file} hides Python's own module '{name}': rename it"
    return ""


def find_ourselves() -> None:
    """Makes our modules importable without the rest of Orrery, which may belong to another Python than the ranks."""
    sys.path[0] = ""  # In place of this file's folder; the program's, later on.
    if "orrery_live" in sys.modules:
        return
    package = importlib.machinery.ModuleSpec("orrery_live", None, is_package=True)
    package.submodule_search_locations = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["orrery_live"] = importlib.util.module_from_spec(package)


def start_rank(kind: str, rank: int, ranks: int, control: socket.socket, program: list) -> None:
    """Forks twice: the process in between ends at once, so that the rank becomes the coordinator's child."""
    middle = os.fork()
    if middle > 0:
        _, status = os.waitpid(middle, os.WUNTRACED)
        if status != 0:
            how = f"was killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended"
            how = f"was stopped by signal {os.WSTOPSIG(status)}" if os.WIFSTOPPED(status) else how
            control.send(json.dumps({"failed": f"rank {rank} {how} while it was started"}).encode())
            os._exit(0)
        return
    child = os.fork()
    if child > 0:
        control.send(json.dumps({"pid": child, "rank": rank}).encode())
        os._exit(0)
    control.close()
    from orrery_live import rank as this

    this.set_environment(rank, ranks)
    this.redirect_output(rank)
    if kind == "fresh":
        os.execv(sys.executable, [sys.executable, __file__, "rank", str(rank), str(ranks), *program])
    this.reseed()
    this.join(rank, ranks)
    this.run_program(program)


def be_rank() -> None:
    """What a fresh interpreter does: the same as a fork, step by step, so that a ledger fits both."""
    rank, ranks, program = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    prepare("fork")
    from orrery_live import rank as this

    this.reseed()
    this.join(rank, ranks)
    this.run_program(program)


if __name__ == "__main__":
    be_rank() if sys.argv[1] == "rank" else main()
