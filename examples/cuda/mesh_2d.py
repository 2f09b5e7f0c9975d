# SPDX-License-Identifier: Apache-2.0
"""Two dimensions of parallelism: FSDP2 across one axis of the mesh, tensor parallelism across the other.

    orrery run -n 4 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/mesh_2d.py
"""

import os

import torch
import torch.distributed as dist
from model import Decoder, loss_of
from tensor_parallel import PLAN
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import parallelize_module


def main() -> None:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    world = int(os.environ["WORLD_SIZE"])
    mesh = init_device_mesh("cuda", (world // 2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    model = Decoder().cuda()
    for layer in model.layers:
        parallelize_module(layer, mesh["tp"], PLAN)
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, foreach=True)
    torch.manual_seed(mesh.get_local_rank("dp"))
    tokens = torch.randint(0, 128, (4, 16), device="cuda")
    losses = []
    for _ in range(4):
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    weight = model.layers[0].attention.wq.weight
    assert losses[-1] < losses[0], losses
    if dist.get_rank() == 0:
        print(f"{mesh}: loss {losses[0]:.3f} to {losses[-1]:.3f}, wq is {tuple(weight.placements)}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
