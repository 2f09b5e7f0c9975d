# SPDX-License-Identifier: Apache-2.0
"""Sequence parallelism: between the tensor parallel parts, activations are sharded along the sequence.

    orrery run -n 2 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/sequence_parallel.py
"""

import os

import torch
import torch.distributed as dist
from model import Block, FeedForward
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class Layer(nn.Module):
    """Norm and feed-forward of a block."""

    def __init__(self, width: int):
        super().__init__()
        self.norm, self.feed_forward = nn.RMSNorm(width), FeedForward(width, 2 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.feed_forward(self.norm(x))


def main() -> None:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),), mesh_dim_names=("tp",))
    torch.manual_seed(0)
    layer = Layer(64).cuda()
    x = torch.randn(2, 16, 64, device="cuda")
    expected = layer(x)
    plan = {
        "norm": SequenceParallel(),
        "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        "feed_forward.w1": ColwiseParallel(),
        "feed_forward.w3": ColwiseParallel(),
        "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
    }
    layer = parallelize_module(layer, mesh, plan)
    mine = x.chunk(mesh.size(), dim=1)[mesh.get_local_rank()]
    out = layer(mine)
    out = out.to_local() if hasattr(out, "to_local") else out
    out.sum().backward()
    torch.testing.assert_close(out, expected.chunk(mesh.size(), dim=1)[mesh.get_local_rank()], atol=1e-4, rtol=1e-4)
    assert sum(p.numel() for p in Block(8, 2).cuda().parameters()) > 0
    if dist.get_rank() == 0:
        print(f"a part of {tuple(out.shape)} of the sequence per rank, equal to the whole")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
