# SPDX-License-Identifier: Apache-2.0
"""What `orrery calibrate` runs for real: operations of given sizes, over and over.

    probe.py '[["all_reduce", 1024, 50, 8], ["message", 65536, 20, 8], ...]'

Each entry is an operation, the bytes that a rank contributes (of a broadcast or scatter: that it gets), how often, and
how much is computed before each: after a pause an operation takes longer, as threads have slept and what they use has
left the caches. Two of each come first, to open connections. "message" goes from rank 0 to rank 1, and the next one
back.
"""

import itertools
import json
import sys
import time
import warnings

import torch
import torch.distributed as dist


def make(operation: str, size: int):
    """A function that does it once. Its tensors are new each time, as a program's are: their pages, too, cost."""
    world, rank = dist.get_world_size(), dist.get_rank()
    count = max(1, size // 4)
    share = max(1, count // world)

    def parts() -> list:
        return [torch.empty(count) for _ in range(world)]

    once = {
        "all_reduce": lambda: dist.all_reduce(torch.ones(count)),
        "all_gather": lambda: dist.all_gather(parts(), torch.ones(count)),
        "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(torch.empty(share), torch.ones(world * share)),
        "all_to_all_single": lambda: dist.all_to_all_single(torch.empty(world * share), torch.ones(world * share)),
        "broadcast": lambda: dist.broadcast(torch.ones(count), 0),
        "reduce": lambda: dist.reduce(torch.ones(count), 0),
        "gather": lambda: dist.gather(torch.ones(count), parts() if rank == 0 else None, 0),
        "scatter": lambda: dist.scatter(torch.ones(count), parts() if rank == 0 else None, 0),
        "barrier": dist.barrier,
        "message": message(count, rank),
    }
    if operation not in once:
        raise SystemExit(f"probe.py: unknown operation '{operation}'")
    return once[operation]


def work(kernel: str):
    """Computing of a kind: in cache, streaming weights as a decoding step does, copying memory, and plain Python."""
    if kernel == "matmul":
        a = torch.ones(192, 192)
        return lambda: [a @ a for _ in range(4)]
    if kernel == "decode":
        x, layers = torch.ones(1, 512), [torch.ones(512, 512) for _ in range(16)]
        return lambda: [x @ layer for layer in layers]
    if kernel == "stream":
        a, b = torch.ones(1 << 21), torch.empty(1 << 21)
        return lambda: b.copy_(a)
    if kernel == "python":
        return lambda: sum(index * index for index in range(4000))
    raise SystemExit(f"probe.py: unknown kernel '{kernel}'")


def message(count: int, rank: int):
    senders = itertools.cycle((0, 1))

    def once() -> None:
        sender = next(senders)
        if rank == sender:
            dist.send(torch.ones(count), 1 - sender)
        elif rank == 1 - sender:
            dist.recv(torch.empty(count), sender)

    return once


def pause(units: int):
    """Computing as a program does between its operations, about a quarter of a millisecond each."""
    memory, square = torch.zeros(1 << 20), torch.ones(256, 256)

    def once() -> None:
        memory.add_(1)
        for _ in range(units):
            square @ square
        meet()

    return once if units else lambda: None


def meet() -> None:
    """The ranks go on together, without a word: at the next full millisecond of the host's clock. Gloo's exchanges take
    up to twice as long when one comes later, which is simulated, and not to be measured here."""
    target = (time.perf_counter_ns() // 250_000 + 5) // 4 * 1_000_000
    while time.perf_counter_ns() < target:
        pass


def main() -> None:
    warnings.simplefilter("ignore")  # Names of functions change between versions of torch.
    dist.init_process_group()
    dist.barrier()
    for operation, size, count, units in json.loads(sys.argv[1]):
        kernel = operation.partition(":")[2]
        once = work(kernel) if kernel else make(operation, size)
        compute = pause(units)
        for _ in range(2):
            once()
        dist.barrier()
        for _ in range(count):
            compute()
            once()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
