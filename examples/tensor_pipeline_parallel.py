# SPDX-License-Identifier: Apache-2.0
"""Tensor and pipeline parallelism together: stages of layers, each stage cut over a group of ranks.

Consecutive ranks form a tensor group, which is where traffic is heaviest. Each rank passes activations to its
counterpart in the next stage; the last stage picks the token, and the last rank broadcasts it to all.

    torchrun --nproc-per-node 4 examples/tensor_pipeline_parallel.py --stages 2 --check
"""

import argparse
import time

import torch
import torch.distributed as dist
from torch import Tensor

from common import checkpoint, generation, launch, llama
from common.launch import share
from tensor_parallel import TensorParallelLlama


def add_stages(parser: argparse.ArgumentParser) -> None:
    text = "pipeline stages; must divide the number of ranks (default 2, or as many as ranks if that is odd)"
    parser.add_argument("--stages", type=int, metavar="N", help=text)


def stages_of(run: launch.Run, config: llama.Config) -> int:
    stages = run.args.stages or (2 if run.world % 2 == 0 else run.world)
    run.require(stages > 0 and run.world % stages == 0, f"--stages {stages} does not divide {run.world} ranks")
    run.require(stages <= config.layers, f"at most {config.layers} stages: each needs a layer")
    per_stage = run.world // stages
    run.require(per_stage <= config.kv_heads, f"at most {config.kv_heads} ranks per stage: each needs a key-value head")
    return stages


class TensorPipelineLlama:
    def __init__(self, config: llama.Config, weights: llama.Weights, stages: int) -> None:
        self.config, self.world = config, dist.get_world_size()
        self.width = self.world // stages  # Ranks per stage.
        self.rank = dist.get_rank()
        groups = [dist.new_group(range(begin, begin + self.width)) for begin in range(0, self.world, self.width)]
        stage = self.rank // self.width
        self.is_first, self.is_last = stage == 0, stage == stages - 1
        self.layers = TensorParallelLlama(config, weights, share(config.layers, stages, stage), groups[stage])

    def reset(self) -> None:
        self.layers.reset()

    def next_token(self, tokens: Tensor, positions: Tensor, last: Tensor) -> Tensor:
        if self.is_first:
            x = self.layers.embed(tokens)
        else:
            x = torch.empty(*tokens.shape, self.config.dim)
            dist.recv(x, src=self.rank - self.width)
        x = self.layers.forward(x, positions)
        if self.is_last:
            chosen = self.layers.logits(llama.rows(x, last)).argmax(-1)
        else:
            dist.send(x, dst=self.rank + self.width)
            chosen = torch.empty_like(last)
        dist.broadcast(chosen, src=self.world - 1)
        return chosen


def main() -> None:
    parser = generation.parser(__doc__)
    add_stages(parser)
    run, config, prompt = generation.start(parser)
    stages = stages_of(run, config)
    weights = checkpoint.load(config)
    model = TensorPipelineLlama(config, weights, stages)

    began = run.begin()
    [tokens] = llama.generate(model.next_token, [prompt], run.args.tokens)
    generation.finish(run, config, weights, tokens, time.perf_counter() - began)


if __name__ == "__main__":
    main()
