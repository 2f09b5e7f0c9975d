# SPDX-License-Identifier: Apache-2.0
"""How long each collective takes over a sweep of sizes, as NCCL's tests print it.

Sizes are those of the whole buffer; a line has the median of several calls on rank 0, and bytes per second.
--check makes sure that the last call of each line gave the right values.

    torchrun --nproc-per-node 2 examples/collective_sweep.py --largest 1048576 --check
"""

import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from common import launch

# The names since PyTorch 2.13; older ones have only the names that follow.
all_gather_single = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
reduce_scatter_single = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


def cases(world: int, rank: int, count: int) -> dict[str, tuple[Callable[[], Tensor], float]]:
    """By name: does it once and returns its result, and what each number of that should be."""
    part, total = count // world, world * (world + 1) / 2

    def full() -> Tensor:
        return torch.full((part * world,), rank + 1.0)

    def all_reduce() -> Tensor:
        x = full()
        dist.all_reduce(x)
        return x

    def all_gather() -> Tensor:
        out = torch.empty(part * world)
        all_gather_single(out, torch.full((part,), 3.0))
        return out

    def reduce_scatter() -> Tensor:
        out = torch.empty(part)
        reduce_scatter_single(out, full())
        return out

    def all_to_all() -> Tensor:
        out = torch.empty(part * world)
        dist.all_to_all_single(out, torch.full((part * world,), 5.0))
        return out

    def broadcast() -> Tensor:
        x = full()
        dist.broadcast(x, 0)
        return x

    return {
        "all_reduce": (all_reduce, total),
        "all_gather": (all_gather, 3.0),
        "reduce_scatter": (reduce_scatter, total),
        "all_to_all": (all_to_all, 5.0),
        "broadcast": (broadcast, 1.0),
    }


def main() -> None:
    parser = launch.parser(__doc__)
    parser.add_argument("--smallest", type=int, default=1024, metavar="BYTES", help="buffer (default 1 KiB)")
    parser.add_argument("--largest", type=int, default=1 << 20, metavar="BYTES", help="buffer (default 1 MiB)")
    parser.add_argument("--factor", type=int, default=4, metavar="N", help="from size to size (default 4)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="calls per line (default 5)")
    run = launch.start(parser)
    args = run.args
    run.require(4 * run.world <= args.smallest <= args.largest, "--smallest must be four bytes per rank or more")
    run.require(args.factor >= 2 and args.repeats > 0, "--factor must be at least 2, --repeats at least 1")

    run.begin()
    lines, rows, right = ["operation            bytes     median_us       MB/s"], [], True
    size = args.smallest
    while size <= args.largest:
        for name, (once, value) in cases(run.world, run.rank, size // 4).items():
            times = []
            for _ in range(args.repeats):
                began = time.perf_counter()
                result = once()
                times.append(time.perf_counter() - began)
            right = right and bool((result == value).all())
            seconds = sorted(times)[len(times) // 2]
            rows.append({"operation": name, "bytes": size, "seconds": seconds})
            lines.append(f"{name:<15} {size:>10}  {1e6 * seconds:>12.1f}  {size / seconds / 1e6:>9.2f}")
        size *= args.factor
    run.begin()
    run.finish("\n".join(lines), {"rows": rows}, right if args.check else None, to="the values expected")


if __name__ == "__main__":
    main()
