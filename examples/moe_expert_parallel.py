# SPDX-License-Identifier: Apache-2.0
"""Expert parallelism: each rank has some of the experts of a mixture, tokens travel to them and back.

A router sends every token to its two best experts. How many go where is known only at run time, so the counts are
exchanged first, then the tokens with an all-to-all of uneven parts, and the results the same way back. --check computes
all tokens with all experts in one process (1e-4 absolute).

    torchrun --nproc-per-node 2 examples/moe_expert_parallel.py --check
"""

import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from common import launch
from common.checkpoint import random
from common.launch import length, share


class Expert:
    def __init__(self, index: int, dim: int, hidden: int) -> None:
        self.up, self.down = random(f"up {index}", (dim, hidden)), random(f"down {index}", (hidden, dim))

    def __call__(self, x: Tensor) -> Tensor:
        return F.gelu(x @ self.up) @ self.down


def route(x: Tensor, experts: int) -> tuple[Tensor, Tensor]:
    """The two best experts of every token, and how much each counts. Low numbers are favoured: loads are uneven."""
    scores = x @ random("router", (x.shape[-1], experts)) - torch.arange(experts) / experts
    best = scores.topk(2, dim=-1)
    return best.indices, best.values.softmax(-1)


def exchange(x: Tensor, outgoing: list[int], incoming: list[int]) -> Tensor:
    received = x.new_empty(sum(incoming), *x.shape[1:])
    dist.all_to_all_single(received, x, incoming, outgoing)
    return received


def mixture(x: Tensor, experts: list[Expert], parts: list[slice]) -> tuple[Tensor, int]:
    """The output for my tokens by all experts, and the number of tokens that my `experts` had."""
    total, ranks, mine = parts[-1].stop, len(parts), len(experts)
    indices, gates = route(x, total)
    order = indices.flatten().argsort(stable=True)  # Slots (token, choice) by expert, hence also by rank.
    counts = indices.flatten().bincount(minlength=total)
    arriving = exchange(counts, [length(part) for part in parts], [mine] * ranks).view(ranks, mine)
    outgoing = [int(counts[part].sum()) for part in parts]
    incoming = arriving.sum(dim=1).tolist()
    tokens = exchange(x[order // 2], outgoing, incoming)

    owner = torch.arange(mine).repeat(ranks).repeat_interleave(arriving.flatten())
    results = torch.empty_like(tokens)
    for local, expert in enumerate(experts):
        results[owner == local] = expert(tokens[owner == local])

    back = torch.empty(len(order), x.shape[-1])
    back[order] = exchange(results, incoming, outgoing)
    return (back.view(len(x), 2, -1) * gates[..., None]).sum(dim=1), len(tokens)


def main() -> None:
    parser = launch.parser(__doc__)
    parser.add_argument("--experts", type=int, default=8, metavar="N", help="in all (default 8)")
    parser.add_argument("--rows", type=int, default=64, metavar="N", help="tokens per rank (default 64)")
    parser.add_argument("--dim", type=int, default=64, metavar="N")
    parser.add_argument("--hidden", type=int, default=128, metavar="N")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="of the same tokens (default 1)")
    run = launch.start(parser)
    args = run.args
    run.require(args.experts >= 2, "a token goes to two experts: --experts must be at least 2")
    run.require(args.rounds >= 1, "--rounds must be at least 1")
    run.require(run.world <= args.experts, f"at most {args.experts} ranks: each needs an expert")
    everything = random("tokens", (run.world * args.rows, args.dim), scale=1.0)
    parts = [share(args.experts, run.world, rank) for rank in range(run.world)]
    experts = [Expert(index, args.dim, args.hidden) for index in range(args.experts)[parts[run.rank]]]

    began = run.begin()
    for _ in range(args.rounds):
        output, load = mixture(everything[run.rank * args.rows : (run.rank + 1) * args.rows], experts, parts)
    seconds = time.perf_counter() - began

    loads = [torch.empty(1, dtype=torch.int64) for _ in range(run.world)]
    dist.all_gather(loads, torch.tensor([load]))
    gathered = [torch.empty_like(output) for _ in range(run.world)]
    dist.all_gather(gathered, output)
    equal = None
    if run.checks:
        indices, gates = route(everything, args.experts)
        all_experts = [Expert(index, args.dim, args.hidden) for index in range(args.experts)]
        every = torch.stack([expert(everything) for expert in all_experts], dim=1)
        chosen = every.gather(1, indices[..., None].expand(-1, -1, args.dim))
        equal = torch.allclose(torch.cat(gathered), (chosen * gates[..., None]).sum(dim=1), rtol=0, atol=1e-4)
    per_rank = [int(value) for value in loads]
    text = f"{len(everything)} tokens, {args.experts} experts on {run.world} ranks in {seconds:.3f} s\n"
    text += "tokens per rank: " + ", ".join(map(str, per_rank))
    run.finish(text, {"tokens_per_rank": per_rank, "seconds": seconds}, equal)


if __name__ == "__main__":
    main()
