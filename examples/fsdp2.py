# SPDX-License-Identifier: Apache-2.0
"""Fully sharded training (FSDP2): parameters, gradients and optimizer state are cut over the ranks.

fully_shard() on every block gathers its parameters just before they are used and scatters the gradients after. Shares
may be uneven. --check trains one process on the whole batches: losses and every parameter must agree (1e-5 absolute).

    torchrun --nproc-per-node 2 examples/fsdp2.py --check
"""

import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from common import launch, training


def main() -> None:
    parser = launch.parser(__doc__)
    parser.add_argument("--layers", type=int, default=4, metavar="N")
    parser.add_argument("--steps", type=int, default=10, metavar="N")
    parser.add_argument("--rows", type=int, default=16, metavar="N", help="of the batch, per rank (default 16)")
    run = launch.start(parser)
    args, total = run.args, run.args.rows * run.world
    mine = slice(run.rank * args.rows, (run.rank + 1) * args.rows)
    mesh = init_device_mesh("cpu", (run.world,))
    model = training.build(args.layers)
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    held = sum(parameter.to_local().numel() for parameter in model.parameters())

    def my_rows(step: int) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = training.batch(step, total)
        return x[mine], y[mine]

    began = run.begin()
    losses = torch.tensor(training.train(model, args.steps, my_rows))
    seconds = time.perf_counter() - began
    dist.all_reduce(losses, dist.ReduceOp.AVG)

    equal, difference = None, 0.0
    if args.check:
        whole = {name: value.full_tensor() for name, value in model.state_dict().items()}  # Collective.
    if run.checks:
        reference = training.build(args.layers)
        expected = training.train(reference, args.steps, lambda step: training.batch(step, total))
        difference = training.largest_difference(whole, reference.state_dict())
        equal = difference <= 1e-5 and torch.allclose(losses, torch.tensor(expected), rtol=0, atol=1e-5)
    text = f"loss {losses[0]:.5f} -> {losses[-1]:.5f} in {args.steps} steps on {run.world} ranks, {seconds:.3f} s\n"
    text += f"rank 0 holds {held} parameters"
    result = {"losses": losses.tolist(), "seconds": seconds, "held": held, "largest_difference": difference}
    run.finish(text, result, equal)


if __name__ == "__main__":
    main()
