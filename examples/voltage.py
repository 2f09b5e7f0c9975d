# SPDX-License-Identifier: Apache-2.0
"""Voltage: the positions of the prompt are cut over the ranks, every rank holds all weights.

After Hu and Li, "When the Edge Meets Transformers" (ICDCS 2024). In each layer a rank computes keys and values of all
positions, but queries, attention and feed-forward of its own positions only; one all-gather per layer puts the rows
together again. Shares may be uneven, and a decoding step has fewer positions than ranks: those without rows still
keep the cache and take part in the all-gather.

    torchrun --nproc-per-node 2 examples/voltage.py --check
"""

import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from common import checkpoint, generation, llama
from common.launch import length, share


class Voltage:
    def __init__(self, config: llama.Config, weights: llama.Weights) -> None:
        self.config, self.weights = config, weights
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.layers = [llama.layer_of(weights, index) for index in range(config.layers)]
        self.caches = [llama.Cache() for _ in self.layers]

    def parts(self, count: int) -> list[slice]:
        return [share(count, self.world, rank) for rank in range(self.world)]

    def begin_gather(self, mine: Tensor, parts: list[slice]) -> tuple[list[Tensor], dist.Work]:
        """All ranks send as many rows as the first: the others repeat their last row."""
        missing = length(parts[0]) - mine.shape[1]
        padding = mine[:, -1:] if mine.shape[1] else mine.new_zeros(1, 1, self.config.dim)
        padded = torch.cat([mine] + [padding] * missing, dim=1)
        gathered = [torch.empty_like(padded) for _ in parts]
        return gathered, dist.all_gather(gathered, padded, async_op=True)

    def end_gather(self, pending: tuple[list[Tensor], dist.Work], parts: list[slice]) -> Tensor:
        gathered, work = pending
        work.wait()
        return torch.cat([rows[:, : length(part)] for rows, part in zip(gathered, parts, strict=True)], dim=1)

    def queries(self, index: int, normed: Tensor, positions: Tensor) -> Tensor:
        q = F.linear(normed, self.layers[index]["wq"])
        return llama.rotate(llama.split_heads(q, self.config), positions)

    def attend(self, index: int, q: Tensor, normed: Tensor, positions: Tensor, mine: slice) -> Tensor:
        """Attention of my rows over the keys and values of all rows."""
        layer = self.layers[index]
        k, v = llama.keys_and_values(self.config, layer, normed, positions)
        k, v, key_positions = self.caches[index].extend(k, v, positions)
        return F.linear(llama.attend(q, k, v, positions[:, mine], key_positions), layer["wo"])

    def logits(self, tokens: Tensor, start: int) -> Tensor:
        parts = self.parts(tokens.shape[1])
        mine = parts[self.rank]
        positions = start + torch.arange(tokens.shape[1])[None]
        x = F.embedding(tokens, self.weights["embedding"])
        for index, layer in enumerate(self.layers):
            normed = llama.rms_norm(x, layer["attention_norm"])
            q = self.queries(index, normed[:, mine], positions[:, mine])
            h = x[:, mine] + self.attend(index, q, normed, positions, mine)
            y = h + llama.feed_forward(layer, llama.rms_norm(h, layer["ffn_norm"]))
            x = self.end_gather(self.begin_gather(y, parts), parts)
        return llama.head(self.weights, x)


@torch.inference_mode()
def serve(model: Voltage, prompt: list[int], count: int) -> list[int]:
    """Rank 0 says what is next, tokens and where they start; None sends the others home. They return []."""
    result: list[int] = []
    step: tuple[list[int], int] | None = (prompt, 0) if model.rank == 0 else None
    while True:
        message = [step]
        dist.broadcast_object_list(message, src=0)
        if message[0] is None:
            return result
        tokens, start = message[0]
        logits = model.logits(torch.tensor([tokens]), start)
        if model.rank == 0:
            result.append(int(logits[0, -1].argmax()))
            step = (result[-1:], start + len(tokens)) if len(result) < count else None


def main() -> None:
    run, config, prompt = generation.start(generation.parser(__doc__))
    weights = checkpoint.load(config)
    model = Voltage(config, weights)

    began = run.begin()
    tokens = serve(model, prompt, run.args.tokens)
    generation.finish(run, config, weights, tokens, time.perf_counter() - began)


if __name__ == "__main__":
    main()
