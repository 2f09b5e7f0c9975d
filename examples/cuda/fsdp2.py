# SPDX-License-Identifier: Apache-2.0
"""Fully sharded data parallel training (FSDP2) with bf16 parameters in the forward pass and clipped gradients.

    orrery run -n 4 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/fsdp2.py
"""

import os

import torch
import torch.distributed as dist
from model import Decoder, loss_of
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor


def main() -> None:
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("dp",))
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = Decoder()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    torch.manual_seed(dist.get_rank())
    tokens = torch.randint(0, 128, (4, 16), device="cuda")
    losses = []
    for _ in range(5):
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    weight = model.output.weight
    assert isinstance(weight, DTensor) and weight.to_local().is_cuda
    assert losses[-1] < losses[0], losses
    if dist.get_rank() == 0:
        peak = torch.cuda.max_memory_allocated() / 2**20
        print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}, peak {peak:.2f} MiB on {weight.device_mesh.device_type}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
