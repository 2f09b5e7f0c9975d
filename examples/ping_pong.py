# SPDX-License-Identifier: Apache-2.0
"""Ping-pong: latency and bandwidth between rank 0 and every other rank, over a sweep of message sizes.

Half of the round trip is printed, the least of several, and the line that fits best: time = latency + bytes/bandwidth,
by least squares of relative errors. --check makes sure that every byte came back.

    torchrun --nproc-per-node 2 examples/ping_pong.py --check
"""

import time

import torch
import torch.distributed as dist

from common import launch


def ping(peer: int, size: int, repeats: int) -> tuple[float, bool]:
    """Rank 0's half: the least one-way time in seconds, and whether the message came back as it went."""
    message = torch.arange(size, dtype=torch.int64).to(torch.uint8)
    answer = torch.empty_like(message)
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        dist.send(message, dst=peer)
        dist.recv(answer, src=peer)
        best = min(best, (time.perf_counter() - began) / 2)
    return best, torch.equal(message, answer)


def pong(size: int, repeats: int) -> None:
    message = torch.empty(size, dtype=torch.uint8)
    for _ in range(repeats):
        dist.recv(message, src=0)
        dist.send(message, dst=0)


def fit(points: list[tuple[int, float]]) -> tuple[float, float | None]:
    """Latency in seconds and bandwidth in bytes per second; None if the messages were too small to tell."""
    sizes, times = torch.tensor(points, dtype=torch.float64).T
    system = torch.stack((1 / times, sizes / times), dim=1)
    latency, per_byte = torch.linalg.lstsq(system, torch.ones_like(times)[:, None]).solution.flatten().tolist()
    return latency, 1 / per_byte if per_byte > 0 else None


def main() -> None:
    parser = launch.parser(__doc__)
    parser.add_argument("--largest", type=int, default=1 << 22, metavar="BYTES", help="message (default 4 MiB)")
    parser.add_argument("--repeats", type=int, default=10, metavar="N", help="round trips per size (default 10)")
    run = launch.start(parser)
    run.require(run.world >= 2, "needs at least 2 ranks")
    run.require(run.args.largest >= 4 and run.args.repeats > 0, "--largest must be at least 4, --repeats at least 1")
    sizes = [size for size in (4**i for i in range(20)) if size <= run.args.largest]

    text, pairs, intact = [], [], True
    for peer in range(1, run.world):
        run.begin()
        points = []
        for size in sizes:
            if run.rank == 0:
                seconds, same = ping(peer, size, run.args.repeats)
                points.append((size, seconds))
                intact = intact and same
            elif run.rank == peer:
                pong(size, run.args.repeats)
        if run.rank == 0:
            latency, bandwidth = fit(points)
            pairs.append({"peer": peer, "latency": latency, "bandwidth": bandwidth, "points": points})
            text.append(f"0 <-> {peer}\n   bytes   one_way_us       MB/s")
            text += [f"{size:>8}  {1e6 * seconds:>11.1f}  {size / seconds / 1e6:>9.2f}" for size, seconds in points]
            rate = f"{bandwidth / 1e6:.1f} MB/s" if bandwidth else "unknown"
            text.append(f"fit: latency {1e6 * latency:.1f} us, bandwidth {rate}")
    run.begin()  # Nobody leaves while others are still measuring.
    run.finish("\n".join(text), {"pairs": pairs}, intact if run.checks else None, to="what was sent")


if __name__ == "__main__":
    main()
