# SPDX-License-Identifier: Apache-2.0
"""A server under Poisson arrivals: requests queue up, rank 0 forms batches, tensor and pipeline parallel ranks serve.

Only rank 0 looks at the clock. It takes the requests that have arrived, at most --batch of them, and broadcasts their
numbers, so that all ranks agree on every batch; when there are none it sleeps until the next arrival. Latency is from
arrival to last token. The M/D/1 line is what a queue without batching would give on average.

    torchrun --nproc-per-node 4 examples/poisson_serving.py --stages 2 --rate 5 --duration 2 --check
"""

import math
import random
import time
from dataclasses import dataclass, field

import torch
import torch.distributed as dist

from common import checkpoint, generation, llama
from tensor_pipeline_parallel import TensorPipelineLlama, add_stages, stages_of


@dataclass
class Request:
    arrival: float
    prompt: list[int]
    latency: float = 0.0
    batch: int = 0
    tokens: list[int] = field(default_factory=list)


def arrivals(rate: float, duration: float, seed: int) -> list[Request]:
    """The same on every rank; only rank 0 uses the times."""
    rng = random.Random(seed)
    requests = []
    at = rng.expovariate(rate)
    while at < duration:
        prompt = [rng.randrange(ord("a"), ord("z") + 1) for _ in range(rng.randint(4, 32))]
        requests.append(Request(at, prompt))
        at += rng.expovariate(rate)
    return requests


def announce(batch: list[int], limit: int) -> list[int]:
    """Collective: everyone learns the batch of rank 0. An empty one is the end."""
    message = torch.tensor([len(batch), *batch] + [0] * (limit - len(batch)))
    dist.broadcast(message, src=0)
    return message[1 : 1 + int(message[0])].tolist()


def serve(model: TensorPipelineLlama, requests: list[Request], count: int, limit: int) -> list[float]:
    """Runs until all requests are done; rank 0 fills them in. Returns the time each batch took."""
    seconds: list[float] = []
    waiting = list(range(len(requests)))
    origin = time.monotonic()
    while True:
        batch: list[int] = []
        if model.rank == 0 and waiting:
            idle = requests[waiting[0]].arrival - (time.monotonic() - origin)
            if idle > 0:
                time.sleep(idle)
            now = time.monotonic() - origin
            batch = [i for i in waiting[:limit] if requests[i].arrival <= now] or waiting[:1]
        batch = announce(batch, limit)
        if not batch:
            return seconds
        began = time.monotonic()
        model.reset()
        tokens = llama.generate(model.next_token, [requests[i].prompt for i in batch], count)
        done = time.monotonic()
        seconds.append(done - began)
        for i, text in zip(batch, tokens, strict=True):
            request = requests[i]
            request.latency, request.batch, request.tokens = done - origin - request.arrival, len(batch), text
        waiting = [i for i in waiting if i not in batch]


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[math.ceil(share * len(values)) - 1]


def main() -> None:
    parser = generation.parser(__doc__, tokens=4)
    add_stages(parser)
    parser.add_argument("--rate", type=float, default=5.0, metavar="R", help="requests per second (default 5)")
    parser.add_argument("--duration", type=float, default=2.0, metavar="S", help="seconds of arrivals (default 2)")
    parser.add_argument("--seed", type=int, default=42, metavar="N", help="of times and prompts (default 42)")
    parser.add_argument("--batch", type=int, default=4, metavar="N", help="requests at once, at most (default 4)")
    run, config, _ = generation.start(parser)
    args = run.args
    stages = stages_of(run, config)
    run.require(args.rate > 0 and args.batch > 0, "--rate and --batch must be positive")
    requests = arrivals(args.rate, args.duration, args.seed)
    run.require(len(requests) > 0, "no request arrives: give a longer --duration or another --seed")
    weights = checkpoint.load(config)
    model = TensorPipelineLlama(config, weights, stages)
    llama.generate(model.next_token, [requests[0].prompt], 1)  # Connects everyone before the clock starts.

    run.begin()
    seconds = serve(model, requests, args.tokens, args.batch)

    equal = None
    if run.checks:
        equal = all(r.latency > 0 for r in requests)
        for r in requests:
            [expected] = llama.generate(llama.Llama(config, weights).next_token, [r.prompt], args.tokens)
            equal = equal and r.tokens == expected
    latencies = [r.latency for r in requests]
    p50, p99, mean = percentile(latencies, 0.5), percentile(latencies, 0.99), sum(latencies) / len(latencies)
    service = sum(seconds) / len(seconds)
    load = args.rate * service
    md1 = service * (1 + load / (2 * (1 - load))) if load < 1 else None
    lines = ["request  arrival_s  latency_s  batch  generated"]
    for i, r in enumerate(requests):
        lines.append(f"{i:>7}  {r.arrival:>9.3f}  {r.latency:>9.4f}  {r.batch:>5}  {llama.decode(r.tokens)}")
    lines.append(f"{len(requests)} requests in {len(seconds)} batches, {stages} stages of {run.world // stages} ranks")
    lines.append(f"latency p50 {p50:.4f} s, p99 {p99:.4f} s, mean {mean:.4f} s; a batch takes {service:.4f} s")
    lines.append(f"M/D/1:  mean {md1:.4f} s at load {load:.2f}" if md1 else f"M/D/1:  no end, load {load:.2f}")
    result = {"stages": stages, "p50": p50, "p99": p99, "mean": mean, "batch_seconds": seconds, "md1_mean": md1}
    result["requests"] = [{"arrival": r.arrival, "latency": r.latency, "batch": r.batch} for r in requests]
    run.finish("\n".join(lines), result, equal)


if __name__ == "__main__":
    main()
