# SPDX-License-Identifier: Apache-2.0
"""Pipeline parallel training with torch.distributed.pipelining, by the GPipe and the 1F1B schedule.

Each rank has some of the layers; a batch is cut into microbatches, so that stages work at the same time. The schedules
differ in when a microbatch goes back: after all have gone forward, or as soon as it can. --check trains one process:
losses and every parameter must agree with both schedules (1e-5 absolute).

    torchrun --nproc-per-node 2 examples/torch_pipelining.py --check
"""

import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.pipelining.schedules import PipelineScheduleSingle

from common import launch, training
from common.launch import share


def train(run: launch.Run, kind: type[PipelineScheduleSingle]) -> tuple[list[float], dict[str, torch.Tensor], float]:
    """Losses (known to the last rank), the parameters of my layers (a slice keeps their names), seconds."""
    args, last = run.args, run.world - 1
    layers = training.build(args.layers)[share(args.layers, run.world, run.rank)]
    stage = PipelineStage(layers, run.rank, run.world, torch.device("cpu"))
    schedule = kind(stage, args.microbatches, loss_fn=training.loss_of)
    sgd, losses = training.optimizer(layers), []
    began = run.begin()
    for step in range(args.steps):
        x, y = training.batch(step, args.rows)
        parts: list[torch.Tensor] = []
        inputs = (x,) if run.rank == 0 else ()
        outputs = {"target": y, "losses": parts} if run.rank == last else {}
        schedule.step(*inputs, **outputs)
        sgd.step()
        sgd.zero_grad()
        if run.rank == last:
            losses.append(torch.stack(parts).mean().item())
    dist.barrier()
    seconds = time.perf_counter() - began
    return losses, layers.state_dict(), seconds


def main() -> None:
    parser = launch.parser(__doc__)
    parser.add_argument("--layers", type=int, default=8, metavar="N")
    parser.add_argument("--steps", type=int, default=5, metavar="N")
    parser.add_argument("--rows", type=int, default=32, metavar="N", help="of the batch (default 32)")
    parser.add_argument("--microbatches", type=int, default=8, metavar="N", help="per batch (default 8)")
    run = launch.start(parser)
    args = run.args
    run.require(run.world <= args.layers, f"at most {args.layers} ranks: each needs a layer")
    run.require(args.microbatches >= run.world, f"1F1B needs a microbatch for each of {run.world} ranks")
    run.require(args.rows % args.microbatches == 0, "--rows must be a multiple of --microbatches")

    text, result, equal = [], {}, True if args.check else None
    for name, kind in (("gpipe", ScheduleGPipe), ("1f1b", Schedule1F1B)):
        losses, state, seconds = train(run, kind)
        everyone = [None] * run.world
        dist.all_gather_object(everyone, (losses, state))
        losses = everyone[-1][0]
        if run.checks:
            reference = training.build(args.layers)
            expected = training.train(reference, args.steps, lambda step: training.batch(step, args.rows))
            whole = {name: value for _, part in everyone for name, value in part.items()}
            close = torch.allclose(torch.tensor(losses), torch.tensor(expected), rtol=0, atol=1e-5)
            equal = equal and close and training.largest_difference(whole, reference.state_dict()) <= 1e-5
        text.append(f"{name:<5}  loss {losses[0]:.5f} -> {losses[-1]:.5f} in {args.steps} steps, {seconds:.3f} s")
        result[name] = {"losses": losses, "seconds": seconds}
    text.append(f"{run.world} stages, {args.microbatches} microbatches")
    run.finish("\n".join(text), result, equal)


if __name__ == "__main__":
    main()
