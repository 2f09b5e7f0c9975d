# SPDX-License-Identifier: Apache-2.0
"""What `orrery calibrate` runs for real: operations of given sizes, over and over.

    probe.py '[["all_reduce", 1024, 50, 8], ["all_to_all_single", 65536, 20, 8, 150], ["beside:all_reduce", ...], ...]'

Or such a list in a file. Each entry is an operation, the bytes that a rank contributes (of a broadcast or scatter:
that it gets), how often, how much is computed before each (after a pause an operation takes longer, as threads
have slept and what they use has left the caches), and perhaps how late the ranks come in turn, in microseconds. Two
of each come first, to open connections. "message" goes from rank 0 to rank 1, and the next one back. "beside:" in
front of an operation: after a call is computed, and then beside another one, in turn. "alone:": each rank in a group
of its own. A barrier comes before each pause.
"""

import itertools
import json
import sys
import time
import warnings
from functools import cache, partial
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

GRID = 2000  #: Microseconds between the moments at which ranks meet after long pauses.
POOL, WIDTH = 16, 512  #: Layers with weights of their own: more than the caches of a core hold.


def make(operation: str, size: int, group=None):
    """A function that makes the tensors of one call, new ones each time as a program's are, and returns the call.
    Pages are touched before: what a first touch costs is known of the results of a simulated program."""
    world, rank = dist.get_world_size(group), dist.get_rank()
    root = 0 if group is None else rank
    count = max(1, size // 4)
    share = max(1, count // world)
    whole = world * share

    def ones() -> torch.Tensor:
        return torch.ones(count)

    def room(elements: int) -> torch.Tensor:
        return torch.empty(elements).fill_(0)

    def parts() -> list:
        return [room(count) for _ in range(world)]

    def parts_of_root():
        return parts() if rank == root else None

    prepare = {
        "all_reduce": lambda: partial(dist.all_reduce, ones(), group=group),
        "all_gather": lambda: partial(dist.all_gather, parts(), ones(), group=group),
        "reduce_scatter_tensor": lambda: partial(
            dist.reduce_scatter_tensor, room(share), torch.ones(whole), group=group
        ),
        "all_to_all_single": lambda: partial(dist.all_to_all_single, room(whole), torch.ones(whole), group=group),
        "broadcast": lambda: partial(dist.broadcast, ones(), root, group=group),
        "reduce": lambda: partial(dist.reduce, ones(), root, group=group),
        "gather": lambda: partial(dist.gather, ones(), parts_of_root(), root, group=group),
        "scatter": lambda: partial(dist.scatter, ones(), parts_of_root(), root, group=group),
        "barrier": lambda: partial(dist.barrier, group=group),
        "message": message(count, rank),
    }
    if operation not in prepare:
        raise SystemExit(f"probe.py: unknown operation '{operation}'")
    return prepare[operation]


def work(kernel: str, size: int):
    """Computing of a kind: in cache, streaming weights as a decoding step does, copying memory, and plain Python; and
    copies of so many bytes into a block that malloc maps anew, as all of 32 MiB and more, or into one that is there."""
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
    if kernel in ("fresh", "reused"):
        part, blocks = torch.ones(size // 4), []

        def copy() -> None:
            if kernel == "fresh" or not blocks:
                blocks.append(torch.empty(10 << 20))  # Kept: giving it back would take time as well.
            blocks[-1][: size // 4].copy_(part)

        return copy
    raise SystemExit(f"probe.py: unknown kernel '{kernel}'")


def message(count: int, rank: int):
    senders = itertools.cycle((0, 1))

    def prepare():
        sender = next(senders)
        if rank == sender:
            return partial(dist.send, torch.ones(count), 1 - sender)
        if rank == 1 - sender:
            return partial(dist.recv, torch.empty(count).fill_(0), sender)
        return lambda: None

    return prepare


@cache
def layers() -> list:
    return [nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(POOL)]


def pause(units: int):
    """Computing as a program does between its operations, about a quarter of a millisecond a unit: layers with weights
    of their own, and the longer it takes the larger their products. What they leave in the caches decides what the
    next operation takes: a small message after a loop of one product took 33 us, after layers for as long 45."""
    count = max(1, round(units**0.5))
    walk, rows = itertools.cycle(layers()), torch.ones(32 * units // count, WIDTH)

    def compute() -> None:
        x = rows
        for _ in range(count):
            x = next(walk)(x)

    return compute


def grid_of(units: int) -> int:
    """Of the moments at which ranks meet, in microseconds: no longer than the pause, lest they only wait."""
    return min(GRID, max(250, 125 * units))


def meet(late: int, grid: int = GRID) -> None:
    """The ranks go on together, without a word: at the next moment of a grid but the nearest, and so many microseconds.
    Those that miss it by one are known by their times."""
    now, step = time.time_ns(), grid * 1000
    target = ((now + step // 4) // step + 1) * step + late * 1000
    while time.time_ns() < target:
        pass


def compute_beside(prepare, compute, count: int) -> None:
    """After a call and beside one, each with a barrier at its end."""
    for _ in range(2):
        prepare()()
    dist.barrier()
    for _ in range(count):
        for is_beside in (False, True):
            call = prepare()
            meet(0)
            work = begin(call) if is_beside else call()
            compute()
            if is_beside and work is not None:
                work.wait()
            dist.barrier()


def begin(call):
    """The call without waiting for its end."""
    beginnings = {dist.send: dist.isend, dist.recv: dist.irecv}
    if not isinstance(call, partial):
        return None
    if call.func in beginnings:
        return beginnings[call.func](*call.args)
    return call(async_op=True)


def compute_alone(once, count: int) -> None:
    for _ in range(2):
        once()
    dist.barrier()
    for _ in range(count):
        once()


def call_often(prepare, compute, count: int, grid: int, late: int = 0) -> None:
    for _ in range(2):
        prepare()()
    dist.barrier()
    for number in range(count):
        if compute:
            dist.barrier()  # Over a link an exchange may end much later for one rank than for another.
            compute()
        call = prepare()
        if compute:
            meet(late if dist.get_rank() == number % dist.get_world_size() else 0, grid)
        call()
        call = None  # Its memory is for the next one, as in a program.


def main() -> None:
    warnings.simplefilter("ignore")  # Names of functions change between versions of torch.
    dist.init_process_group()
    dist.barrier()
    ranks = range(dist.get_world_size())
    alone = [dist.new_group([rank]) for rank in ranks][dist.get_rank()]  # Everyone makes all groups.
    text = sys.argv[1] if sys.argv[1].startswith("[") else Path(sys.argv[1]).read_text()
    for operation, size, count, units, *late in json.loads(text):
        kind, _, name = operation.partition(":")
        if kind == "compute":
            once = work(name, size)  # Until after the barrier: giving its memory back takes time as well.
            compute_alone(once, count)
        elif kind == "beside":
            compute_beside(make(name, size), pause(units), count)
        else:
            group = alone if kind == "alone" else None
            grid = GRID if late else grid_of(units)
            call_often(make(name or operation, size, group), pause(units) if units else None, count, grid, *late)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
