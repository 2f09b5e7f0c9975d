#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs run for real against their simulation: makes the part `live` of docs/validation.md.

    tools/validate_live.py --orrery .venv/bin/orrery [--links loopback,1Gbps,200Mbps] [--programs tp_decode,...]

For each link: calibrates (on probe.py, whose sizes and operations are not those of the programs), then runs every
program --launches times for real and --simulations times simulated on the calibrated cluster, and compares medians of
total and communication time. Needs root for links and for quiet real runs.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Script and arguments; all of them begin the part that counts with a barrier.
PROGRAMS = {
    "tp_decode": ("tensor_parallel.py", "--tokens", "48", "--prompt", "to be"),
    "tp_prefill": ("tensor_parallel.py", "--tokens", "1", "--prompt", "x" * 480),
    "voltage": ("voltage.py", "--tokens", "1", "--prompt", "x" * 480),
    "voltage_improved": ("voltage_improved.py", "--tokens", "1", "--prompt", "x" * 480),
    "pp": ("pipeline_parallel.py", "--tokens", "48", "--prompt", "to be"),
    "ddp": ("ddp.py", "--steps", "10"),
    "fsdp2": ("fsdp2.py", "--steps", "10"),
    "moe": ("moe_expert_parallel.py", "--rows", "256"),
    "sweep": ("all_collectives.py",),
}
BEGIN, END = "<!-- begin live -->", "<!-- end live -->"


def run(command: list, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def communication(sample: dict) -> float:
    return statistics.mean(rank["communication_ps"] for rank in sample["ranks"])


def measure(arguments: argparse.Namespace, program: tuple, link: str, cluster: Path, folder: Path) -> dict:
    script = [ROOT / "examples" / program[0], *program[1:]]
    real = [arguments.orrery, "run", "--real", "-n", 2, "--json", "--repeat", arguments.launches]
    real += [] if link == "loopback" else ["--link", link]
    launches = json.loads(run([*real, "--warmup", "barrier:1", *script], cwd=folder))["repeats"]
    simulated = []
    for _ in range(arguments.simulations):
        command = [arguments.orrery, "run", "-n", 2, "--json", "--cluster", cluster, "--warmup", "barrier:1", *script]
        simulated.append(json.loads(run(command, cwd=folder)))
    totals = [one["total_ps"] for one in launches]
    row = {"real_ms": statistics.median(totals) / 1e9, "launches": len(launches)}
    row["spread"] = statistics.quantiles(totals, n=4)[2] / statistics.quantiles(totals, n=4)[0] - 1
    row["simulated_ms"] = statistics.median(one["total_ps"] for one in simulated) / 1e9
    row["real_communication_ms"] = statistics.median(map(communication, launches)) / 1e9
    row["simulated_communication_ms"] = statistics.median(map(communication, simulated)) / 1e9
    row["total_error"] = row["simulated_ms"] / row["real_ms"] - 1
    row["communication_error"] = row["simulated_communication_ms"] / row["real_communication_ms"] - 1
    return row


def table(rows: list, calibrations: dict, arguments: argparse.Namespace) -> str:
    def mean(key: str) -> float:
        return statistics.mean(abs(row[key]) for row in rows)

    worst = max(abs(row["total_error"]) for row in rows)
    lines = [
        BEGIN,
        "## Live runs: real against simulated",
        "",
        f"Two ranks, gloo. Medians of {arguments.launches} real launches (FIFO scheduling, a core each) and of",
        f"{arguments.simulations} simulated runs, from the first barrier on. The cluster comes from",
        "`orrery calibrate collectives`, which measures other programs and sizes. Spread: quartiles of the launches.",
        "Regenerate with `tools/validate_live.py --orrery orrery`.",
        "",
        f"Mean absolute error of total time {mean('total_error'):.1%} (aim 5%), of communication time "
        f"{mean('communication_error'):.1%} (aim 10%), worst total {worst:.1%} (aim 15%).",
        "",
        "| link | calibration: fitted | held out |",
        "|---|---|---|",
    ]
    for link, one in calibrations.items():
        lines.append(f"| {link} | {one['fitted_error']:.1%} | {one['held_out_error']:.1%} |")
    lines += ["", "| program | link | real ms | spread | simulated ms | error | communication ms | simulated | error |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        lines.append(
            f"| {row['program']} | {row['link']} | {row['real_ms']:.2f} | {row['spread']:.1%} | "
            f"{row['simulated_ms']:.2f} | {row['total_error']:+.1%} | {row['real_communication_ms']:.2f} | "
            f"{row['simulated_communication_ms']:.2f} | {row['communication_error']:+.1%} |"
        )
    return "\n".join([*lines, END, ""])


def write_page(text: str) -> None:
    page = ROOT / "docs" / "validation.md"
    old = page.read_text()
    part = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END) + "\n", re.DOTALL)
    page.write_text(part.sub(lambda _: text, old) if part.search(old) else old.rstrip("\n") + "\n\n" + text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orrery", default="orrery", help="the command")
    parser.add_argument("--links", default="loopback,1Gbps,200Mbps")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--launches", type=int, default=10)
    parser.add_argument("--simulations", type=int, default=3)
    parser.add_argument("--clusters", type=Path, help="folder of calibrations to reuse, LINK.json; filled when empty")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--dry", action="store_true", help="leave docs/validation.md alone")
    arguments = parser.parse_args()
    unknown = set(arguments.programs.split(",")) - set(PROGRAMS)
    if unknown:
        parser.error(f"unknown programs: {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    rows, calibrations = [], {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        keep = arguments.clusters or folder
        for link in arguments.links.split(","):
            kept = keep / f"{link}.json"
            if not kept.exists():
                limit = [] if link == "loopback" else ["--link", link]
                kept.write_text(run([arguments.orrery, "calibrate", "collectives", *limit, "--json"], cwd=folder))
            calibrations[link] = json.loads(kept.read_text())
            cluster = folder / f"{link}.yaml"
            cluster.write_text(calibrations[link]["cluster"])
            for name in arguments.programs.split(","):
                row = measure(arguments, PROGRAMS[name], link, cluster, folder)
                rows.append({"program": name, "link": link, **row})
                print(f"{name} {link}: real {row['real_ms']:.2f} ms, simulated {row['simulated_ms']:.2f} ms, "
                      f"{row['total_error']:+.1%}, communication {row['communication_error']:+.1%}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(rows, indent=1))
    if not arguments.dry:
        write_page(table(rows, calibrations, arguments))


if __name__ == "__main__":
    main()
