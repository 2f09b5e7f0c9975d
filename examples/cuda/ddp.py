# SPDX-License-Identifier: Apache-2.0
"""Data parallel training on GPUs with DistributedDataParallel.

    torchrun --nproc-per-node 2 examples/cuda/ddp.py
    orrery run -n 2 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/ddp.py
"""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main() -> None:
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    torch.backends.cudnn.benchmark = True

    data = TensorDataset(torch.randn(256, 32), torch.randint(0, 4, (256,)))
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=16, sampler=sampler, pin_memory=True)
    model = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 4)).cuda()
    model = DDP(model, device_ids=[local_rank], output_device=local_rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    losses = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = torch.zeros((), device="cuda")
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        losses.append(total.item() / len(loader))
    torch.cuda.synchronize()
    assert all(p.is_cuda and p.grad.device == p.device for p in model.parameters())
    assert losses[-1] < losses[0], losses
    if dist.get_rank() == 0:
        print(f"{torch.cuda.get_device_name()} x {dist.get_world_size()}: loss {losses[0]:.3f} to {losses[-1]:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
