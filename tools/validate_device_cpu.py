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
#: mode:width:heads:inner:batch:length. Nothing in the models was chosen by looking at these.
SHAPES = [
    "prefill:384:6:1536:1:80", "prefill:384:6:1536:4:64", "prefill:512:8:1376:2:112", "prefill:576:9:2304:1:144",
    "prefill:704:11:2816:3:36", "prefill:800:10:2400:1:220", "prefill:832:13:3328:2:60", "prefill:1024:16:4096:1:90",
    "decode:384:6:1536:2:120", "decode:512:8:1376:1:260", "decode:576:9:2304:5:70", "decode:800:10:2400:1:400",
    "decode:832:13:3328:3:160", "decode:1024:16:4096:1:200",
    "train:384:6:1536:1:110", "train:512:8:2048:2:70", "train:704:11:2816:1:64", "train:800:10:3200:2:48",
]
LAUNCHES, STEPS = 3, 25


def check_unseen(table: list[str]) -> None:
    """That no product of a shape is a profiled one."""
    profiled = {line.split(",")[2] for line in table if line.startswith("gemm")}
    for shape in SHAPES:
        mode, *numbers = shape.split(":")
        width, _, inner, batch, length = map(int, numbers)
        m = batch if mode == "decode" else batch * length
        for n, k in ((3 * width, width), (width, width), (inner, width), (width, inner)):
            if f"1x{m}x{n}x{k}" in profiled:
                sys.exit(f"{shape} has a product that was profiled: 1x{m}x{n}x{k}")


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
        profiled = pathlib.Path(cluster).with_suffix(".csv").read_text().splitlines()
        check_unseen(profiled)
        real = measured()
        model, notes = predicted(program, cluster)
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
