# SPDX-License-Identifier: Apache-2.0
"""orrery.replay(): the command `orrery replay` as a call."""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from orrery import _core
from orrery._collective import _integer, _text


def replay(
    trace: "str | os.PathLike[str] | None" = None,
    cluster: "str | os.PathLike[str] | None" = None,
    *,
    network: "str | None" = None,
    algorithm: "str | Mapping[str, str] | None" = None,
    compute: "str | None" = None,
    ranks: "int | None" = None,
    comm_group: "str | os.PathLike[str] | None" = None,
    streams: "str | Mapping[str, int | str] | None" = None,
    eager_limit: "str | int | None" = None,
    window: int = 0,
    fold: bool = True,
    seed: int = 0,
    out: "str | os.PathLike[str] | None" = None,
    timeline: "str | os.PathLike[str] | None" = None,
    csv: "str | os.PathLike[str] | None" = None,
    lenient: bool = False,
    progress: "Callable[[int, int], object] | None" = None,
    astra_workload: "str | os.PathLike[str] | None" = None,
    astra_system: "str | os.PathLike[str] | None" = None,
    astra_network: "str | os.PathLike[str] | None" = None,
    astra_memory: "str | os.PathLike[str] | None" = None,
    astra_comm_group: "str | os.PathLike[str] | None" = None,
) -> "dict[str, Any]":
    """Replays an execution trace on a cluster.

        result = orrery.replay("traces/llama", "hgx-h100")
        print(result["total_ps"] / 1e12, "s")

    trace: the prefix of PREFIX.0.et, PREFIX.1.et, ..., their folder, or one file.
    cluster: a file, a preset, or a generator such as "star:hosts=8,bandwidth=100Gbps,latency=1us".
    network: a model with settings, "flow:resolve_delay=1us" (default "flow"), or a YAML file.
    algorithm: of collectives: "gloo", "nccl", "msccl:FILE" or a name; or one for each, {"all_reduce": "ring"}.
    compute: "recorded" (default), "recorded:TIME", "roofline", "fixed:TIME", "table:FILE".
    ranks: run the trace on so many, where its pattern allows.
    streams: what a rank runs at a time, {"compute": 1, "comm": 2}; "all" = no limit.
    eager_limit: messages up to this size do not wait for their receive.
    fold: take the times of equal collectives from the first one; never changes a time.
    out: a folder for everything; timeline: a file (.json, .json.gz, .csv); csv: the table of ranks.
    progress: called as progress(ranks done, ranks) now and then.
    astra_...: ASTRA-sim's own files instead of trace and cluster. The result has its cycles; with a `network` other
    than "astra_aware" and "astra_unaware" also what that network makes of the same run, under "native".

    Returns what `orrery replay --json` prints: {"total_ps", "ranks": [...], "collectives": [...], ...}.
    Raises InputError for a mistake in the arguments or files, SimulationError when ranks wait for ever.
    """
    options = _core.ReplayOptions()
    options.trace = "" if trace is None else _text(trace)
    options.cluster = "" if cluster is None else _text(cluster)
    options.network = "" if network is None else _text(network)
    options.algorithm = "" if algorithm is None else _pairs(algorithm)
    options.compute = "" if compute is None else _text(compute)
    options.ranks = None if ranks is None else _integer("ranks", ranks)
    options.comm_group = "" if comm_group is None else _text(comm_group)
    options.streams = "" if streams is None else _pairs(streams)
    options.eager_limit = "" if eager_limit is None else str(eager_limit)
    options.window = _integer("window", window)
    options.folds = bool(fold)
    options.seed = _integer("seed", seed)
    options.output = "" if out is None else _text(out)
    options.trace_file = "" if timeline is None else _text(timeline)
    options.csv = "" if csv is None else _text(csv)
    options.lenient = bool(lenient)
    files = [astra_workload, astra_system, astra_network, astra_memory, astra_comm_group]
    return json.loads(_core.replay_json(options, progress, ["" if file is None else _text(file) for file in files]))


def _pairs(value: "str | Mapping[str, object]") -> str:
    """{"comm": 2} as "comm=2"."""
    return value if isinstance(value, str) else ",".join(f"{name}={word}" for name, word in value.items())
