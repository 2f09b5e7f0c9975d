#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the NCCL table with the measurements and rewrites its part of docs/validation.md and the plots.

Needs numpy, matplotlib and PyYAML. `--predict closed-form` evaluates the formula of docs/models/nccl.md;
`--predict orrery` runs `orrery collective` once per distinct case, so the schedule, the network model and the
engine are under test as well.
"""

import argparse
import functools
import json
import pathlib
import re
import subprocess
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import nccl_model as model
from fit_nccl import PLATFORMS

CLUSTERS = {"a100_sxm": "dgx-a100", "h100_sxm": "hgx-h100"}
BEGIN, END = "<!-- begin nccl -->", "<!-- end nccl -->"
TARGET_MEDIAN, TARGET_P90 = 0.10, 0.25
HOW = {
    "closed-form": "the closed form of [models/nccl.md](models/nccl.md)",
    "orrery": "`orrery collective --algorithm nccl` on the presets " + ", ".join(f"`{c}`" for c in CLUSTERS.values()),
}


class OrreryPredictor:
    """Times from the simulator, one process per distinct case."""

    def __init__(self, program, cluster, table):
        self.program, self.cluster = program, cluster
        self.typed = {op for entry in table.entries if entry.floating_only for op in entry.operations}

    def __call__(self, row):
        # The element type is named only where the table's choice depends on it.
        dtype = "int8" if row.operation in self.typed and not row.floating else None
        return self.run(row.operation, row.ranks, row.size, dtype)

    @functools.cache
    def run(self, operation, ranks, size, dtype):
        command = [self.program, "collective", operation, "--cluster", self.cluster, "--ranks", str(ranks)]
        command += ["--size", f"{size}B", "--algorithm", "nccl", "--json"] + (["--dtype", dtype] if dtype else [])
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)["results"][0]["time_ps"] / 1e6


def figures(errors):
    """'rows | median | 90th percentile | worst' of absolute relative errors."""
    if not len(errors):
        return "0 | | | "
    return f"{len(errors)} | {np.median(errors):.1%} | {np.quantile(errors, 0.9):.1%} | {np.max(errors):.0%}"


def report(platform, rows, errors):
    """Table lines of one platform, and whether the held-out rows meet the target."""
    lines = []
    for operation in model.OPERATIONS + ["all"]:
        def select(*splits):
            return errors[[(operation in ("all", row.operation)) and row.split in splits for row in rows]]

        held_out = select("size", "ranks")
        for label, part in (("**held out**", held_out), ("by size", select("size")),
                            ("by group (4)", select("ranks")), ("fitted", select("fitted"))):
            lines.append(f"| {platform} | {operation} | {label} | {figures(part)} |")
    met = np.median(held_out) <= TARGET_MEDIAN and np.quantile(held_out, 0.9) <= TARGET_P90
    return lines, met


def plot(platform, table, rows, predict, path):
    """Measured points and the model's line, per operation and group size."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 8), sharex=True, sharey=True, layout="constrained")
    colours = {2: "#1b6ca8", 4: "#c8553d", 8: "#3a7d44"}
    sizes = sorted({row.size for row in rows})
    for axis, operation in zip(axes.flat, model.OPERATIONS):
        for ranks, colour in colours.items():
            for dtype, marker in (("half", "o"), ("int8", "s")):
                for fitted in (True, False):
                    points = [r for r in rows if (r.operation, r.ranks, r.dtype) == (operation, ranks, dtype)
                              and (r.split == "fitted") == fitted]
                    axis.plot([r.size for r in points], [r.time for r in points], marker, color=colour, markersize=4,
                              markerfacecolor=colour if fitted else "white", markeredgewidth=0.8, linestyle="none")
            for dtype, style in (("half", "-"), ("int8", ":")):
                line = [model.Row(operation, dtype, ranks, size, 0, "") for size in sizes]
                axis.plot(sizes, [predict(row) for row in line], style, color=colour, linewidth=1.2,
                          label=f"{ranks} GPUs" if dtype == "half" else None)
        axis.set(title=operation, xscale="log", yscale="log")
        axis.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axis.legend(frameon=False)
    for axis in axes[1]:
        axis.set_xlabel("buffer (bytes)")
    for axis in axes[:, 0]:
        axis.set_ylabel("time (us)")
    figure.suptitle(f"{platform}, NCCL {table.nccl}: measured (circle half, square int8; filled = fitted, "
                    "hollow = held out) and model (solid half, dotted int8)", fontsize=10)
    # A fixed salt and no date keep the file identical from run to run.
    matplotlib.rcParams["svg.hashsalt"] = "nccl"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def section(lines, how, verdicts):
    head = "| platform | operation | rows | count | median | 90th percentile | worst |\n|---|---|---|---|---|---|---|\n"
    met = "; ".join(f"{name}: {'met' if ok else '**missed**'}" for name, ok in verdicts.items())
    images = "\n".join(f"![{name}: measured and predicted times](img/nccl_{name}.svg)" for name in verdicts)
    return f"""{BEGIN}
## NCCL collectives on one NVSwitch node

Absolute relative error of {HOW[how]} against the measurements named in
`catalog/nccl/*.yaml`. Held out, and never used in the fit: every group of 4, and of each series of the
groups of 2 and 8 every second size. Target over all held-out rows: median at most {TARGET_MEDIAN:.0%}, 90th
percentile at most {TARGET_P90:.0%} ({met}).
Regenerate with `tools/validate_nccl.py --predict {how}`.

{head}{chr(10).join(lines)}

{images}
{END}"""


def rewrite(path, text):
    """Replaces the marked block of `path`, or appends it."""
    old = path.read_text() if path.exists() else "# Validation\n\nGenerated from runs; each part names its command.\n"
    block = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    new = block.sub(lambda _: text, old) if block.search(old) else old.rstrip("\n") + "\n\n" + text + "\n"
    path.write_text(new)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, default=root.parent / "shared/peers/aiconfigurator")
    parser.add_argument("--predict", choices=list(HOW), default="closed-form")
    parser.add_argument("--orrery", default="orrery", help="the program to run for --predict orrery")
    parser.add_argument("--docs", type=pathlib.Path, default=root / "docs")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        sys.exit(f"{arguments.data}: no such directory; the measurements are not part of the repository")
    (arguments.docs / "img").mkdir(exist_ok=True)
    lines, verdicts = [], {}
    for name, platform in PLATFORMS.items():
        table = model.read_table(root / f"catalog/nccl/{name}.yaml")
        rows = model.read_rows(arguments.data / platform.table)
        predict = table.time
        if arguments.predict == "orrery":
            predict = OrreryPredictor(arguments.orrery, CLUSTERS[name], table)
        errors = np.abs([predict(row) / row.time - 1 for row in rows])
        more, verdicts[name] = report(name, rows, errors)
        lines += more
        plot(name, table, rows, predict, arguments.docs / f"img/nccl_{name}.svg")
    rewrite(arguments.docs / "validation.md", section(lines, arguments.predict, verdicts))
    print("\n".join(lines))
    sys.exit(0 if all(verdicts.values()) else 1)


if __name__ == "__main__":
    main()
