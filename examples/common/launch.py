# SPDX-License-Identifier: Apache-2.0
"""Start, refuse, report: the frame around every example."""

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import torch.distributed as dist


def parser(text: str) -> argparse.ArgumentParser:
    """The options every example has; `text` is the docstring of the script."""
    result = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--check", action="store_true", help="compare with one process; exit code 1 if different")
    result.add_argument("--json", action="store_true", help="print one JSON line instead of text")
    return result


@dataclass
class Run:
    args: argparse.Namespace
    rank: int
    world: int

    def require(self, allowed: bool, message: str) -> None:
        """Refuses to go on: one line from rank 0, exit code 2 on every rank."""
        if not allowed:
            if self.rank == 0:
                print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr, flush=True)
            dist.barrier()  # A launcher may end everyone as soon as one rank fails: not before the line is out.
            dist.destroy_process_group()
            sys.exit(2)

    def begin(self) -> float:
        """The time at which every rank is ready; the first collective also pays for connecting."""
        dist.barrier()
        return time.perf_counter()

    @property
    def checks(self) -> bool:
        """Whether this rank computes the single-process reference."""
        return self.args.check and self.rank == 0

    def finish(self, text: str, result: dict, equal: bool | None = None, to: str = "one process") -> NoReturn:
        """Rank 0 prints what happened and whether it was `equal` `to` what it should be; if not, exit code 1."""
        if self.rank == 0:
            if self.args.json:
                name = Path(sys.argv[0]).stem
                print(json.dumps({"example": name, "world_size": self.world, "equal": equal, **result}), flush=True)
            else:
                verdict = {None: "", True: f"\ncheck: equal to {to}", False: f"\ncheck: NOT EQUAL to {to}"}[equal]
                print(text + verdict, flush=True)
        dist.destroy_process_group()
        sys.exit(1 if equal is False else 0)


def start(arguments: argparse.ArgumentParser) -> Run:
    """Parses the command line and joins the other ranks. Without a launcher, the world is this process alone."""
    args = arguments.parse_args()
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group()
    return Run(args, dist.get_rank(), dist.get_world_size())


def share(total: int, parts: int, index: int) -> slice:
    """The index-th of `parts` contiguous shares of `total`; the first total % parts are one longer."""
    size, extra = divmod(total, parts)
    begin = index * size + min(index, extra)
    return slice(begin, begin + size + (index < extra))


def length(part: slice) -> int:
    return part.stop - part.start
