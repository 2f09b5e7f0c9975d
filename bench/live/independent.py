# SPDX-License-Identifier: Apache-2.0
"""Ranks that have nothing to do with each other: a few layers, many times."""

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8)))
    rows = torch.randn(32, 256)
    dist.barrier()
    with torch.no_grad():
        for _ in range(200):
            layers(rows)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
