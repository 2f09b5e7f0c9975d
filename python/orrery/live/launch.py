# SPDX-License-Identifier: Apache-2.0
"""The fork server: launch.py RANKS CONTROL SCRIPT [ARGUMENTS...], or -m MODULE in place of the script.

Imports torch once and forks one process per rank, so that sixty-four ranks start in the time of one and share
everything that was imported. Says on the CONTROL socket which process is which rank, then leaves: the ranks
belong to the coordinator.
"""

import json
import os
import socket
import sys


def main() -> None:
    ranks, control = int(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))
    control.set_inheritable(False)
    program = sys.argv[3:]
    try:
        prepare()
    except Exception as problem:  # One line for the user; the coordinator shows it and ends the run.
        control.send(json.dumps({"error": str(problem)[:4000]}).encode())
        os._exit(2)
    for rank in range(ranks):
        fork_rank(rank, ranks, control, program)
    control.close()
    os._exit(0)


def prepare() -> None:
    """Loads what every rank needs, before there are ranks."""
    sys.path[0] = os.path.dirname(os.environ["ORRERY_PACKAGE"])  # In place of this file's folder.
    from orrery.live import build_shim, patch

    sys.path[0] = ""
    build_shim.ensure_shim()
    import torch  # noqa: F401

    patch.install()
    patch.shim()


def fork_rank(rank: int, ranks: int, control: socket.socket, program: list) -> None:
    """Forks twice: the process in between ends at once, so that the rank becomes the coordinator's child."""
    middle = os.fork()
    if middle > 0:
        os.waitpid(middle, 0)
        return
    child = os.fork()
    if child > 0:
        control.send(json.dumps({"pid": child, "rank": rank}).encode())
        os._exit(0)
    control.close()
    run_rank(rank, ranks, program)


def run_rank(rank: int, ranks: int, program: list) -> None:
    from orrery.live import rank as this

    this.set_environment(rank, ranks)
    this.reseed()
    this.join(rank, ranks)
    this.run_program(program)


if __name__ == "__main__":
    main()
