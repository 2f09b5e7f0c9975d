# SPDX-License-Identifier: Apache-2.0
"""Tensor and sequence parallel training from a plan: parallelize_module with DTensor.

The model is written for one process. The plan cuts the matrices (ColwiseParallel, RowwiseParallel) and, between them,
the sequence (SequenceParallel), so that norms and residuals touch only a rank's own positions: all-gather in front of
attention and feed-forward, reduce-scatter behind. --check trains the same model without the plan: losses and every
parameter must agree (1e-4 absolute).

    torchrun --nproc-per-node 2 examples/dtensor_sequence_parallel.py --check
"""

import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from common import launch, training

VOCABULARY, DIM, HEADS, HEAD_DIM, HIDDEN, POSITIONS = 264, 96, 24, 4, 192, 48  # All multiples of 24.


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(DIM, HEADS * HEAD_DIM, bias=False) for _ in range(3))
        self.out = nn.Linear(HEADS * HEAD_DIM, DIM, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(-1, (-1, HEAD_DIM)).transpose(1, 2) for f in (self.q, self.k, self.v))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(DIM), Attention()
        self.ffn_norm, self.ffn = nn.LayerNorm(DIM), FeedForward()

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.ffn(self.ffn_norm(x))


class Model(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        torch.manual_seed(0)  # The same weights on every rank.
        self.embedding = nn.Embedding(VOCABULARY, DIM)
        self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.embedding(tokens))))


def parallelize(model: Model, mesh: DeviceMesh) -> None:
    whole, cut = Replicate(), Shard(1)  # Of activations: all positions, or this rank's.
    gather = PrepareModuleInput(input_layouts=cut, desired_input_layouts=whole)
    block_plan = {
        "attention_norm": SequenceParallel(),
        "attention": gather,
        **{f"attention.{name}": ColwiseParallel() for name in ("q", "k", "v")},
        "attention.out": RowwiseParallel(output_layouts=cut),
        "ffn_norm": SequenceParallel(),
        "ffn": gather,
        "ffn.up": ColwiseParallel(),
        "ffn.down": RowwiseParallel(output_layouts=cut),
    }
    for block in model.blocks:
        parallelize_module(block, mesh, block_plan)
    model_plan = {
        "embedding": RowwiseParallel(input_layouts=whole, output_layouts=cut),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=cut, output_layouts=whole),
    }
    parallelize_module(model, mesh, model_plan)


def train(model: Model, steps: int) -> list[float]:
    """Predicts the next byte of a fixed sentence; the same data on every rank."""
    text = b"The planets move in ellipses with the sun at one focus; a line sweeps equal areas."
    tokens = torch.tensor([list(text[i : i + POSITIONS + 1]) for i in (0, 16, 32)])
    sgd, losses = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(steps):
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        sgd.step()
        sgd.zero_grad()
        losses.append(loss.item())
    return losses


def main() -> None:
    parser = launch.parser(__doc__)
    parser.add_argument("--layers", type=int, default=2, metavar="N")
    parser.add_argument("--steps", type=int, default=5, metavar="N")
    run = launch.start(parser)
    run.require(HEADS % run.world == 0, f"the number of ranks must divide {HEADS} heads, {run.world} does not")
    model = Model(run.args.layers)
    parallelize(model, init_device_mesh("cpu", (run.world,)))

    began = run.begin()
    losses = train(model, run.args.steps)
    seconds = time.perf_counter() - began

    equal, difference = None, 0.0
    if run.args.check:
        whole = {name: value.full_tensor() for name, value in model.state_dict().items()}  # Collective.
    if run.checks:
        reference = Model(run.args.layers)
        expected = train(reference, run.args.steps)
        difference = training.largest_difference(whole, reference.state_dict())
        equal = difference <= 1e-4 and torch.allclose(torch.tensor(losses), torch.tensor(expected), rtol=0, atol=1e-4)
    text = f"loss {losses[0]:.5f} -> {losses[-1]:.5f} in {run.args.steps} steps on {run.world} ranks, {seconds:.3f} s"
    run.finish(text, {"losses": losses, "seconds": seconds, "largest_difference": difference}, equal)


if __name__ == "__main__":
    main()
