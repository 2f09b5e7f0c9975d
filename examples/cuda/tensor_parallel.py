# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism with parallelize_module: the result equals that of the whole model.

    orrery run -n 4 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/tensor_parallel.py
"""

import copy
import os

import torch
import torch.distributed as dist
from model import Decoder
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

PLAN = {
    "attention.wq": ColwiseParallel(),
    "attention.wk": ColwiseParallel(),
    "attention.wv": ColwiseParallel(),
    "attention.wo": RowwiseParallel(),
    "feed_forward.w1": ColwiseParallel(),
    "feed_forward.w3": ColwiseParallel(),
    "feed_forward.w2": RowwiseParallel(),
}


def main() -> None:
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    mesh = init_device_mesh("cuda", (world,))
    torch.manual_seed(0)
    whole = Decoder().to(device)
    model = copy.deepcopy(whole)
    for layer in model.layers:
        parallelize_module(layer, mesh, PLAN)
    tokens = torch.randint(0, 128, (2, 16), device=device)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    out = model(tokens)
    out.square().mean().backward()
    end.record()
    torch.cuda.synchronize()
    expected = whole(tokens)
    torch.testing.assert_close(out, expected, atol=1e-4, rtol=1e-4)
    if rank == 0:
        assert begin.elapsed_time(end) > 0
        print(f"equal to the whole model, on {out.device}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
