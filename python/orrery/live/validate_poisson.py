# SPDX-License-Identifier: Apache-2.0
"""The queue of `orrery validate`: Poisson arrivals at a pipeline of two stages, at three loads, both ways."""

import json
import statistics
import sys
from pathlib import Path

import validate_matrix as matrix

LOADS = (0.2, 0.4, 0.6)
SECONDS = 10.0  #: The 99th of a hundred latencies is one request in a hundred: less is chance.
MODEL = ("--dim", "256", "--layers", "4", "--heads", "4", "--kv-heads", "4", "--head-dim", "64", "--hidden", "704")
SERVER = ("poisson_serving.py", *MODEL, "--stages", "2", "--batch", "1", "--tokens", "4", "--json")


def result_of(output: str) -> dict:
    """The line that the program itself printed."""
    return json.loads(next(line for line in output.splitlines() if line.startswith('{"example"')))


def serve(command: matrix.Command, how: list, rate: float, seconds: float) -> dict:
    script = matrix.script_of(SERVER)
    return result_of(command.run("run", "-q", "-n", 2, *how, *script, "--rate", f"{rate:.4f}", "--duration", seconds))


def measure(command: matrix.Command, cluster: Path, launches: int) -> list:
    """Both sides see the same arrivals. The load is that of the real side, which a first run tells."""
    real, simulated = ["--real"], ["--cluster", cluster, *matrix.AT_ONCE]
    service = statistics.median(serve(command, real, 4.0, 3.0)["batch_seconds"])
    rows = []
    for load in LOADS:
        rate = load / service
        samples = {"real": [], "simulated": []}
        for _ in range(max(3, launches * 3 // 5)):
            samples["real"].append(serve(command, real, rate, SECONDS))
            samples["simulated"].append(serve(command, simulated, rate, SECONDS))
        row = {"load": load, "rate": rate, "requests": len(samples["real"][0]["requests"])}
        for kind, found in samples.items():
            for key in ("mean", "p99"):
                row[f"{kind}_{key}_ms"] = statistics.median(one[key] for one in found) * 1e3
        seconds = statistics.median(statistics.mean(one["batch_seconds"]) for one in samples["real"])
        used = rate * seconds
        row["service_ms"] = seconds * 1e3
        row["md1_ms"] = seconds * (1 + used / (2 * (1 - used))) * 1e3 if used < 1 else None
        rows.append(row)
        print(
            f"poisson load {load}: mean {row['real_mean_ms']:.1f} ms, simulated {row['simulated_mean_ms']:.1f}; "
            f"p99 {row['real_p99_ms']:.1f}, simulated {row['simulated_p99_ms']:.1f}",
            file=sys.stderr,
            flush=True,
        )
    return rows


def table(rows: list) -> list:
    lines = [
        "Poisson arrivals at a pipeline of two stages over loopback, one request at a time; the same arrivals on both",
        "sides. M/D/1 and the mean service time are computed from the real side's service times.",
        "",
        "| load | requests | mean ms | simulated | error | M/D/1 | service alone | p99 ms | simulated | error |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        mean, tail = row["real_mean_ms"], row["real_p99_ms"]
        md1 = f"{row['md1_ms']:.1f} ({row['md1_ms'] / mean - 1:+.0%})" if row["md1_ms"] else "no end"
        lines.append(
            f"| {row['load']} | {row['requests']} | {mean:.1f} | {row['simulated_mean_ms']:.1f} | "
            f"{row['simulated_mean_ms'] / mean - 1:+.1%} | {md1} | "
            f"{row['service_ms']:.1f} ({row['service_ms'] / mean - 1:+.0%}) | {tail:.1f} | "
            f"{row['simulated_p99_ms']:.1f} | {row['simulated_p99_ms'] / tail - 1:+.1%} |"
        )
    return lines
