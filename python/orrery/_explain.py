# SPDX-License-Identifier: Apache-2.0
"""orrery.explain(): the command `orrery explain` as a call."""

import json
import os
from collections.abc import Mapping
from typing import Any

from orrery import _core
from orrery._collective import _integer, _text
from orrery._replay import _pairs


def explain(
    capture: "str | os.PathLike[str]",
    cluster: "str | os.PathLike[str]",
    *,
    network: "str | None" = None,
    algorithm: "str | Mapping[str, str] | None" = None,
    compute: "str | None" = None,
    comm_group: "str | os.PathLike[str] | None" = None,
    streams: "str | Mapping[str, int | str] | None" = None,
    eager_limit: "str | int | None" = None,
    seed: int = 0,
    top: int = 10,
    all: bool = False,
    out: "str | os.PathLike[str] | None" = None,
    lenient: bool = False,
) -> "dict[str, Any]":
    """Says where the time of a captured run goes, and what overlapping would save.

        why = orrery.explain("steps", "jetson-lan")
        for site in why["overlap"]["sites"]:
            print(site["site"], site["saved_ps"], site["reason"])

    capture: a folder that `orrery run --capture` wrote, or any trace that orrery.replay() takes.
    cluster, network, algorithm, compute, comm_group, streams, eager_limit, seed, lenient: as of orrery.replay().
    top: so many steps of the critical path, the longest ones, and so many sites tried; all: every one.
    out: a file that gets the result, too.

    Returns what `orrery explain --json` prints: {"total_ps", "critical_path", "exposed", "overlap", ...}.
    Raises InputError for a mistake in the arguments or files, SimulationError when ranks wait for ever.
    """
    options = _core.ReplayOptions()
    options.trace = _text(capture)
    options.cluster = _text(cluster)
    options.network = "" if network is None else _text(network)
    options.algorithm = "" if algorithm is None else _pairs(algorithm)
    options.compute = "" if compute is None else _text(compute)
    options.comm_group = "" if comm_group is None else _text(comm_group)
    options.streams = "" if streams is None else _pairs(streams)
    options.eager_limit = "" if eager_limit is None else str(eager_limit)
    options.seed = _integer("seed", seed)
    options.lenient = bool(lenient)
    written = "" if out is None else _text(out)
    return json.loads(_core.explain_json(options, _integer("top", top), bool(all), written))
