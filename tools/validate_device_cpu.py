# SPDX-License-Identifier: Apache-2.0
"""The part of tools/validate_device.py about this machine's processor: decoders measured and predicted."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = str(ROOT / "tools" / "device_decoder.py")
#: mode:width:heads:inner:batch:length. No width, length or batch is that of a profiled shape.
SHAPES = [
    "prefill:320:5:1280:1:48", "prefill:320:5:1280:3:200", "prefill:448:7:1792:1:100", "prefill:448:7:1792:6:40",
    "prefill:640:10:2560:1:72", "prefill:640:10:1720:2:150", "prefill:896:14:3584:1:56", "prefill:1152:18:3072:1:120",
    "decode:320:5:1280:1:150", "decode:448:7:1792:3:90", "decode:640:10:2560:1:300", "decode:640:10:1720:6:200",
    "decode:896:14:3584:2:100", "decode:1152:18:3072:1:500",
    "train:320:5:1280:2:60", "train:448:7:1792:3:50", "train:640:10:2560:1:100", "train:896:14:3584:2:40",
]
LAUNCHES, STEPS = 3, 25


def measured() -> list[float]:
    """Seconds of each shape: the least over launches and steps, as others on the machine only ever add."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    runs = []
    for _ in range(LAUNCHES):
        core = str(max(os.sched_getaffinity(0)))
        done = subprocess.run(
            ["taskset", "-c", core, sys.executable, SCRIPT, "cpu", str(STEPS), *SHAPES],
            capture_output=True, text=True, check=True, env=environment,
        )
        runs.append(json.loads(done.stdout))
    return [min(times) for times in zip(*runs)]


def predicted(program: str, cluster: str) -> tuple[list[float], list[str]]:
    command = [program, "run", "-n", "1", "--cluster", cluster, "--compute", "model", "--json", SCRIPT, "virtual", "2"]
    done = subprocess.run([*command, *SHAPES], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    line = next(line for line in done.stderr.splitlines() if line.startswith("["))
    return json.loads(line), json.loads(done.stdout)["notes"]


def section(program: str, cluster: str | None, target: float) -> tuple[list[str], bool]:
    with tempfile.TemporaryDirectory() as folder:
        if cluster is None:
            cluster = f"{folder}/here.yaml"
            subprocess.run([program, "profile-ops", "-o", f"{folder}/here"], check=True)
        real = measured()
        model, notes = predicted(program, cluster)
        profiled = pathlib.Path(cluster).with_suffix(".csv").read_text().splitlines()
    errors = [guess / truth - 1 for guess, truth in zip(model, real)]
    middle = statistics.median(map(abs, errors))
    what = profiled[0].partition(" on ")[2].rstrip(".")
    lines = [
        "### This processor: decoders of other shapes than those profiled",
        "",
        f"Measured on {what} (CPU time of a step, least of {LAUNCHES} x {STEPS}) against",
        f"`--compute model` with a table of {len(profiled) - 2} operators from `orrery profile-ops`. Two layers each.",
        "",
        "| mode | width | heads | inner | batch | length | measured | predicted | error |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for shape, truth, guess, error in zip(SHAPES, real, model, errors):
        lines.append(f"| {' | '.join(shape.split(':'))} | {truth * 1e3:.2f} ms | {guess * 1e3:.2f} ms | {error:+.1%} |")
    verdict = "met" if middle <= target else "missed"
    lines += ["", f"Median of the absolute error {middle:.1%} (target {target:.0%}: {verdict}), worst "
              f"{max(map(abs, errors)):.0%}.", *(f"Note of the run: {note}." for note in notes), ""]
    return lines, middle <= target
