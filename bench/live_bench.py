#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What live runs cost: `orrery run` on scripts, figure by figure, beside what is allowed.

A primitive is one rank's blocking call of a 4-byte all_reduce: the wall time of a run of two ranks beyond that of a
shorter one, for each call of each rank, less the same call on torch's backend that does nothing. Beside it stands what
two processes take for the same that only take turns, through a pipe: what no simulator on this host could do without.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
PAIR = "ring:hosts=2,bandwidth=1GBps,latency=10us"
SHORT, LONG = 2_000, 242_000  # Starting takes 3 s, give or take a third of one: the calls must take longer.


def run(orrery: Path, *words: object) -> tuple[str, float]:
    """What it printed, and wall seconds."""
    began = time.perf_counter()
    line = [str(orrery), "run", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(line)} ended with {done.returncode}: {done.stderr}")
    return done.stdout, time.perf_counter() - began


def memory_mib(text: str) -> float:
    """Of all ranks, from the summary."""
    amount, unit = re.search(r"([\d.]+) ([KMG])iB of memory", text).groups()
    return float(amount) * {"K": 2**-10, "M": 1, "G": 2**10}[unit]


def seconds_of(script: str, *words: object) -> float:
    """What a script of ours printed."""
    line = [sys.executable, HERE / "live" / script, *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*map(str, line)], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def noop_us() -> float:
    return seconds_of("all_reduce_loop.py", LONG, "noop") * 1e6


def turns_us() -> float:
    return seconds_of("take_turns.py", LONG) * 1e6


def primitive_us(orrery: Path, *options: object) -> float:
    script = HERE / "live" / "all_reduce_loop.py"
    seconds = [run(orrery, "-n", 2, "--cluster", PAIR, *options, script, count)[1] for count in (SHORT, LONG)]
    return (seconds[1] - seconds[0]) / (LONG - SHORT) / 2 * 1e6


def star(hosts: int) -> str:
    return f"star:hosts={hosts},bandwidth=10Gbps,latency=10us"


def bench_primitive(orrery: Path, repeats: int, results: dict) -> None:
    calls, noops, turns = [], [], []
    for _ in range(repeats):  # In turns: all see the same machine.
        noops.append(noop_us())
        turns.append(turns_us())
        calls.append(primitive_us(orrery))
    beyond = [call - noop for call, noop in zip(calls, noops, strict=True)]
    least = statistics.median(turn - noop for turn, noop in zip(turns, noops, strict=True))
    show("primitive_us_beyond_noop", statistics.median(beyond), 15, results,
         f"{min(beyond):.1f} to {max(beyond):.1f}; the call alone {statistics.median(noops):.1f}, "
         f"taking turns {least:.1f} beyond it")


def bench_ranks(orrery: Path, repeats: int, results: dict) -> None:
    independent = HERE / "live" / "independent.py"
    text, seconds = run(orrery, "-n", 64, "--cluster", star(64), HERE / "live" / "all_reduce_loop.py", 1)
    show("start_64_ranks_seconds", seconds, 15, results)
    show("start_64_ranks_gib", memory_mib(text) / 1024, 4, results)
    run(orrery, "-n", 32, "--cluster", star(32), independent)  # What is known of durations settles.
    shares = []
    for _ in range(repeats):
        words = ["--json", "--cluster", star(32), "--warmup", "barrier:1", independent]
        totals = [json.loads(run(orrery, "-n", ranks, *words)[0])["total_ps"] for ranks in (1, 32)]
        shares.append(totals[1] / totals[0] - 1)
    show("ranks_32_against_1_percent", max(shares, key=abs) * 100, 3, results,
         " ".join(f"{share:+.1%}" for share in shares))


def peak_mib(orrery: Path, *words: object) -> float:
    """Of the run and all its processes together, shared pages once: the most that was seen."""
    process = subprocess.Popen([str(orrery), "run", "-q", *map(str, words)], stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        family, found = {process.pid}, 0
        for entry in sorted((int(name) for name in os.listdir("/proc") if name.isdigit())):
            try:
                parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
                if entry not in family and parent not in family:
                    continue
                family.add(entry)
                rollup = Path(f"/proc/{entry}/smaps_rollup").read_text()
                found += int(re.search(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)[1])
            except (OSError, TypeError):
                continue  # It is gone.
        peak = max(peak, found)
        time.sleep(0.1)
    return peak / 1024


def bench_memory(orrery: Path, results: dict) -> None:
    """Ranks that read one model's weights, against one rank that does."""
    script = [EXAMPLES / "voltage.py", "--dim", 2048, "--layers", 6, "--hidden", 5632, "--tokens", 2]
    run(orrery, "-n", 1, "--cluster", star(8), *script)  # Makes the weights.
    one, eight = (peak_mib(orrery, "-n", ranks, "--cluster", star(8), *script) for ranks in (1, 8))
    show("voltage_8_ranks_memory_ratio", eight / one, 2, results, f"{eight:.0f} and {one:.0f} MiB")


def bench_idle_hour(orrery: Path, results: dict) -> None:
    script = [EXAMPLES / "poisson_serving.py", "--stages", 2, "--rate", 0.01, "--duration", 3600, "--tokens", 4]
    _, seconds = run(orrery, "-n", 2, "--cluster", PAIR, *script)
    show("idle_poisson_hour_seconds", seconds, 10, results)


def show(name: str, value: float, allowed: float, results: dict, more: str = "") -> None:
    verdict = "" if abs(value) <= allowed else "  <-- above"
    print(f"{name:28} {value:10.2f} {allowed:8}  {more}{verdict}", flush=True)
    results[name] = round(value, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orrery", type=Path, default=Path(".venv/bin/orrery"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, default=None, help="results file to add to")
    arguments = parser.parse_args()
    results: dict = {}
    print(f"{'live runs':28} {'measured':>10} {'allowed':>8}")
    bench_primitive(arguments.orrery, arguments.repeats, results)
    bench_ranks(arguments.orrery, arguments.repeats, results)
    bench_memory(arguments.orrery, results)
    bench_idle_hour(arguments.orrery, results)
    if arguments.json:
        before = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        arguments.json.write_text(json.dumps(before | results, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
