# SPDX-License-Identifier: Apache-2.0
"""A small residual network, data from a fixed teacher, and training in one process: the reference of the examples."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from common.checkpoint import random

DIM = 48


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.up = nn.Linear(DIM, 2 * DIM)
        self.down = nn.Linear(2 * DIM, DIM)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))


def build(layers: int) -> nn.Sequential:
    """The same weights on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(layers)))


def optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def batch(step: int, rows: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of one step, of all ranks together."""
    x = random(f"step {step}", (rows, DIM), scale=1.0)
    return x, torch.tanh(x @ random("teacher", (DIM, DIM)))


def loss_of(output: Tensor, target: Tensor) -> Tensor:
    return F.mse_loss(output, target)


def train(model: nn.Module, steps: int, data: Callable[[int], tuple[Tensor, Tensor]]) -> list[float]:
    """Plain training; returns the loss of each step."""
    sgd, losses = optimizer(model), []
    for step in range(steps):
        x, y = data(step)
        loss = loss_of(model(x), y)
        loss.backward()
        sgd.step()
        sgd.zero_grad()
        losses.append(loss.item())
    return losses


def largest_difference(state: dict[str, Tensor], expected: dict[str, Tensor]) -> float:
    assert state.keys() == expected.keys()
    return max((state[name] - expected[name]).abs().max().item() for name in expected)
