#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks and writes results.json: name to ratio (or figure).

Engine: the same programs on Orrery and on SimGrid (pure max-min), whole processes, CPU seconds, median of five,
taken in turns so that both see the same machine. Scale: one ring all-reduce on 4,096 ranks of a fat tree, a cluster of
16,384 GPUs loaded, checked and routed, and training-like workloads replayed, with CPU seconds and peak memory.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

PURE = [
    "--cfg=network/model:CM02",
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/weight-S:0",
    "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1",
    "--cfg=contexts/factory:raw",
    "--log=root.thres:error",
]
# name, arguments, ratio to reach
ENGINE = [
    ("ring_256", ["ring", "256", "1048576"], 15),
    ("ring_1024", ["ring", "1024", "1048576"], 15),
    ("alltoall_256", ["alltoall", "256", "67108864", "0"], 80),
    ("alltoall_64_jittered", ["alltoall", "64", "67108864", "1"], 10),
    ("pingpong_1e6", ["pingpong", "1000000", "1024"], 80),
]
AGREEMENT = 1e-6


def measure(command: list[str]) -> tuple[float, float, str]:
    """CPU seconds, peak MiB and standard output of one run."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def bench_engine(build: Path, repeats: int, results: dict) -> None:
    ours = build / "bench" / "bench_orrery"
    peer = build / "bench" / "bench_simgrid"
    if not peer.exists():
        print("SimGrid is not installed (libsimgrid-dev): its ratios are left out")
        return
    heads = f"{'orrery s':>10} {'simgrid s':>10} {'ratio':>8} {'wanted':>7}   makespans differ by"
    print(f"{'engine against SimGrid':24} {heads}")
    for name, arguments, wanted in ENGINE:
        own, other, end_own, end_other = [], [], 0.0, 0.0
        for _ in range(repeats):
            seconds, _, text = measure([str(ours), *arguments])
            own.append(seconds)
            end_own = float(text)
            seconds, _, text = measure([str(peer), *arguments, *PURE])
            other.append(seconds)
            end_other = float(text)
        ratio = statistics.median(other) / max(statistics.median(own), 1e-6)
        difference = abs(end_own - end_other) / end_other
        verdict = "" if ratio >= wanted and difference <= AGREEMENT else "  <-- below"
        print(
            f"{name:24} {statistics.median(own):10.4f} {statistics.median(other):10.3f} {ratio:7.1f}x {wanted:6}x   "
            f"{difference:.1e}{verdict}",
            flush=True,
        )
        results[f"{name}_vs_simgrid"] = round(ratio, 2)
        results[f"{name}_makespan_difference"] = difference


def bench_scale(build: Path, results: dict) -> None:
    ours = str(build / "bench" / "bench_orrery")
    cases = [
        ("ring_4096_fattree", [ours, "ring", "4096", "1073741824", "--cluster",
                               "fattree:k=26,levels=3,hosts=4096,bandwidth=25GBps,latency=500ns"], 15, 1024),
        ("rail_16384_routes", [str(build / "bench" / "bench_routes"),
                               "rail_optimized:hosts=2048,gpus_per_host=8", "100000"], 2, 1024),
        ("replay_8x30000", [str(build / "bench" / "bench_replay"), "8", "30000", "10", "flow"], 2, 1024),
        ("replay_1024x2000", [str(build / "bench" / "bench_replay"), "1024", "2000", "20", "flow"], 10, 2048),
    ]
    print(f"\n{'scale':24} {'CPU s':>10} {'MiB':>10}   allowed")
    for name, command, seconds_allowed, memory_allowed in cases:
        seconds, memory, _ = measure(command)
        verdict = "" if seconds <= seconds_allowed and memory <= memory_allowed else "  <-- above"
        allowed = f"{seconds_allowed} s, {memory_allowed} MiB"
        print(f"{name:24} {seconds:10.2f} {memory:10.0f}   {allowed}{verdict}", flush=True)
        results[f"{name}_cpu_seconds"] = round(seconds, 3)
        results[f"{name}_mib"] = round(memory, 1)


def bench_traces(build: Path, results: dict, size: int = 1 << 30) -> None:
    """One trace file of a GiB: read node by node, and summed up with its longest chain."""
    program = str(build / "bench" / "bench_trace")
    trace = build / "bench" / "trace.0.et"
    measure([program, "make", str(trace), str(size)])
    print(f"\n{'traces':24} {'MB/s CPU':>10} {'MiB':>10}   wanted")
    try:
        for name, wanted, memory_allowed in [("read", 200, 64), ("info", 200, 256)]:
            _, _, text = measure([program, name, str(trace)])
            figures = json.loads(text)
            speed = figures["bytes"] / 1e6 / figures["seconds"]
            verdict = "" if speed >= wanted and figures["peak_mib"] <= memory_allowed else "  <-- below"
            print(
                f"{'trace_' + name:24} {speed:10.0f} {figures['peak_mib']:10.1f}   {wanted} MB/s, "
                f"{memory_allowed} MiB{verdict}",
                flush=True,
            )
            results[f"trace_{name}_mb_per_cpu_second"] = round(speed, 1)
            results[f"trace_{name}_mib"] = figures["peak_mib"]
    finally:
        trace.unlink()


FAT_TREE = "fattree:k=16,levels=3,bandwidth=100Gbps,latency=500ns"
PEER_EVENTS = {"htsim": 1.06, "ns3": 0.13}  # Millions of events per CPU second, measured once on such a machine.
# name, pattern, bytes of a message, settings, millions of packet hops per CPU second to reach
PACKETS = [
    ("packet_neighbours", "shift", "2000000", "trains=true", 20),
    ("packet_neighbours_ports", "shift", "2000000", "trains=false", 20),
    ("packet_neighbours_plain", "shift", "2000000", "trains=false,batches=never", 0),
    ("packet_permutation", "permutation", "2000000", "trains=true", 20),
    ("packet_permutation_plain", "permutation", "2000000", "trains=false,batches=never", 0),
    ("packet_permutation_window", "permutation", "2000000", "control=window", 0),
]


def bench_packets(build: Path, repeats: int, results: dict) -> None:
    """Packets over links per CPU second of the run, on 1,024 hosts; plain = one event per packet and link."""
    heads = f"{'hops':>10} {'CPU s':>10} {'M hops/s':>9} {'wanted':>7} {'htsim':>8} {'ns-3':>8}"
    print(f"\n{'packets, 1,024 hosts':26} {heads}")
    for name, pattern, size, settings, wanted in PACKETS:
        rates, hops, seconds = [], 0, 0.0
        for _ in range(repeats):
            _, _, text = measure([str(build / "bench" / "bench_packet"), FAT_TREE, pattern, size, settings])
            hops, seconds = int(text.split()[0]), max(float(text.split()[1]), 1e-6)
            rates.append(hops / seconds / 1e6)
        rate = statistics.median(rates)
        ratios = [f"{rate / peer:7.0f}x" for peer in PEER_EVENTS.values()]
        verdict = "" if rate >= wanted else "  <-- below"
        print(f"{name:26} {hops:10} {seconds:10.4f} {rate:9.1f} {wanted:7} {' '.join(ratios)}{verdict}", flush=True)
        results[f"{name}_million_hops_per_cpu_second"] = round(rate, 2)


def bench_infragraph(build: Path, output: Path) -> None:
    """The peer takes a minute; it is installed by tools/requirements-bench.txt and left out when it is missing."""
    print(flush=True)
    script = Path(__file__).with_name("infragraph_expand.py")
    ours = build / "bench" / "bench_infragraph"
    subprocess.run([sys.executable, str(script), "--ours", str(ours), "--json", str(output)], check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/bench"), help="the build tree of the benchmarks")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="leave out the InfraGraph peer, which takes a minute")
    parser.add_argument("--output", type=Path, default=None, help="results file (default: BUILD/results.json)")
    arguments = parser.parse_args()
    results: dict = {}
    bench_engine(arguments.build, arguments.repeats, results)
    bench_scale(arguments.build, results)
    bench_packets(arguments.build, arguments.repeats, results)
    bench_traces(arguments.build, results)
    output = arguments.output or arguments.build / "results.json"
    output.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n")
    if not arguments.quick:
        bench_infragraph(arguments.build, output)
    print(f"\nwritten to {output}")


if __name__ == "__main__":
    main()
