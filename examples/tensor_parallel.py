# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism as in Megatron-LM: every rank holds a slice of every matrix, and they generate text together.

The first matrices of attention and feed-forward are cut by rows (heads, hidden units), the second ones by columns, so
that one all-reduce after each is enough. The vocabulary is cut too: one all-reduce after the embedding, one all-gather
of the logits. Shares may be uneven; there must be a key-value head for every rank.

    torchrun --nproc-per-node 2 examples/tensor_parallel.py --check
"""

import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from common import checkpoint, generation, llama
from common.launch import length, share


def shard(config: llama.Config, layer: llama.Weights, part: int, parts: int) -> llama.Weights:
    """The slices of one layer that belong to one rank: views, so the file's pages stay shared."""
    kv = share(config.kv_heads, parts, part)
    per_kv, size = config.heads // config.kv_heads, config.head_dim
    queries = slice(kv.start * per_kv * size, kv.stop * per_kv * size)
    keys = slice(kv.start * size, kv.stop * size)
    hidden = share(config.hidden, parts, part)
    cut = {"wq": queries, "wk": keys, "wv": keys, "w1": hidden, "w3": hidden}
    result = {name: layer[name][rows] for name, rows in cut.items()}
    result |= {"wo": layer["wo"][:, queries], "w2": layer["w2"][:, hidden]}
    return result | {name: layer[name] for name in ("attention_norm", "ffn_norm")}


class TensorParallelLlama:
    """The layers of `span`, cut over the ranks of `group`. With all layers it is a whole model."""

    def __init__(self, config: llama.Config, weights: llama.Weights, span: slice, group: dist.ProcessGroup) -> None:
        self.config, self.weights, self.group = config, weights, group
        self.part, self.parts = dist.get_rank(group), dist.get_world_size(group)
        self.layers = [
            shard(config, llama.layer_of(weights, index), self.part, self.parts)
            for index in range(span.start, span.stop)
        ]
        self.vocabulary = [share(llama.VOCABULARY, self.parts, part) for part in range(self.parts)]
        self.reset()

    def reset(self) -> None:
        self.caches = [llama.Cache() for _ in self.layers]

    def sum(self, x: Tensor) -> Tensor:
        dist.all_reduce(x, group=self.group)
        return x

    def embed(self, tokens: Tensor) -> Tensor:
        mine = self.vocabulary[self.part]
        known = (tokens >= mine.start) & (tokens < mine.stop)
        x = F.embedding(torch.where(known, tokens - mine.start, 0), self.weights["embedding"][mine])
        return self.sum(x * known[..., None])

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        for layer, cache in zip(self.layers, self.caches, strict=True):
            normed = llama.rms_norm(x, layer["attention_norm"])
            x = x + self.sum(llama.attention(self.config, layer, normed, positions, cache))
            x = x + self.sum(llama.feed_forward(layer, llama.rms_norm(x, layer["ffn_norm"])))
        return x

    def logits(self, x: Tensor) -> Tensor:
        mine = self.weights["output"][self.vocabulary[self.part]]
        partial = F.linear(llama.rms_norm(x, self.weights["norm"]), mine)
        widest = length(self.vocabulary[0])
        gathered = [torch.empty(len(x), widest) for _ in self.vocabulary]
        dist.all_gather(gathered, F.pad(partial, (0, widest - len(mine))), group=self.group)
        return torch.cat([g[:, : length(part)] for g, part in zip(gathered, self.vocabulary, strict=True)], dim=-1)

    def next_token(self, tokens: Tensor, positions: Tensor, last: Tensor) -> Tensor:
        x = self.forward(self.embed(tokens), positions)
        return self.logits(llama.rows(x, last)).argmax(-1)


def main() -> None:
    run, config, prompt = generation.start(generation.parser(__doc__))
    run.require(run.world <= config.kv_heads, f"at most {config.kv_heads} ranks: each needs a key-value head")
    weights = checkpoint.load(config)
    model = TensorParallelLlama(config, weights, slice(0, config.layers), dist.group.WORLD)

    began = run.begin()
    [tokens] = llama.generate(model.next_token, [prompt], run.args.tokens)
    generation.finish(run, config, weights, tokens, time.perf_counter() - began)


if __name__ == "__main__":
    main()
