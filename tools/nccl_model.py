# SPDX-License-Identifier: Apache-2.0
"""The NCCL table's closed form and the split of the measurements, shared by the fit and the validation.

The formulas are those of docs/models/nccl.md and of src/orrery/collectives/select/nccl_table.cpp.
Times are microseconds, sizes bytes, bandwidths bytes per microsecond.
"""

import collections
import csv
import dataclasses
import math
import pathlib

OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
DTYPE_BYTES = {"half": 2, "int8": 1}
HELD_OUT_RANKS = 4


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement. `size` is the whole buffer in bytes: what all_reduce reduces, all_gather ends up
    with, reduce_scatter starts from, and one rank hands to all_to_all."""

    operation: str
    dtype: str
    ranks: int
    size: int
    time: float
    split: str  # "fitted", "size" (every second size held out) or "ranks" (the held-out group size)

    @property
    def floating(self):
        return self.dtype == "half"


def read_rows(path):
    """The measurements with their split. Sizes are sorted within each (operation, dtype, ranks) series;
    places 1, 3, 5, ... are held out by size, and every row of HELD_OUT_RANKS by group size."""
    series = collections.defaultdict(list)
    with open(path, newline="") as file:
        for line in csv.DictReader(file):
            operation = {"alltoall": "all_to_all"}.get(line["op_name"], line["op_name"])
            dtype = line["nccl_dtype"]
            size = int(line["message_size"]) * DTYPE_BYTES[dtype]
            series[operation, dtype, int(line["num_gpus"])].append((size, float(line["latency"]) * 1e3))
    rows = []
    for (operation, dtype, ranks), points in sorted(series.items()):
        for place, (size, time) in enumerate(sorted(points)):
            split = "ranks" if ranks == HELD_OUT_RANKS else "size" if place % 2 else "fitted"
            rows.append(Row(operation, dtype, ranks, size, time, split))
    return rows


@dataclasses.dataclass
class Entry:
    """One (algorithm, protocol) of the table; the meaning of each field is in docs/models/nccl.md."""

    algorithm: str
    protocol: str
    operations: list
    peak: float
    tuner_latency: float = 0.0
    tuner_step: float = 0.0
    tuner_bandwidth: float = math.inf
    max_message: float = math.inf
    floating_only: bool = False
    launch: float = 0.0
    launch_wide: float = 0.0
    launch_per_peer: float = 0.0
    step_overhead: float = 0.0
    peer_share: float = 1.0
    own_block: float = 0.0
    ramp: float = 0.0
    channels: float = 1.0
    channel_bytes: float = 0.0
    pieces: int = 1


def shape(entry, operation, ranks, size):
    """(messages in a row, latency steps, bytes of a message) on one rank's critical path."""
    if entry.algorithm == "offload":
        return 1, 1, size
    if entry.algorithm == "direct":
        return ranks - 1, 1, size / ranks
    steps = (ranks - 1) * (2 if operation == "all_reduce" else 1)
    return steps, steps, size / ranks


def tuner_time(entry, operation, ranks, size):
    """What NCCL's own model predicts; it decides the choice and nothing else."""
    messages, steps, message = shape(entry, operation, ranks, size)
    return entry.tuner_latency + steps * entry.tuner_step + messages * message / entry.tuner_bandwidth


def channels_used(entry, message):
    if entry.channel_bytes == 0:
        return entry.channels
    return min(max(message / entry.channel_bytes, 1.0), entry.channels)


def entry_time(entry, operation, ranks, size, path_latency, bandwidth):
    messages, steps, message = shape(entry, operation, ranks, size)
    used = channels_used(entry, message)
    launch = entry.launch + entry.launch_wide * (1 - 1 / used)
    if entry.algorithm == "direct":
        launch += (ranks - 1) * entry.launch_per_peer
    scale = 1 / min(entry.peak, (ranks - 1) * entry.peer_share)
    scale *= (1 + entry.own_block / messages) * (1 + math.sqrt(entry.ramp / message)) * entry.channels / used
    drain = 1.0
    if entry.algorithm == "offload":
        # A rank's link carries the buffer once and, for the shard it reduces, the result or the operand again.
        scale *= 1 + 1 / ranks
        drain += 1 / entry.pieces
    return launch + steps * (entry.step_overhead + path_latency) + messages * message * scale * drain / bandwidth


def choose(entries, operation, ranks, size, floating):
    """The entry NCCL would run: the least predicted time among those that can; ties go to the earlier one."""
    able = [
        entry
        for entry in entries
        if operation in entry.operations
        and (floating or not entry.floating_only)
        and shape(entry, operation, ranks, size)[2] <= entry.max_message
    ]
    return min(able, key=lambda entry: tuner_time(entry, operation, ranks, size))


@dataclasses.dataclass
class Table:
    platform: str
    nccl: str
    source: str
    path_latency: float
    link_bandwidth: float
    entries: list

    def time(self, row):
        entry = choose(self.entries, row.operation, row.ranks, row.size, row.floating)
        return entry_time(entry, row.operation, row.ranks, row.size, self.path_latency, self.link_bandwidth)


_UNITS = {"ps": 1e-6, "ns": 1e-3, "us": 1.0, "ms": 1e3, "B": 1.0, "KiB": 1024.0, "MiB": 2.0**20, "GBps": 1e3}


def _plain(value):
    """'600ns' in microseconds, '4KiB' in bytes, '141GBps' in bytes per microsecond; other values as they are."""
    if isinstance(value, str):
        for unit in sorted(_UNITS, key=len, reverse=True):
            if value.endswith(unit):
                return float(value[: -len(unit)]) * _UNITS[unit]
    return value


def read_table(path):
    import yaml

    data = yaml.safe_load(pathlib.Path(path).read_text())
    entries = []
    for item in data["entries"]:
        item = dict(item)
        tuner = {f"tuner_{key}": value for key, value in item.pop("tuner", {}).items()}
        names = ("algorithm", "protocol")
        fields = {key: _plain(value) for key, value in {**item, **tuner}.items() if key not in names}
        entries.append(Entry(algorithm=item["algorithm"], protocol=item["protocol"], **fields))
    return Table(
        platform=data["platform"],
        nccl=str(data["nccl"]),
        source=data["source"],
        path_latency=_plain(data["path_latency"]),
        link_bandwidth=_plain(data["link_bandwidth"]),
        entries=entries,
    )
