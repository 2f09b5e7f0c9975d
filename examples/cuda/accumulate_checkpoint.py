# SPDX-License-Identifier: Apache-2.0
"""Gradient accumulation with no_sync(), and a checkpoint that is saved on one GPU and loaded on every one.

    orrery run -n 2 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/accumulate_checkpoint.py
"""

import contextlib
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS, PARTS = 4, 4


def main() -> None:
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)).to(device), device_ids=[local_rank])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = torch.randn(PARTS, 8, 16, device=device), torch.randn(PARTS, 8, 1, device=device)
    for _ in range(STEPS):
        for part in range(PARTS):
            with model.no_sync() if part + 1 < PARTS else contextlib.nullcontext():
                (nn.functional.mse_loss(model(x[part]), y[part]) / PARTS).backward()
        optimizer.step()
        optimizer.zero_grad()

    names = [tempfile.mkdtemp() + "/checkpoint.pt" if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(names, src=0)
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": STEPS}, names[0])
    dist.barrier()
    saved = torch.load(names[0], map_location={"cuda:0": f"cuda:{local_rank}"}, weights_only=True)
    assert all(value.device == device for value in saved["model"].values())
    fresh = DDP(nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)).to(device), device_ids=[local_rank])
    fresh.load_state_dict(saved["model"])
    torch.testing.assert_close(fresh(x[0]), model(x[0]))
    on_host = torch.load(names[0], map_location="cpu", weights_only=True)["model"]
    assert not next(iter(on_host.values())).is_cuda
    dist.barrier()
    if dist.get_rank() == 0:
        os.remove(names[0])
        os.rmdir(os.path.dirname(names[0]))
        print(f"{STEPS} steps of {PARTS} parts; saved from cuda:0, loaded to every device")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
