# SPDX-License-Identifier: Apache-2.0
"""What `orrery calibrate` computes, really and simulated, to see how much longer real ranks need for the same work.

    reference.py ROWS

Blocks of a transformer's kind (norm, attention, feed-forward), cut over the ranks, with an all_reduce after each half.
Real ranks compute all at once, right after being woken, with caches that gloo's threads have used meanwhile; simulated
ones are measured one by one. Widths are those of no example.
"""

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F

WIDTH, HIDDEN, HEADS, LAYERS = 384, 768, 6, 6


@torch.inference_mode()
def main() -> None:
    rows = int(sys.argv[1])
    steps = 6 * max(3, 60 // max(1, rows // 8))  # About a second: a host's speed changes several times in one.
    dist.init_process_group()
    torch.manual_seed(7)
    parts = dist.get_world_size()
    heads, hidden = max(1, HEADS // parts), max(1, HIDDEN // parts)
    inner = heads * WIDTH // HEADS
    layers = [
        {
            "qkv": torch.randn(3 * inner, WIDTH) / 20,
            "out": torch.randn(WIDTH, inner) / 20,
            "up": torch.randn(hidden, WIDTH) / 20,
            "down": torch.randn(WIDTH, hidden) / 20,
            "norm": torch.ones(WIDTH),
        }
        for _ in range(LAYERS)
    ]
    context = torch.randn(1, heads, 64 + rows, WIDTH // HEADS)

    def step(x: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            normed = F.rms_norm(x, (WIDTH,), layer["norm"])
            q, k, v = F.linear(normed, layer["qkv"]).unflatten(-1, (3, heads, -1)).unbind(2)
            k, v = (torch.cat([context[:, :, :64], t.transpose(1, 2)], dim=2) for t in (k, v))
            mixed = F.scaled_dot_product_attention(q.transpose(1, 2), k, v).transpose(1, 2).flatten(-2)
            y = F.linear(mixed, layer["out"])
            dist.all_reduce(y)
            x = x + y
            z = F.linear(F.silu(F.linear(F.rms_norm(x, (WIDTH,), layer["norm"]), layer["up"])), layer["down"])
            dist.all_reduce(z)
            x = x + z
        return x

    x = torch.randn(1, rows, WIDTH)
    for _ in range(3):
        step(x)
    dist.barrier()
    for _ in range(steps):
        step(x)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
