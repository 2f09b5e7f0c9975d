# SPDX-License-Identifier: Apache-2.0
"""A rank that does nothing but small all_reduces: COUNT [noop].

With `noop` the world is of torch's own backend that does nothing, in this process alone; prints the CPU seconds of
a call.
"""

import sys
import time

import torch
import torch.distributed as dist


def main() -> None:
    count = int(sys.argv[1])
    if sys.argv[2:] == ["noop"]:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    else:
        dist.init_process_group("gloo")
    value = torch.ones(1)
    dist.all_reduce(value)
    began = time.process_time()
    for _ in range(count):
        dist.all_reduce(value)
    if dist.get_rank() == 0:
        print((time.process_time() - began) / count)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
