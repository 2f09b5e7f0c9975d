# SPDX-License-Identifier: Apache-2.0
"""Experts on different GPUs: tokens travel to their expert and back by all_to_all, with uneven splits.

    orrery run -n 4 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/moe_all_to_all.py
"""

import os

import torch
import torch.distributed as dist
from torch import nn

WIDTH = 32


def dispatch(tokens: torch.Tensor, chosen: torch.Tensor, expert: nn.Module, world: int) -> torch.Tensor:
    order = torch.argsort(chosen, stable=True)
    sent = torch.bincount(chosen, minlength=world)
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent)
    to, come = sent.tolist(), received.tolist()
    inbox = tokens.new_empty(sum(come), WIDTH)
    dist.all_to_all_single(inbox, tokens[order], output_split_sizes=come, input_split_sizes=to)
    back = torch.empty_like(tokens)
    dist.all_to_all_single(back, expert(inbox), output_split_sizes=to, input_split_sizes=come)
    result = torch.empty_like(tokens)
    result[order] = back
    return result


@torch.no_grad()
def main() -> None:
    dist.init_process_group(backend="nccl", init_method="env://")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank % torch.cuda.device_count())
    torch.manual_seed(7)
    experts = [nn.Linear(WIDTH, WIDTH).cuda() for _ in range(world)]
    router = nn.Linear(WIDTH, world, device="cuda")
    torch.manual_seed(rank)
    tokens = torch.randn(64, WIDTH, device="cuda")
    chosen = router(tokens).argmax(dim=-1)
    out = dispatch(tokens, chosen, experts[rank], world)
    expected = torch.stack([experts[e](t) for t, e in zip(tokens, chosen.cpu().tolist(), strict=True)])
    torch.testing.assert_close(out, expected, atol=1e-5, rtol=1e-5)
    counts = [None] * world
    kept = int((chosen == rank).sum())
    dist.all_gather_object(counts, {"rank": rank, "host": os.environ["GROUP_RANK"], "kept": kept})
    if rank == 0:
        print(f"{world} experts; tokens that stayed: {sum(one['kept'] for one in counts)} of {64 * world}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
