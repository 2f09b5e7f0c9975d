# SPDX-License-Identifier: Apache-2.0
"""Every collective of torch.distributed, with values that say at once if one of them is wrong.

Each case runs over all ranks and over two sub-groups (even and odd ranks), blocking and asynchronous, with several
types and lengths, one of them zero. Values are small whole numbers, so that every sum is exact in every type and
results must be equal, not close. What gloo refuses (uneven lists in all_gather and all_to_all) is left out.

    torchrun --nproc-per-node 2 examples/all_collectives.py --check
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import Tensor

from common import launch

WHOLE = (torch.int8, torch.uint8, torch.int32, torch.int64)
NUMBERS = (torch.float32, torch.float64, torch.float16, torch.bfloat16, *WHOLE)
TYPES = (*NUMBERS, torch.complex64, torch.bool)
LENGTHS = (0, 1, 7, 1000)
Op = dist.ReduceOp
# The names since PyTorch 2.13; older ones have only the names that follow.
all_gather_single = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
reduce_scatter_single = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


@dataclass
class Context:
    """One group as a case sees it. `rank` counts within the group, `ranks` are the numbers in the world."""

    group: dist.ProcessGroup
    ranks: list[int]
    rank: int
    asynchronous: bool = False
    wrong: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.ranks)

    def data(self, rank: int, length: int = 7, dtype: torch.dtype = torch.float32) -> Tensor:
        """What `rank` contributes: known to all, so that all know the right result."""
        numbers = (torch.arange(length) * 3 + rank * 5) % 7 + 1
        return (numbers % 2 == 0) if dtype == torch.bool else numbers.to(dtype) * (1 + 2j if dtype.is_complex else 1)

    def everyone(self, length: int = 7, dtype: torch.dtype = torch.float32) -> list[Tensor]:
        return [self.data(rank, length, dtype) for rank in range(self.size)]

    def call(self, function: Callable, *args: object, **options: object) -> None:
        """Calls a collective on the group; the asynchronous form is waited for."""
        work = function(*args, group=self.group, async_op=self.asynchronous, **options)
        assert (work is not None) == self.asynchronous
        if work:
            work.wait()

    def expect(self, what: str, got: object, wanted: object) -> None:
        same = torch.equal(got, wanted) if isinstance(got, Tensor) else got == wanted
        if not same:
            self.wrong.append(f"{what}: {got} is not {wanted}")


def reduced(tensors: list[Tensor], op: dist.ReduceOp) -> Tensor:
    stack = torch.stack(tensors)
    if op == Op.SUM:
        return stack.sum(0, dtype=stack.dtype)
    if op == Op.PRODUCT:
        return stack.prod(0, dtype=stack.dtype)
    if op == Op.AVG:
        return stack.sum(0) / len(tensors)
    if op in (Op.MIN, Op.MAX):
        return stack.amin(0) if op == Op.MIN else stack.amax(0)
    result = stack[0]
    for other in stack[1:]:
        result = {Op.BAND: result & other, Op.BOR: result | other, Op.BXOR: result ^ other}[op]
    return result


def variants() -> Iterator[tuple[int, torch.dtype]]:
    yield from ((length, torch.float32) for length in LENGTHS)
    yield from ((7, dtype) for dtype in TYPES[1:])


def all_reduce(c: Context) -> None:
    plans = [(Op.SUM, (*NUMBERS, torch.complex64)), (Op.AVG, (torch.float32, torch.float64))]
    plans += [(Op.MIN, (*NUMBERS, torch.bool)), (Op.MAX, (*NUMBERS, torch.bool)), (Op.PRODUCT, NUMBERS)]
    plans += [(op, WHOLE) for op in (Op.BAND, Op.BOR, Op.BXOR)]
    for op, dtypes in plans:
        for dtype in dtypes:
            tensors = [t % 2 + 1 if op == Op.PRODUCT else t for t in c.everyone(7, dtype)]
            mine = tensors[c.rank].clone()
            c.call(dist.all_reduce, mine, op=op)
            c.expect(f"all_reduce {op} {dtype}", mine, reduced(tensors, op))
    for length in LENGTHS:
        mine = c.data(c.rank, length)
        c.call(dist.all_reduce, mine)
        c.expect(f"all_reduce of {length}", mine, reduced(c.everyone(length), Op.SUM))


def reduce(c: Context) -> None:
    for root in range(c.size):
        mine = c.data(c.rank)
        c.call(dist.reduce, mine, dst=c.ranks[root])
        if c.rank == root:
            c.expect(f"reduce to {root}", mine, reduced(c.everyone(), Op.SUM))


def broadcast(c: Context) -> None:
    for root in range(c.size):
        for length, dtype in variants():
            mine = c.data(c.rank, length, dtype)
            c.call(dist.broadcast, mine, src=c.ranks[root])
            c.expect(f"broadcast from {root} {dtype}", mine, c.data(root, length, dtype))


def all_gather(c: Context) -> None:
    for length, dtype in variants():
        mine, right = c.data(c.rank, length, dtype), torch.cat(c.everyone(length, dtype))
        parts = [torch.empty_like(mine) for _ in c.ranks]
        c.call(dist.all_gather, parts, mine)
        c.expect(f"all_gather {length} {dtype}", torch.cat(parts), right)
        whole = torch.empty_like(right)
        c.call(all_gather_single, whole, mine)
        c.expect(f"all_gather_single {length} {dtype}", whole, right)


def gather_and_scatter(c: Context) -> None:
    for root in range(c.size):
        for dtype in TYPES:
            mine = c.data(c.rank, dtype=dtype)
            got = torch.empty_like(mine)
            c.call(dist.scatter, got, c.everyone(dtype=dtype) if c.rank == root else None, src=c.ranks[root])
            c.expect(f"scatter from {root} {dtype}", got, mine)
            if dtype.is_complex:
                continue  # gloo scatters complex numbers, but does not gather them.
            parts = [torch.empty_like(mine) for _ in c.ranks] if c.rank == root else None
            c.call(dist.gather, mine, parts, dst=c.ranks[root])
            if parts:
                c.expect(f"gather to {root} {dtype}", torch.cat(parts), torch.cat(c.everyone(dtype=dtype)))


def reduce_scatter(c: Context) -> None:
    for dtype in (*NUMBERS, torch.complex64):
        inputs = [c.data(rank, 3 * c.size, dtype) for rank in range(c.size)]
        right = reduced(inputs, Op.SUM).chunk(c.size)[c.rank]
        got = torch.empty_like(right)
        c.call(dist.reduce_scatter, got, list(inputs[c.rank].chunk(c.size)))
        c.expect(f"reduce_scatter {dtype}", got, right)
        c.call(reduce_scatter_single, got.zero_(), inputs[c.rank])
        c.expect(f"reduce_scatter_single {dtype}", got, right)
    lengths = [2 * rank + 1 for rank in range(c.size)]
    inputs = [c.data(rank, sum(lengths)) for rank in range(c.size)]
    got = torch.empty(lengths[c.rank])
    c.call(dist.reduce_scatter, got, list(inputs[c.rank].split(lengths)))
    c.expect("reduce_scatter, uneven", got, reduced(inputs, Op.SUM).split(lengths)[c.rank])


def all_to_all(c: Context) -> None:
    for dtype in TYPES:
        outgoing = [c.data(c.rank * c.size + peer, dtype=dtype) for peer in range(c.size)]
        right = [c.data(peer * c.size + c.rank, dtype=dtype) for peer in range(c.size)]
        got = [torch.empty_like(part) for part in right]
        c.call(dist.all_to_all, got, outgoing)
        c.expect(f"all_to_all {dtype}", torch.cat(got), torch.cat(right))
        whole = torch.empty_like(torch.cat(right))
        c.call(dist.all_to_all_single, whole, torch.cat(outgoing))
        c.expect(f"all_to_all_single {dtype}", whole, torch.cat(right))


def uneven_all_to_all(c: Context) -> None:
    """Rank r sends r + 2p rows to rank p: none from 0 to 0."""
    outgoing = [c.rank + 2 * peer for peer in range(c.size)]
    incoming = [peer + 2 * c.rank for peer in range(c.size)]
    got = torch.empty(sum(incoming), 2)
    c.call(dist.all_to_all_single, got, torch.full((sum(outgoing), 2), float(c.rank)), incoming, outgoing)
    right = [float(peer) for peer, count in enumerate(incoming) for _ in range(count)]
    c.expect("all_to_all_single, uneven", got[:, 1].tolist(), right)


def several_at_once(c: Context) -> None:
    """Many in flight, waited for from the last to the first; a future with something chained to it."""
    tensors = [c.data(c.rank, length) for length in (5, 1, 300, 20)]
    works = [dist.all_reduce(t, group=c.group, async_op=True) for t in tensors]
    for work in reversed(works):
        work.wait()
    for t in tensors:
        c.expect("all_reduce in flight", t, reduced(c.everyone(len(t)), Op.SUM))
    future = dist.all_reduce(c.data(c.rank), group=c.group, async_op=True).get_future()
    doubled = future.then(lambda done: 2 * done.value()[0]).wait()
    c.expect("future of all_reduce", doubled, 2 * reduced(c.everyone(), Op.SUM))


def point_to_point(c: Context) -> None:
    if c.size == 1:
        return
    right, left = (c.rank + 1) % c.size, (c.rank - 1) % c.size
    for length, dtype in variants():
        got = torch.empty(length, dtype=dtype)
        sends = [dist.isend(c.data(c.rank + tag, length, dtype), c.ranks[right], c.group, tag) for tag in (1, 2)]
        for tag in (2, 1):  # Against the order of sending: the tag decides.
            dist.irecv(got, c.ranks[left], c.group, tag).wait()
            c.expect(f"irecv {tag} {dtype}", got, c.data(left + tag, length, dtype))
        for send in sends:
            send.wait()
        there = dist.P2POp(dist.isend, c.data(c.rank, length, dtype), c.ranks[right], c.group)
        here = dist.P2POp(dist.irecv, got, c.ranks[left], c.group)
        for work in dist.batch_isend_irecv([there, here]):
            work.wait()
        c.expect(f"batch_isend_irecv {dtype}", got, c.data(left, length, dtype))
    if c.rank == 0:
        got = torch.empty(7)
        senders = []
        for _ in range(c.size - 1):
            senders.append(c.ranks.index(dist.recv(got, group=c.group)))
            c.expect("recv from anyone", got, c.data(senders[-1]))
        c.expect("senders", sorted(senders), list(range(1, c.size)))
    else:
        dist.send(c.data(c.rank), c.ranks[0], c.group)


def objects(c: Context) -> None:
    mine = {"rank": c.rank, "text": "x" * c.rank, "tensor": c.data(c.rank).tolist()}
    everyone = [{"rank": r, "text": "x" * r, "tensor": c.data(r).tolist()} for r in range(c.size)]
    got = [None] * c.size
    dist.all_gather_object(got, mine, group=c.group)
    c.expect("all_gather_object", got, everyone)
    root = c.size - 1
    got = [None] * c.size if c.rank == root else None
    dist.gather_object(mine, got, dst=c.ranks[root], group=c.group)
    c.expect("gather_object", got, everyone if c.rank == root else None)
    got = list(everyone) if c.rank == root else [None] * c.size
    dist.broadcast_object_list(got, src=c.ranks[root], group=c.group)
    c.expect("broadcast_object_list", got, everyone)
    got = [None]
    dist.scatter_object_list(got, everyone if c.rank == root else None, src=c.ranks[root], group=c.group)
    c.expect("scatter_object_list", got, [mine])


def barriers(c: Context) -> None:
    c.call(dist.barrier)
    if dist.get_backend(c.group) == "gloo":  # By name: a group made without one is refused.
        dist.monitored_barrier(group=c.group)


CASES = (
    all_reduce, reduce, broadcast, all_gather, gather_and_scatter, reduce_scatter, all_to_all, uneven_all_to_all,
    several_at_once, point_to_point, objects, barriers,
)  # fmt: skip


def main() -> None:
    parser = launch.parser(__doc__)
    names = [case.__name__ for case in CASES]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="CASE", help=", ".join(names))
    run = launch.start(parser)
    everyone = list(range(run.world))
    contexts = [Context(dist.group.WORLD, everyone, run.rank, asynchronous) for asynchronous in (False, True)]
    for ranks in (everyone[::2], everyone[1::2]):
        if ranks:
            group = dist.new_group(ranks, backend="gloo")
            if run.rank in ranks:
                contexts.append(Context(group, ranks, ranks.index(run.rank)))

    seconds = {}
    for case in CASES:
        if case.__name__ in run.args.only:
            began = run.begin()
            for context in contexts:
                case(context)
            seconds[case.__name__] = time.perf_counter() - began

    everyones = [None] * run.world
    dist.all_gather_object(everyones, [f"rank {run.rank}: {text}" for context in contexts for text in context.wrong])
    wrong = [text for texts in everyones for text in texts]
    text = "\n".join([f"{name:<20} {1e3 * value:>8.1f} ms" for name, value in seconds.items()] + wrong)
    equal = not wrong if run.args.check or wrong else None
    run.finish(text, {"seconds": seconds, "wrong": wrong}, equal, to="what is due")


if __name__ == "__main__":
    main()
