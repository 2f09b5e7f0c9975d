# SPDX-License-Identifier: Apache-2.0
"""Ring attention: a long sequence is cut over the ranks, keys and values travel round the ring.

After Liu, Zaharia and Abbeel (2023). Each rank keeps its queries. In every round it attends to the block of keys and
values it holds, while that block is already on its way to the next rank; partial results are merged by their softmax
sums. Causal: later blocks are passed on, not computed. --check compares with attention in one process (1e-5 absolute).

    torchrun --nproc-per-node 2 examples/ring_attention.py --check
"""

import time

import torch
import torch.distributed as dist
from torch import Tensor

from common import launch
from common.checkpoint import random
from common.launch import length, share


def partial_attention(q: Tensor, k: Tensor, v: Tensor, first_query: int, first_key: int) -> tuple[Tensor, Tensor]:
    """Attention to one block, [heads, rows, size], and the logarithm of its softmax sums, [heads, rows, 1]."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    rows, columns = first_query + torch.arange(q.shape[1]), first_key + torch.arange(k.shape[1])
    scores = scores.masked_fill(columns > rows[:, None], -torch.inf)
    total = scores.logsumexp(-1, keepdim=True)
    return (scores - total).exp() @ v, total


def pass_on(block: Tensor, incoming: Tensor) -> list[dist.Work]:
    """Starts to send to the next rank and to receive from the one before."""
    rank, world = dist.get_rank(), dist.get_world_size()
    send = dist.P2POp(dist.isend, block, (rank + 1) % world)
    receive = dist.P2POp(dist.irecv, incoming, (rank - 1) % world)
    return dist.batch_isend_irecv([send, receive])


def ring_attention(run: launch.Run, q: Tensor, block: Tensor, parts: list[slice]) -> Tensor:
    """`q` are my queries; `block` are my keys and values, stacked."""
    result, total = torch.zeros_like(q), torch.full((*q.shape[:2], 1), -torch.inf)
    for step in range(run.world):
        source = (run.rank - step) % run.world  # Whose block this is.
        is_last = step == run.world - 1
        if not is_last:
            incoming = block.new_empty(2, len(q), length(parts[source - 1]), q.shape[-1])
            transfers = pass_on(block, incoming)
        if source <= run.rank:
            part, part_total = partial_attention(q, *block, parts[run.rank].start, parts[source].start)
            merged = torch.logaddexp(total, part_total)
            result = result * (total - merged).exp() + part * (part_total - merged).exp()
            total = merged
        if not is_last:
            for transfer in transfers:
                transfer.wait()
            block = incoming
    return result


def main() -> None:
    parser = launch.parser(__doc__)
    parser.add_argument("--positions", type=int, default=257, metavar="N", help="of the sequence (default 257)")
    parser.add_argument("--heads", type=int, default=4, metavar="N")
    parser.add_argument("--head-dim", type=int, default=32, metavar="N")
    run = launch.start(parser)
    args = run.args
    run.require(run.world <= args.positions, f"at most {args.positions} ranks: each needs a position")
    shape = (args.heads, args.positions, args.head_dim)
    q, k, v = (random(name, shape, scale=1.0) for name in ("queries", "keys", "values"))
    parts = [share(args.positions, run.world, rank) for rank in range(run.world)]
    mine = parts[run.rank]

    began = run.begin()
    output = ring_attention(run, q[:, mine], torch.stack((k[:, mine], v[:, mine])), parts)
    seconds = time.perf_counter() - began

    gathered = [None] * run.world if run.rank == 0 else None
    dist.gather_object(output, gathered)
    equal, difference = None, 0.0
    if run.checks:
        expected, _ = partial_attention(q, k, v, 0, 0)
        difference = (torch.cat(gathered, dim=1) - expected).abs().max().item()
        equal = difference <= 1e-5
    sizes = ", ".join(str(length(part)) for part in parts)
    text = f"{args.positions} positions on {run.world} ranks ({sizes}) in {seconds:.4f} s"
    result = {"positions_per_rank": [length(part) for part in parts], "seconds": seconds}
    run.finish(text, result | {"largest_difference": difference}, equal)


if __name__ == "__main__":
    main()
