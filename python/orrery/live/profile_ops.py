# SPDX-License-Identifier: Apache-2.0
"""Profiles torch's operators on this machine: profile_ops.py OUT [--quick] [--seconds S] [--dtype T]... [--model M]...

Writes OUT.csv, a table for the field `operators` of a device, and OUT.yaml, a cluster of this machine that names it.
One thread on one core, as the ranks of `orrery run` compute. A duration is the least of several batches of calls, in
CPU time, so that others on the machine disturb little.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BATCH_SECONDS = 0.0008
BATCHES = 9


def main() -> None:
    options = arguments()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    sys.path.insert(0, str(HERE))
    try:
        import torch
    except ImportError as problem:
        sys.exit(f"orrery: error: torch cannot be imported by {sys.executable}: {problem}")
    import profile_cases as cases

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.manual_seed(0)
    with torch.no_grad():
        rows = profile(
            [case for dtype in options.dtype for case in cases.all_cases(dtype, options.quick, options.model)],
            options.seconds,
        )
        host = host_overhead(rows)
        rates = machine_rates(rows)
    write(options.out, rows, rates, host, torch.__version__)
    if options.json:
        print(json.dumps({"table": f"{options.out}.csv", "cluster": f"{options.out}.yaml", "points": len(rows),
                          "host_overhead_ns": round(host), **rates}, indent=2))
    else:
        print(f"{len(rows)} operators in {options.out}.csv; `--cluster {options.out}.yaml --compute model` uses them")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="orrery profile-ops")
    parser.add_argument("out")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--dtype", action="append", default=[])
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    options.dtype = options.dtype or ["fp32"]
    options.seconds = options.seconds or (60 if options.quick else 420)
    return options


def profile(found: list, seconds: float) -> dict:
    """Nanoseconds by (operator, dtype, sizes). Cases are taken in an order that covers all families early, so that
    little is lost when the time is up."""
    rows: dict = {}
    began = shown = time.monotonic()
    order = sorted(range(len(found)), key=lambda i: (i * 0.6180339887498949) % 1.0)
    for done, index in enumerate(order):
        now = time.monotonic()
        if now - began > seconds:
            tell(f"time is up: {done} of {len(order)} operators profiled\n")
            break
        if now - shown > 1:
            shown = now
            tell(f"profiling operators: {done} of {len(order)}, {now - began:.0f} of at most {seconds:.0f} s")
        case = found[index]
        rows[case.operator, case.dtype, case.sizes] = duration(case.make())
    tell("")
    return dict(sorted(rows.items()))


def tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text.endswith("\n"):
        print(f"orrery: {text}", end="", file=sys.stderr)


def duration(call, batches: int = BATCHES) -> float:
    """Of one call, in nanoseconds."""
    call()
    begin = time.perf_counter()
    call()
    call()
    once = max((time.perf_counter() - begin) / 2, 1e-7)
    repeat = max(1, int(BATCH_SECONDS / once))
    if once > 0.02:
        batches = 4
    times = []
    clock, turns = time.thread_time_ns, range(repeat)
    for _ in range(batches):
        begin = clock()
        for _ in turns:
            call()
        times.append((clock() - begin) / repeat)
    return min(times)


def host_overhead(rows: dict) -> float:
    """Nanoseconds of Python and dispatch per operator, beside its own duration: what a small decoder takes beyond its
    operators. Its shapes are among those profiled."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(64), nn.LayerNorm(64)
            self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
            self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

        def forward(self, x):
            q, k, v = (part.view(1, 8, 4, 16).transpose(1, 2) for part in self.qkv(self.first(x)).split(64, dim=-1))
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(1, 8, 64))
            return x + self.down(nn.functional.gelu(self.up(self.second(x))))

    class Count(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.calls += 1
            return function(*args, **(kwargs or {}))

    model = nn.Sequential(*(Layer() for _ in range(8)))
    x = torch.randn(1, 8, 64)
    with Count() as count:
        model(x)
    known = {name: value for (operator, dtype, sizes), value in rows.items() if dtype == "fp32"
             for name in [(operator, sizes)]}
    tiny = {name: min((value for (operator, sizes), value in known.items() if operator == name), default=0.0)
            for name in ("add", "gelu", "copy_strided")}
    shapes = [("gemm", (1, 8, 192, 64)), ("gemm", (1, 8, 64, 64)), ("gemm", (1, 8, 256, 64)), ("gemm", (1, 8, 64, 256)),
              ("attention_causal", (1, 4, 4, 8, 8, 16)), ("layer_norm", (8, 64)), ("layer_norm", (8, 64))]
    own = sum(known.get(shape, 0.0) for shape in shapes) + 2 * tiny["add"] + tiny["gelu"] + tiny["copy_strided"]
    whole = min(duration(lambda: model(x), 25) for _ in range(3))
    return max(0.0, (whole - 8 * own) / count.calls)


def machine_rates(rows: dict) -> dict:
    """What the table's ratios are taken to: the best product, the best large copy."""
    peak, stream = 0.0, 0.0
    for (operator, dtype, sizes), value in rows.items():
        if operator == "gemm" and dtype == "fp32":
            peak = max(peak, 2 * sizes[0] * sizes[1] * sizes[2] * sizes[3] / value)
        if operator in ("copy", "add") and dtype == "fp32" and sizes[0] >= 1 << 21:
            stream = max(stream, (2 if operator == "copy" else 3) * 4 * sizes[0] / value)
    smallest = min((value for (operator, _, _), value in rows.items() if operator == "add"), default=1000.0)
    return {"peak_gflops": round(peak, 3), "bandwidth_gbps": round(stream or 10.0, 3), "launch_ns": round(smallest)}


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def write(out: str, rows: dict, rates: dict, host: float, version: str) -> None:
    """Both files under a temporary name first: a file that is there is whole."""
    name = Path(out).name
    what = f"{processor()}, one thread, torch {version}"
    lines = [f"# Profiled by `orrery profile-ops` on {what}.", "operator,dtype,sizes,time"]
    for (operator, dtype, sizes), value in rows.items():
        lines.append(f"{operator},{dtype},{'x'.join(map(str, sizes))},{value / 1000:.4f}us")
    device = f"""\
# Made by `orrery profile-ops` on {what}.
name: {name}
devices:
  {name}:
    peak: {rates["peak_gflops"]}Gflops              # The best product of 32-bit numbers.
    memory_bandwidth: {rates["bandwidth_gbps"]}GBps # The best large copy or sum.
    memory: {memory_bytes() >> 20}MiB
    launch_overhead: {rates["launch_ns"]}ns         # The smallest sum.
    host_overhead: {round(host)}ns                  # Of a small decoder, beyond its operators.
    operators: {name}.csv
topology: {{switch: {{hosts: {max(2, os.cpu_count() or 2)}, bandwidth: 100Gbps, latency: 5us, device: {name}}}}}
"""
    for path, text in ((Path(f"{out}.csv"), "\n".join(lines) + "\n"), (Path(f"{out}.yaml"), device)):
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(text)
            temporary.rename(path)
        except OSError as problem:
            temporary.unlink(missing_ok=True)
            sys.exit(f"orrery: error: {path}: {problem.strerror}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
