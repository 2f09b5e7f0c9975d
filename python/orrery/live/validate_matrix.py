# SPDX-License-Identifier: Apache-2.0
"""The matrix of `orrery validate`: each program on each link, really and simulated, in turns."""

import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
WIDE = ("--dim", "1024", "--layers", "6", "--heads", "16", "--kv-heads", "16", "--head-dim", "64", "--hidden", "2816")
PROMPT = ("--tokens", "1", "--prompt", "x" * 720)
#: Script and arguments; each begins the part that counts with a barrier, after another one where weights are loaded,
#: and computes for about a second: the host's speed changes several times in one.
PROGRAMS = {
    "tp_decode": ("tensor_parallel.py", *WIDE, "--tokens", "56", "--prompt", "to be"),
    "tp_prefill": ("tensor_parallel.py", *WIDE, *PROMPT),
    "voltage": ("voltage.py", *WIDE, *PROMPT),
    "voltage_improved": ("voltage_improved.py", *WIDE, *PROMPT),
    "pp": ("pipeline_parallel.py", *WIDE, "--tokens", "44", "--prompt", "to be"),
    "ddp": ("ddp.py", "--layers", "6", "--rows", "64", "--steps", "200"),
    "fsdp2": ("fsdp2.py", "--layers", "6", "--rows", "64", "--steps", "50"),
    "moe": ("moe_expert_parallel.py", "--dim", "512", "--hidden", "1408", "--rows", "700", "--rounds", "16"),
    "sweep": ("collective_sweep.py", "--smallest", "1100", "--factor", "3", "--largest", "67108864", "--repeats", "1"),
}


#: Where computing is measured; what the network does there does not matter.
PAIR = "ring:hosts=2,bandwidth=1GBps,latency=10us"
#: Real ranks compute at once, each on a core of its own, and feel each other: so they do when they are measured.
AT_ONCE = ("--compute", "measured:raw", "--jobs", str(min(2, len(os.sched_getaffinity(0)))))


class Failure(Exception):
    """One line for the user."""


def end_with_us() -> None:
    """In a child: it gets a signal when we are gone, however that came."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Command:
    """Runs orrery in a folder of its own."""

    def __init__(self, path: str, folder: Path) -> None:
        self.path, self.folder = path, folder

    def run(self, *words: object) -> str:
        line = [self.path, *map(str, words)]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            line, stdout=pipe, stderr=pipe, text=True, cwd=self.folder, preexec_fn=end_with_us
        ) as process:
            try:
                output, said = process.communicate()
            except BaseException:
                process.terminate()  # It takes away what it made.
                raise
        if process.returncode != 0:
            raise Failure(f"{' '.join(line)} ended with {process.returncode}: {said.strip()[-600:]}")
        return output


def link_words(link: str) -> list:
    return [] if link == "loopback" else ["--link", link]


def script_of(program: tuple) -> list:
    examples = HERE.parent / "examples"
    if not examples.is_dir():  # A tree that was not installed.
        examples = HERE.parents[2] / "examples"
    return [examples / program[0], *program[1:]]


def warmup_words(name: str) -> list:
    loads = name.startswith(("tp_", "voltage", "pp"))
    return ["--warmup", "barrier:2" if loads else "barrier:1"]


def communication(sample: dict) -> float:
    return statistics.mean(rank["communication_ps"] for rank in sample["ranks"])


def quartile_spread(values: list) -> float:
    """Half the distance of the quartiles from each other, relative to the median."""
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / middle


class Turns:
    """Programs on one link: launches of each between as many runs that measure its computing, and the same again, as
    the host's speed drifts within minutes. The simulation comes last: what was computed, on the cluster that was
    calibrated meanwhile."""

    def __init__(self, command: Command, link: str, names: list) -> None:
        self.command, self.link, self.names = command, link, names
        self.real = {name: [] for name in names}
        self.computed = {name: [] for name in names}

    def take(self, number: int, launches: int) -> None:
        for name in self.names:
            script = script_of(PROGRAMS[name])
            before = (launches + 1) // 2
            for each in range(before):
                self.measure(name, f"{number}-{each}")
            words = ["run", "--real", "-n", 2, "--json", "--repeat", launches, *link_words(self.link)]
            self.real[name] += json.loads(self.command.run(*words, *warmup_words(name), *script))["repeats"]
            for each in range(before, launches):
                self.measure(name, f"{number}-{each}")

    def measure(self, name: str, which: str) -> None:
        folder = self.command.folder / f"{name}-{self.link}-{which}"
        words = ["run", "-n", 2, "--json", "--cluster", PAIR, *AT_ONCE, "--out", folder]
        self.command.run(*words, *warmup_words(name), *script_of(PROGRAMS[name]))
        self.computed[name].append(folder)

    def rows(self, cluster: Path) -> list:
        return [self.row(name, cluster) for name in self.names]

    def row(self, name: str, cluster: Path) -> dict:
        def simulate(folder: Path) -> dict:
            words = ["run", "-n", 2, "--json", "--cluster", cluster, "--compute", f"ledger:{folder}"]
            return json.loads(self.command.run(*words, *warmup_words(name), *script_of(PROGRAMS[name])))

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return row_of(name, self.link, self.real[name], list(pool.map(simulate, self.computed[name])))


def row_of(name: str, link: str, real: list, simulated: list) -> dict:
    row = {"program": name, "link": link, "launches": len(real)}
    for kind, samples in (("real", real), ("simulated", simulated)):
        totals = [sample["total_ps"] / 1e9 for sample in samples]
        times = [communication(sample) / 1e9 for sample in samples]
        row[f"{kind}_ms"], row[f"{kind}_spread"] = statistics.median(totals), quartile_spread(totals)
        row[f"{kind}_communication_ms"] = statistics.median(times)
        row[f"{kind}_totals_ms"] = totals
    row["total_error"] = row["simulated_ms"] / row["real_ms"] - 1
    row["communication_error"] = row["simulated_communication_ms"] / row["real_communication_ms"] - 1
    print(
        f"{name} {link}: real {row['real_ms']:.1f} ms +-{row['real_spread']:.1%}, simulated "
        f"{row['simulated_ms']:.1f} +-{row['simulated_spread']:.1%}: {row['total_error']:+.1%}; communication "
        f"{row['real_communication_ms']:.1f} ms, {row['communication_error']:+.1%}",
        file=sys.stderr,
        flush=True,
    )
    return row


def explain(launches: int) -> list:
    return [
        f"Two ranks, gloo. Medians of {launches} real launches and {launches} simulated runs, in turns,",
        "from the barrier on that begins the part that counts. Simulated: `--compute measured:raw --jobs 2` (real",
        "ranks compute at once, too) on the cluster that `orrery calibrate collectives` wrote for the link, from other",
        "programs and sizes. Spread: half the distance of the quartiles. Communication: the mean of the ranks.",
        "Regenerate with `orrery validate -o docs/validation.md`.",
    ]


def table(rows: list) -> list:
    def mean(key: str) -> float:
        return statistics.mean(abs(row[key]) for row in rows)

    if not rows:
        return []
    worst = max(rows, key=lambda row: abs(row["total_error"]))
    lines = [
        f"Mean absolute error of total time {mean('total_error'):.1%}, of communication time "
        f"{mean('communication_error'):.1%}; worst total {worst['total_error']:+.1%} ({worst['program']}, "
        f"{worst['link']}).",
        "",
        "| program | link | real ms | spread | simulated ms | spread | error | communication ms | simulated | error |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['program']} | {row['link']} | {row['real_ms']:.1f} | {row['real_spread']:.1%} | "
            f"{row['simulated_ms']:.1f} | {row['simulated_spread']:.1%} | {row['total_error']:+.1%} | "
            f"{row['real_communication_ms']:.1f} | {row['simulated_communication_ms']:.1f} | "
            f"{row['communication_error']:+.1%} |"
        )
    return lines
