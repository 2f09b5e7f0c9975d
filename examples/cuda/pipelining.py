# SPDX-License-Identifier: Apache-2.0
"""Pipeline parallelism with torch.distributed.pipelining: one stage per GPU, one forward, one backward at a time.

    orrery run -n 2 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/pipelining.py
"""

import os

import torch
import torch.distributed as dist
from model import Decoder, loss_of
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def stage_of(model: Decoder, rank: int, world: int) -> nn.Module:
    layers = list(model.layers)
    cuts = [i * len(layers) // world for i in range(world + 1)]
    parts = [layers[begin:end] for begin, end in zip(cuts, cuts[1:], strict=False)]
    first = [model.embedding] if rank == 0 else []
    last = [model.norm, model.output] if rank == world - 1 else []
    return nn.Sequential(*first, *parts[rank], *last)


def main() -> None:
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}")
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.manual_seed(0)
    module = stage_of(Decoder(layers=2 * world), rank, world).to(device)
    stage = PipelineStage(module, rank, world, device)
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=loss_of)
    tokens = torch.randint(0, 128, (8, 16), device=device)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    history = []
    for _ in range(3):
        optimizer.zero_grad()
        losses: list[torch.Tensor] = []
        if rank == 0:
            schedule.step(tokens)
        elif rank == world - 1:
            schedule.step(target=tokens, losses=losses)
            history.append(torch.stack(losses).mean().item())
        else:
            schedule.step()
        optimizer.step()
    torch.cuda.synchronize(device)
    if rank == world - 1:
        assert history[-1] < history[0], history
        print(f"loss {history[0]:.3f} to {history[-1]:.3f} over {world} stages")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
