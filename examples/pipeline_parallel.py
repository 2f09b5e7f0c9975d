# SPDX-License-Identifier: Apache-2.0
"""Pipeline parallelism: every rank holds some of the layers and passes activations on to the next.

Rank 0 embeds the tokens, the last rank has the head, picks the next token and broadcasts it. One sequence is in flight,
so the stages work in turn; there must be a layer for every rank.

    torchrun --nproc-per-node 2 examples/pipeline_parallel.py --check
"""

import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from common import checkpoint, generation, llama
from common.launch import share


class Stage:
    def __init__(self, config: llama.Config, weights: llama.Weights) -> None:
        self.config, self.weights = config, weights
        self.rank, self.last_rank = dist.get_rank(), dist.get_world_size() - 1
        span = share(config.layers, dist.get_world_size(), self.rank)
        self.layers = [llama.layer_of(weights, index) for index in range(span.start, span.stop)]
        self.caches = [llama.Cache() for _ in self.layers]

    def next_token(self, tokens: Tensor, positions: Tensor, last: Tensor) -> Tensor:
        if self.rank == 0:
            x = F.embedding(tokens, self.weights["embedding"])
        else:
            x = torch.empty(*tokens.shape, self.config.dim)
            dist.recv(x, src=self.rank - 1)
        for layer, cache in zip(self.layers, self.caches, strict=True):
            x = llama.decoder_layer(self.config, layer, x, positions, cache)
        if self.rank == self.last_rank:
            chosen = llama.head(self.weights, llama.rows(x, last)).argmax(-1)
        else:
            dist.send(x, dst=self.rank + 1)
            chosen = torch.empty_like(last)
        dist.broadcast(chosen, src=self.last_rank)
        return chosen


def main() -> None:
    run, config, prompt = generation.start(generation.parser(__doc__))
    run.require(run.world <= config.layers, f"at most {config.layers} ranks: each needs a layer")
    weights = checkpoint.load(config)
    stage = Stage(config, weights)

    began = run.begin()
    [tokens] = llama.generate(stage.next_token, [prompt], run.args.tokens)
    generation.finish(run, config, weights, tokens, time.perf_counter() - began)


if __name__ == "__main__":
    main()
