# SPDX-License-Identifier: Apache-2.0
"""Streams and events: work on two streams overlaps, work on one does not, and events tell how long it took.

    orrery run -n 2 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/streams.py
"""

import argparse
import os

import torch
import torch.distributed as dist


def timed(work) -> float:
    """Milliseconds from begin to end, as the default stream sees them."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512, metavar="N", help="of the matrices (default 512)")
    parser.add_argument("--times", action="store_true", help="print them")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    a = torch.randn(args.size, args.size, device="cuda")
    side = torch.cuda.Stream()

    def product() -> torch.Tensor:
        out = a
        for _ in range(10):
            out = (out @ a).tanh_()
        return out

    def serial() -> None:
        product()
        product()

    def parallel() -> None:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            product()
        product()
        torch.cuda.current_stream().wait_stream(side)

    def overlapped() -> None:
        """A collective runs on a stream of its own while the default one computes."""
        gradient = torch.ones(1 << 20, device="cuda")
        work = dist.all_reduce(gradient, async_op=True)
        product()
        work.wait()

    for _ in range(3):
        product()
        serial()
        parallel()
        overlapped()
    one, two, both, hidden = timed(product), timed(serial), timed(parallel), timed(overlapped)
    done = torch.cuda.Event()
    with torch.cuda.stream(side):
        product()
        done.record()
    torch.cuda.current_stream().wait_event(done)
    torch.cuda.current_stream().synchronize()
    assert done.query() and side.query()
    assert 1.5 * one < two < 2.5 * one, (one, two)
    assert both < 0.8 * two, (both, two)
    assert hidden < two, (hidden, two)
    if dist.get_rank() == 0:
        print("two products at once take less than one after the other")
        if args.times:
            print(f"one {one:.3f} ms, two {two:.3f} ms, at once {both:.3f} ms, with a collective {hidden:.3f} ms")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
