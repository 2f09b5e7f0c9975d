# SPDX-License-Identifier: Apache-2.0
"""N copies of one model that do not talk to each other, and give up the processor now and then.

After each layer a copy calls time.sleep(0) with a probability: how much do such calls cost, and do the copies disturb
each other? On hardware of their own the time would depend on neither. With --by barrier the copies meet at a barrier
instead (all draw from the same seed, so they agree on where), which adds the latency of the network.

    torchrun --nproc-per-node 2 examples/yield_benchmark.py --probability 0.5 --check
"""

import argparse
import random
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from common import checkpoint, generation, llama


class YieldingLlama(llama.Llama):
    def __init__(self, config: llama.Config, weights: llama.Weights, args: argparse.Namespace) -> None:
        super().__init__(config, weights)
        self.probability, self.rng, self.count = args.probability, random.Random(args.seed), 0
        self.pause = dist.barrier if args.by == "barrier" else lambda: time.sleep(0)

    def next_token(self, tokens: Tensor, positions: Tensor, last: Tensor) -> Tensor:
        x = F.embedding(tokens, self.weights["embedding"])
        for layer, cache in zip(self.layers, self.caches, strict=True):
            x = llama.decoder_layer(self.config, layer, x, positions, cache)
            if self.rng.random() < self.probability:
                self.count += 1
                self.pause()
        return llama.head(self.weights, llama.rows(x, last)).argmax(-1)


def main() -> None:
    parser = generation.parser(__doc__)
    parser.add_argument("--probability", type=float, default=0.5, metavar="P", help="of a call after a layer")
    parser.add_argument("--by", choices=("sleep", "barrier"), default="sleep", help="the call (default sleep)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of where the calls are (default 0)")
    run, config, prompt = generation.start(parser)
    weights = checkpoint.load(config)
    model = YieldingLlama(config, weights, run.args)

    began = run.begin()
    [tokens] = llama.generate(model.next_token, [prompt], run.args.tokens)
    seconds = time.perf_counter() - began

    copies = [torch.empty(len(tokens), dtype=torch.int64) for _ in range(run.world)]
    dist.all_gather(copies, torch.tensor(tokens))
    times = [torch.empty(1, dtype=torch.float64) for _ in range(run.world)]
    dist.all_gather(times, torch.tensor([seconds], dtype=torch.float64))
    per_rank = [float(value) for value in times]
    equal = None
    if run.checks:
        [expected] = llama.generate(llama.Llama(config, weights).next_token, [prompt], len(tokens))
        equal = all(copy.tolist() == expected for copy in copies)
    text = f"{run.world} copies, {len(tokens)} tokens each, {model.count} calls of {run.args.by} in each\n"
    text += f"seconds per copy: least {min(per_rank):.3f}, most {max(per_rank):.3f}"
    result = {"calls": model.count, "seconds": max(per_rank), "seconds_per_rank": per_rank}
    run.finish(text, result, equal)


if __name__ == "__main__":
    main()
