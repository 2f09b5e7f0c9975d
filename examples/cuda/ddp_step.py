# SPDX-License-Identifier: Apache-2.0
"""Training steps of a decoder of about a billion parameters with DistributedDataParallel, with times by events.

    orrery run -n 8 --cluster hgx-h100 --device-map cuda=cpu --compute fake examples/cuda/ddp_step.py
"""

import argparse
import os

import torch
import torch.distributed as dist
from model import Decoder, loss_of
from torch.nn.parallel import DistributedDataParallel as DDP


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=22, metavar="N")
    parser.add_argument("--width", type=int, default=2048, metavar="N")
    parser.add_argument("--words", type=int, default=32000, metavar="N")
    parser.add_argument("--length", type=int, default=1024, metavar="N")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="sequences per rank (default 1)")
    parser.add_argument("--steps", type=int, default=2, metavar="N")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    with torch.device("cuda"):
        model = Decoder(args.layers, args.width, max(args.width // 128, 1), args.words)
    model = DDP(model, device_ids=[local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, args.words, (args.batch, args.length), device="cuda")
    marks = [torch.cuda.Event(enable_timing=True)]
    marks[0].record()
    for _ in range(args.steps):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens)
        loss_of(logits, tokens).backward()
        optimizer.step()
        marks.append(torch.cuda.Event(enable_timing=True))
        marks[-1].record()
    torch.cuda.synchronize()
    if dist.get_rank() == 0:
        count = sum(parameter.numel() for parameter in model.parameters())
        held = torch.cuda.max_memory_allocated() / 1e9
        times = ", ".join(f"{a.elapsed_time(b):.3f}" for a, b in zip(marks, marks[1:], strict=False))
        print(f"{count / 1e9:.3f} billion parameters, {held:.2f} GB at most, steps of {times} ms")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
