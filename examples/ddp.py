# SPDX-License-Identifier: Apache-2.0
"""Data parallel training with DistributedDataParallel: each rank has its rows of the batch, gradients are averaged.

--check trains one process on the whole batches: losses and every parameter must agree (1e-5 absolute).

    torchrun --nproc-per-node 2 examples/ddp.py --check
"""

import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from common import launch, training


def main() -> None:
    parser = launch.parser(__doc__)
    parser.add_argument("--layers", type=int, default=4, metavar="N")
    parser.add_argument("--steps", type=int, default=10, metavar="N")
    parser.add_argument("--rows", type=int, default=16, metavar="N", help="of the batch, per rank (default 16)")
    run = launch.start(parser)
    args, total = run.args, run.args.rows * run.world
    mine = slice(run.rank * args.rows, (run.rank + 1) * args.rows)
    model = DistributedDataParallel(training.build(args.layers))

    def my_rows(step: int) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = training.batch(step, total)
        return x[mine], y[mine]

    began = run.begin()
    losses = torch.tensor(training.train(model, args.steps, my_rows))
    seconds = time.perf_counter() - began
    dist.all_reduce(losses, dist.ReduceOp.AVG)

    equal, difference = None, 0.0
    if run.checks:
        reference = training.build(args.layers)
        expected = training.train(reference, args.steps, lambda step: training.batch(step, total))
        difference = training.largest_difference(model.module.state_dict(), reference.state_dict())
        equal = difference <= 1e-5 and torch.allclose(losses, torch.tensor(expected), rtol=0, atol=1e-5)
    text = f"loss {losses[0]:.5f} -> {losses[-1]:.5f} in {args.steps} steps on {run.world} ranks, {seconds:.3f} s"
    result = {"losses": losses.tolist(), "seconds": seconds, "largest_difference": difference}
    run.finish(text, result, equal)


if __name__ == "__main__":
    main()
