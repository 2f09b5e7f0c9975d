# SPDX-License-Identifier: Apache-2.0
"""Decoding steps of a Llama-3-70B-shaped model, tensor parallel over all GPUs: columns, then rows, then a sum.

Eight real GPUs are needed for the 141 GB of weights; without data, any machine will do:

    orrery run -n 8 --cluster hgx-h100 --device-map cuda=cpu --compute fake examples/cuda/llama_tp_decode.py
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, KV_HEADS, HEAD, HIDDEN, WORDS = 8192, 64, 8, 128, 28672, 128256


class Layer(nn.Module):
    def __init__(self, world: int, batch: int, context: int):
        super().__init__()
        self.heads, self.kv_heads = HEADS // world, KV_HEADS // world
        self.qkv = nn.Linear(WIDTH, (self.heads + 2 * self.kv_heads) * HEAD, bias=False)
        self.out = nn.Linear(self.heads * HEAD, WIDTH, bias=False)
        self.gate_up = nn.Linear(WIDTH, 2 * HIDDEN // world, bias=False)
        self.down = nn.Linear(HIDDEN // world, WIDTH, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2))
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(batch, self.kv_heads, context, HEAD))

    def forward(self, x: torch.Tensor, position: int) -> torch.Tensor:
        batch = x.shape[0]
        parts = [self.heads * HEAD, self.kv_heads * HEAD, self.kv_heads * HEAD]
        q, k, v = self.qkv(self.norms[0](x)).split(parts, dim=-1)
        self.keys[:, :, position] = k.view(batch, self.kv_heads, HEAD)
        self.values[:, :, position] = v.view(batch, self.kv_heads, HEAD)
        past = slice(0, position + 1)
        seen = F.scaled_dot_product_attention(
            q.view(batch, self.heads, 1, HEAD), self.keys[:, :, past], self.values[:, :, past], enable_gqa=True
        )
        attended = self.out(seen.reshape(batch, self.heads * HEAD))
        dist.all_reduce(attended)
        x = x + attended
        gate, up = self.gate_up(self.norms[1](x)).chunk(2, dim=-1)
        fed = self.down(F.silu(gate) * up)
        dist.all_reduce(fed)
        return x + fed


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=80, metavar="N")
    parser.add_argument("--batch", type=int, default=8, metavar="N")
    parser.add_argument("--context", type=int, default=2048, metavar="N")
    parser.add_argument("--steps", type=int, default=1, metavar="N")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        embedding = nn.Embedding(WORDS, WIDTH)
        layers = nn.ModuleList(Layer(world, args.batch, args.context) for _ in range(args.layers))
        norm, head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS // world, bias=False)
        tokens = torch.zeros(args.batch, dtype=torch.long)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    dist.barrier()
    begin.record()
    for step in range(args.steps):
        x = embedding(tokens)
        for layer in layers:
            x = layer(x, args.context - args.steps + step)
        logits = head(norm(x))
        parts = [torch.empty_like(logits) for _ in range(world)]
        dist.all_gather(parts, logits)
        tokens = torch.cat(parts, dim=-1).argmax(dim=-1)
    end.record()
    torch.cuda.synchronize()
    if rank == 0:
        held = torch.cuda.max_memory_allocated() / 1e9
        milliseconds = begin.elapsed_time(end) / args.steps
        print(f"{milliseconds:.3f} ms per token at batch {args.batch}, {held:.1f} GB of {torch.cuda.get_device_name()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
