# SPDX-License-Identifier: Apache-2.0
"""Notes what a rank does under torchrun, on any hosts: one file per rank, which `orrery merge` puts together.

    torchrun --nnodes 2 --nproc-per-node 1 ... -m orrery.record --out records train.py --steps 10
    orrery merge records --out measured

The folder may be a shared one, or one on each host whose files are copied together afterwards. --warmup is that of
`orrery run`.
"""

import argparse
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

from orrery._paths import PACKAGE

_LIBRARY = PACKAGE / "lib" / "liborrery_record.so"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m orrery.record", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="for rank.N.record; made when it is not there")
    parser.add_argument("--warmup", default="", help="N optimizer steps, barrier:N or mark:NAME")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="SCRIPT", help="and its arguments, or -m MODULE")
    own, program = split(sys.argv[1:])
    arguments = parser.parse_args(own)
    arguments.program = program
    if not arguments.program:
        parser.error("expected a script, or -m and a module")
    if "RANK" not in os.environ:
        parser.error("RANK is not set: start it with torchrun, or use `orrery run --real`")
    preload()
    os.makedirs(arguments.out, exist_ok=True)
    os.environ["ORRERY_WARMUP"] = arguments.warmup
    package = importlib.machinery.ModuleSpec("orrery_live", None, is_package=True)
    package.submodule_search_locations = [str(PACKAGE / "live")]
    sys.modules["orrery_live"] = importlib.util.module_from_spec(package)
    from orrery_live import rank, recording

    recording.install()
    folder = os.path.abspath(arguments.out)
    rank.leave = lambda status: leave(recording, folder, status)
    recording.start()
    rank.run_program(arguments.program)


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """Our options, and the program: a script, or -m and a module, which no option of ours is."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        at += 1 if "=" in words[at] or words[at] in ("-h", "--help") else 2
    return words[:at], words[at:]


def preload() -> None:
    """Starts again with the library that sees waits in futures, unless it is there."""
    loaded = os.environ.get("LD_PRELOAD", "")
    if str(_LIBRARY) in loaded or not Path(_LIBRARY).exists():
        return
    os.environ["LD_PRELOAD"] = f"{_LIBRARY}:{loaded}" if loaded else str(_LIBRARY)
    os.execv(sys.executable, [sys.executable, "-m", "orrery.record", *sys.argv[1:]])


def leave(recording, folder: str, status: int) -> None:
    import atexit
    import threading

    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    recording.write(folder, status)
    os._exit(status)


if __name__ == "__main__":
    main()
