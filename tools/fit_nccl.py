#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits catalog/nccl/<platform>.yaml to measured collectives. Needs numpy, scipy and PyYAML.

Only the fitted rows are used (nccl_model.read_rows says which those are): the held-out ones are dropped as
soon as they are read. The choice between algorithms is not fitted: it is NCCL's published tuning model.
The fit minimises a robust sum of squared log errors from fixed starting values, so it is deterministic.
"""

import argparse
import dataclasses
import pathlib

import numpy as np
from scipy.optimize import least_squares

import nccl_model as model

RING_OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter"]
PATH_LATENCY = 0.3  # GPU to NVSwitch to GPU: two links of 150 ns.
PACKET_LIMIT = 0.889  # Payload share of an NVLink packet: 128 of 144 bytes.
LL_LIMIT = 0.5  # LL sends a 4-byte flag with every 4 bytes of data.


@dataclasses.dataclass(frozen=True)
class Platform:
    table: str
    nccl: str
    device: str
    bandwidth: float  # Per direction and GPU, bytes per microsecond.
    bus: float  # What NCCL's topology search assumes: links times its per-link figure.
    ll: float  # NCCL's cap on LL.
    nvls: float  # NCCL's NVLS efficiency; 0 where there is none.


PLATFORMS = {
    "a100_sxm": Platform(
        "a100_sxm_comm_nccl_2.27.3_nccl_perf.csv", "2.27.3", "A100-SXM4-80GB", 300e3, 240e3, 87.7e3, 0
    ),
    "h100_sxm": Platform(
        "h100_sxm_comm_nccl_2.29.2_nccl_perf.csv", "2.29.2", "H100-SXM5-80GB", 450e3, 370.8e3, 141e3, 0.85
    ),
}

# Free parameters: start, least, most. Steps are increments: a step of LL128 costs no less than one of LL,
# and one of Simple no less than one of LL128, since each adds synchronisation to the one before.
FREE = {
    "ll.launch": (6, 1, 30),
    "ll.wide": (1.5, 0.01, 10),
    "ll.step": (0.6, 0.01, 5),
    "ll.peak": (0.3, 0.01, LL_LIMIT),
    "ll.channels": (12, 1.5, 64),
    "ll128.more_step": (0.1, 0.001, 10),
    "ll128.peak": (0.7, 0.05, PACKET_LIMIT),
    "simple.launch": (12, 1, 60),
    "simple.more_step": (0.5, 0.001, 10),
    "simple.peak": (0.75, 0.05, PACKET_LIMIT),
    "simple.own_block": (0.4, 0.01, 2),
    "simple.ramp": (2e5, 1e2, 1e8),
    "direct_ll.launch": (8, 1, 30),
    "direct_ll.per_peer": (0.2, 0.001, 5),
    "direct_ll.peer_share": (0.02, 0.001, LL_LIMIT),
    "direct.launch": (12, 1, 60),
    "direct.peak": (0.7, 0.05, PACKET_LIMIT),
    "direct.own_block": (0.3, 0.01, 2),
    "direct.ramp": (2e5, 1e2, 1e8),
    "nvls.launch": (20, 1, 80),
    "nvls.peak": (0.6, 0.05, PACKET_LIMIT),
    "nvls.ramp": (1e6, 1e2, 1e9),
}


def free_of(platform):
    return {name: free for name, free in FREE.items() if platform.nvls or not name.startswith("nvls")}


def significant(value, digits=4):
    return float(f"{value:.{digits}g}")


def entries_of(platform, value):
    """The table's entries for one set of parameters."""
    ll128_step = value["ll.step"] + value["ll128.more_step"]
    entries = [
        model.Entry(
            "ring", "LL", RING_OPERATIONS, peak=value["ll.peak"],
            tuner_latency=6.6, tuner_step=0.6, tuner_bandwidth=min(platform.ll, platform.bus / 2),
            launch=value["ll.launch"], launch_wide=value["ll.wide"], step_overhead=value["ll.step"],
            channels=value["ll.channels"], channel_bytes=4096.0,
        ),
        model.Entry(
            "ring", "LL128", RING_OPERATIONS, peak=value["ll128.peak"],
            tuner_latency=14.0, tuner_step=1.9, tuner_bandwidth=0.92 * platform.bus,
            launch=value["simple.launch"], step_overhead=ll128_step, own_block=value["simple.own_block"],
        ),
        model.Entry(
            "ring", "Simple", RING_OPERATIONS, peak=value["simple.peak"],
            tuner_latency=8.4, tuner_step=3.4, tuner_bandwidth=platform.bus,
            launch=value["simple.launch"], step_overhead=ll128_step + value["simple.more_step"],
            own_block=value["simple.own_block"], ramp=value["simple.ramp"],
        ),
        model.Entry(
            "direct", "LL", ["all_to_all"], peak=LL_LIMIT, max_message=16384.0,
            launch=value["direct_ll.launch"], launch_per_peer=value["direct_ll.per_peer"],
            peer_share=value["direct_ll.peer_share"],
        ),
        model.Entry(
            "direct", "Simple", ["all_to_all"], peak=value["direct.peak"],
            launch=value["direct.launch"], own_block=value["direct.own_block"], ramp=value["direct.ramp"],
        ),
    ]  # fmt: skip
    if platform.nvls:
        entries.append(
            model.Entry(
                "offload", "NVLS", ["all_reduce"], peak=value["nvls.peak"], floating_only=True,
                tuner_latency=25.0, tuner_bandwidth=platform.nvls * platform.bus,
                launch=value["nvls.launch"], ramp=value["nvls.ramp"], pieces=16,
            )
        )  # fmt: skip
    return entries


def rounded(entry):
    """As the file will say it: times to the nanosecond, bytes whole, ratios to four digits."""
    for name in ("launch", "launch_wide", "launch_per_peer", "step_overhead"):
        setattr(entry, name, round(getattr(entry, name), 3))
    for name in ("peak", "own_block", "peer_share", "channels"):
        setattr(entry, name, significant(getattr(entry, name)))
    entry.ramp = round(significant(entry.ramp))
    return entry


def fit(platform, rows):
    free = free_of(platform)
    start, least, most = (np.log([bound[i] for bound in free.values()]) for i in range(3))

    def predicted(point):
        entries = entries_of(platform, dict(zip(free, np.exp(point))))
        table = model.Table("", "", "", PATH_LATENCY, platform.bandwidth, entries)
        return np.log([table.time(row) for row in rows])

    measured = np.log([row.time for row in rows])
    best = least_squares(
        lambda point: predicted(point) - measured,
        start, bounds=(least, most), loss="soft_l1", f_scale=0.05, max_nfev=400,
    )  # fmt: skip
    return [rounded(entry) for entry in entries_of(platform, dict(zip(free, np.exp(best.x))))], len(free)


def time_text(us):
    return f"{round(us * 1e3)}ns"


def entry_text(entry):
    lines = [
        f"  - algorithm: {entry.algorithm}",
        f"    protocol: {entry.protocol}",
        f"    operations: [{', '.join(entry.operations)}]",
    ]
    if np.isfinite(entry.tuner_bandwidth):
        lines.append(
            f"    tuner: {{latency: {time_text(entry.tuner_latency)}, step: {time_text(entry.tuner_step)}, "
            f"bandwidth: {significant(entry.tuner_bandwidth / 1e3):g}GBps}}"
        )
    if np.isfinite(entry.max_message):
        lines.append(f"    max_message: {entry.max_message / 1024:g}KiB")
    if entry.floating_only:
        lines.append("    floating_only: true")
    lines.append(f"    launch: {time_text(entry.launch)}")
    for name in ("launch_wide", "launch_per_peer", "step_overhead"):
        if getattr(entry, name):
            lines.append(f"    {name}: {time_text(getattr(entry, name))}")
    lines.append(f"    peak: {entry.peak:g}")
    if entry.peer_share != 1:
        lines.append(f"    peer_share: {entry.peer_share:g}")
    if entry.own_block:
        lines.append(f"    own_block: {entry.own_block:g}")
    if entry.ramp:
        lines.append(f"    ramp: {entry.ramp}B")
    if entry.channel_bytes:
        lines.append(f"    channels: {entry.channels:g}")
        lines.append(f"    channel_bytes: {entry.channel_bytes / 1024:g}KiB")
    if entry.pieces != 1:
        lines.append(f"    pieces: {entry.pieces}")
    return "\n".join(lines)


def table_text(name, platform, entries, fitted, total, parameters):
    return f"""# How NCCL {platform.nccl} runs collectives on up to 8 {platform.device} under one NVSwitch.
# Written by tools/fit_nccl.py; do not edit. Formulas and the meaning of every field: docs/models/nccl.md.
#
# Measurements: github.com/ai-dynamo/aiconfigurator, systems/data/{name}/comm/nccl/{platform.nccl}/nccl_perf,
#   Apache License 2.0, as {platform.table}. The measurements themselves are not part of this repository.
# Fitted rows: {fitted} of {total}, with {parameters} free parameters: groups of 2 and 8, and of each
#   (operation, dtype, group) series the sizes at places 0, 2, 4, ... Never used: groups of 4, other sizes.
# `tuner` holds constants of NCCL's own tuning model (src/graph/tuning.cc and topo.h of that release), not fitted;
#   it decides which entry runs. All other values say how long the chosen entry takes, and are fitted, save
#   max_message, channel_bytes and the peak of direct LL (NCCL's constants) and pieces (ours).
platform: {name}
nccl: "{platform.nccl}"
source: aiconfigurator {name}/comm/nccl/{platform.nccl}/nccl_perf (Apache-2.0)
path_latency: {time_text(PATH_LATENCY)}  # Assumed between two GPUs, two links of 150 ns; step_overhead is net of it.
link_bandwidth: {platform.bandwidth / 1e3:g}GBps  # Assumed per GPU and direction; peaks are fractions of it.
entries:
""" + "\n".join(entry_text(entry) for entry in entries) + "\n"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, default=root.parent / "shared/peers/aiconfigurator")
    parser.add_argument("--out", type=pathlib.Path, default=root / "catalog/nccl")
    arguments = parser.parse_args()
    for name, platform in PLATFORMS.items():
        rows = model.read_rows(arguments.data / platform.table)
        fitted = [row for row in rows if row.split == "fitted"]
        total = len(rows)
        del rows
        entries, parameters = fit(platform, fitted)
        path = arguments.out / f"{name}.yaml"
        path.write_text(table_text(name, platform, entries, len(fitted), total, parameters))
        table = model.read_table(path)
        errors = np.abs([table.time(row) / row.time - 1 for row in fitted])
        print(f"{path.name}: {parameters} parameters, {len(fitted)} fitted rows, "
              f"median error {np.median(errors):.1%}, 90th percentile {np.quantile(errors, 0.9):.1%}")


if __name__ == "__main__":
    main()
