# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: DDP with autocast and a gradient scaler, once with fp16 and once with bf16.

    orrery run -n 2 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/ddp_amp.py
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(local_rank: int, dtype: torch.dtype) -> list[float]:
    device = torch.device(f"cuda:{local_rank}")
    torch.manual_seed(1)
    layers = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 1))
    model = DDP(layers.to(device), [local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)
    x, y = torch.randn(64, 64, device=device), torch.randn(64, 1, device=device)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        with torch.autocast(device_type="cuda", dtype=dtype):
            out = model(x)
            assert out.dtype == dtype, out.dtype
            loss = nn.functional.mse_loss(out.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


def main() -> None:
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    kinds = [torch.float16] + ([torch.bfloat16] if torch.cuda.is_bf16_supported() else [])
    for dtype in kinds:
        losses = train(local_rank, dtype)
        assert losses[-1] < losses[0], losses
        if dist.get_rank() == 0:
            print(f"{dtype}: loss {losses[0]:.3f} to {losses[-1]:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
