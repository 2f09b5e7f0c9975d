# SPDX-License-Identifier: Apache-2.0
"""What taking turns costs a host anyway: two processes on one core, each with one call that does nothing, and a pipe.

    take_turns.py COUNT

Prints the wall seconds of a call and of handing over. A process that was switched to finds cold caches, so this is more
than the call and the pipe alone.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore


def main() -> None:
    count = int(sys.argv[1])
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    value = torch.ones(1)
    there, back = os.pipe(), os.pipe()
    other = os.fork()
    mine, theirs = (there[0], back[1]) if other == 0 else (back[0], there[1])
    os.close(back[0] if other == 0 else there[0])
    os.close(there[1] if other == 0 else back[1])  # So a process whose partner is gone reads an end.
    dist.all_reduce(value)
    if other != 0:
        os.write(theirs, b"x")
    began = time.perf_counter()
    for number in range(count):
        dist.all_reduce(value)
        if os.read(mine, 1) == b"":
            os._exit(1)
        if other == 0 or number + 1 < count:  # Who came first has nobody to go on with in the end.
            os.write(theirs, b"x")
    if other == 0:
        os._exit(0)
    print((time.perf_counter() - began) / count / 2)
    os.waitpid(other, 0)


if __name__ == "__main__":
    main()
