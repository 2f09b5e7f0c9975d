# SPDX-License-Identifier: Apache-2.0
"""A Llama-style decoder from plain functions: RMSNorm, RoPE, grouped-query attention, SwiGLU, key-value cache.

The functions take the number of heads from the shape of the weights, so they work on a slice of a layer as well.
Activations are [batch, position, ...]. `positions` holds the place of every row in its own sequence; rows at PADDING
stand behind everything, so that no other row looks at them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

PADDING = 1 << 20
VOCABULARY = 256  # A token is a byte.

Weights = dict[str, Tensor]
NextToken = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Config:
    dim: int = 256
    layers: int = 8
    heads: int = 16
    kv_heads: int = 8
    head_dim: int = 16
    hidden: int = 512
    weights_seed: int = 9


def encode(text: str) -> list[int]:
    return list(text.encode())


def decode(tokens: Sequence[int]) -> str:
    return bytes(tokens).decode(errors="replace")


def layer_of(weights: Weights, index: int) -> Weights:
    """The weights of one layer, by their short names."""
    prefix = f"layers.{index}."
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, weight.shape, weight, eps=1e-5)


def split_heads(x: Tensor, config: Config) -> Tensor:
    return x.unflatten(-1, (-1, config.head_dim))


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """RoPE: turns the two halves of every head by angles that grow with the position."""
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** (-torch.arange(half) / half)
    angles = positions[..., None, None] * frequencies
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def attend(q: Tensor, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """Causal attention; every key-value head serves several query heads."""
    visible = key_positions[:, None, None, :] <= query_positions[:, None, :, None]
    groups = q.shape[2] // k.shape[2]
    k, v = (t.repeat_interleave(groups, dim=2).transpose(1, 2) for t in (k, v))
    result = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=visible)
    return result.transpose(1, 2).flatten(-2)


class Cache:
    """The keys and values one layer has seen, with their positions."""

    def __init__(self) -> None:
        self.stored: tuple[Tensor, ...] = ()

    def extend(self, *new: Tensor) -> tuple[Tensor, ...]:
        pairs = zip(self.stored, new, strict=True) if self.stored else ()
        self.stored = tuple(torch.cat(pair, dim=1) for pair in pairs) or new
        return self.stored


def keys_and_values(config: Config, layer: Weights, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    k = rotate(split_heads(F.linear(x, layer["wk"]), config), positions)
    return k, split_heads(F.linear(x, layer["wv"]), config)


def attention(config: Config, layer: Weights, x: Tensor, positions: Tensor, cache: Cache) -> Tensor:
    q = rotate(split_heads(F.linear(x, layer["wq"]), config), positions)
    k, v, key_positions = cache.extend(*keys_and_values(config, layer, x, positions), positions)
    return F.linear(attend(q, k, v, positions, key_positions), layer["wo"])


def feed_forward(layer: Weights, x: Tensor) -> Tensor:
    return F.linear(F.silu(F.linear(x, layer["w1"])) * F.linear(x, layer["w3"]), layer["w2"])


def decoder_layer(config: Config, layer: Weights, x: Tensor, positions: Tensor, cache: Cache) -> Tensor:
    x = x + attention(config, layer, rms_norm(x, layer["attention_norm"]), positions, cache)
    return x + feed_forward(layer, rms_norm(x, layer["ffn_norm"]))


def head(weights: Weights, x: Tensor) -> Tensor:
    return F.linear(rms_norm(x, weights["norm"]), weights["output"])


def rows(x: Tensor, last: Tensor) -> Tensor:
    """The last true row of every sequence of the batch."""
    return x[torch.arange(len(last)), last]


class Llama:
    """The whole model in one process: the reference of every example."""

    def __init__(self, config: Config, weights: Weights) -> None:
        self.config, self.weights = config, weights
        self.layers = [layer_of(weights, index) for index in range(config.layers)]
        self.caches = [Cache() for _ in self.layers]

    def next_token(self, tokens: Tensor, positions: Tensor, last: Tensor) -> Tensor:
        x = F.embedding(tokens, self.weights["embedding"])
        for layer, cache in zip(self.layers, self.caches, strict=True):
            x = decoder_layer(self.config, layer, x, positions, cache)
        return head(self.weights, rows(x, last)).argmax(-1)


@torch.inference_mode()
def generate(next_token: NextToken, prompts: Sequence[list[int]], count: int) -> list[list[int]]:
    """Greedy continuation of a batch of prompts, which may differ in length."""
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    width = int(lengths.max())
    tokens = torch.tensor([prompt + [0] * (width - len(prompt)) for prompt in prompts])
    positions = torch.arange(width).expand(len(prompts), -1)
    positions = torch.where(positions < lengths[:, None], positions, PADDING)
    last = lengths - 1
    chosen: list[Tensor] = []
    for step in range(count):
        chosen.append(next_token(tokens, positions, last))
        tokens, positions, last = chosen[-1][:, None], (lengths + step)[:, None], torch.zeros_like(last)
    return torch.stack(chosen, dim=1).tolist()
