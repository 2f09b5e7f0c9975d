# SPDX-License-Identifier: Apache-2.0
"""Decoders of several shapes, timed one after the other: device_decoder.py cpu|virtual STEPS SHAPE...

A shape is "mode:width:heads:inner:batch:length" with mode prefill, decode or train. Prints one JSON line: seconds of
one step each, by CPU time (the least of STEPS steps) or by the clock that the program sees (their mean). Plain torch:
it runs by itself and under `orrery run`.
"""

import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional

LAYERS = 2


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x, past=None):
        batch, length, width = x.shape
        parts = self.qkv(self.first(x)).split(width, dim=-1)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.second(x))))


def prepare(shape: str):
    mode, *numbers = shape.split(":")
    width, heads, inner, batch, length = map(int, numbers)
    torch.manual_seed(0)
    layers = nn.ModuleList(Layer(width, heads, inner) for _ in range(LAYERS))
    if mode == "decode":
        past = [torch.randn(2, batch, heads, length, width // heads) for _ in layers]
        x = torch.randn(batch, 1, width)

        def decode():
            y = x
            for layer, kept in zip(layers, past):
                y = layer(y, kept)

        return torch.no_grad()(decode)
    x = torch.randn(batch, length, width)
    model = nn.Sequential(*layers)
    if mode == "prefill":
        return torch.no_grad()(lambda: model(x))
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    def train():
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return train


def main() -> None:
    clock_name, steps, shapes = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    torch.set_num_threads(1)
    clock = time.thread_time if clock_name == "cpu" else time.perf_counter
    seconds = []
    for shape in shapes:
        step = prepare(shape)
        for _ in range(2):
            step()
        times = []
        for _ in range(steps):
            begin = clock()
            step()
            times.append(clock() - begin)
        seconds.append(min(times) if clock_name == "cpu" else sum(times) / len(times))
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
