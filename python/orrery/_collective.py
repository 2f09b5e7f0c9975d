# SPDX-License-Identifier: Apache-2.0
"""orrery.collective(): the command `orrery collective` as a call."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from orrery import _core


def _text(value: object) -> str:
    """Paths and the like as the text the core reads."""
    return os.fspath(value) if isinstance(value, (str, os.PathLike)) else str(value)


def _integer(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _core.InputError(f"{name}: {value!r}: expected a whole number")
    return value


def _group(group: "str | Iterable[int]") -> str:
    if isinstance(group, str):
        return group
    return ",".join(str(_integer("group", rank)) for rank in group)


def _sizes(size: "str | int | Sequence[str | int]") -> str:
    """Numbers are bytes."""
    if isinstance(size, str):
        return size
    items = [size] if isinstance(size, int) else size
    return ",".join(item if isinstance(item, str) else f"{_integer('size', item)}B" for item in items)


def collective(
    op: str,
    cluster: "str | os.PathLike[str]",
    *,
    ranks: "int | None" = None,
    group: "str | Iterable[int] | None" = None,
    size: "str | int | Sequence[str | int]" = "1MiB",
    sizes: "Sequence[int] | None" = None,
    algorithm: "str | Sequence[str]" = "auto",
    network: str = "flow",
    dtype: str = "float32",
    root: int = 0,
    seed: int = 0,
    skew: str = "0s",
    iterations: int = 1,
    workers: int = 1,
    trace: "str | os.PathLike[str] | None" = None,
    csv: "str | os.PathLike[str] | None" = None,
    lenient: bool = False,
    progress: "Callable[[int, int], object] | None" = None,
) -> "dict[str, Any]":
    """Times of a collective, for sizes and algorithms.

    op: "all_reduce", "all_gather", ... (`orrery.describe("operation")`).
    cluster: a file, a preset, or a generator such as "star:hosts=8,bandwidth=100Gbps,latency=1us".
    ranks: use the first so many; group: use these, as "0,2,4-7" or a list.
    size: the whole buffer as nccl-tests counts it: "1MiB", "1KiB..1GiB", "1KiB..1GiB:x4", a number of bytes, a list.
    sizes: uneven forms; bytes per rank, or per pair of ranks (sender slow) for all_to_all. Replaces `size`.
    algorithm: a name, several, or "all", "auto", "gloo", "nccl".
    network: a model with settings, "flow:resolve_delay=1us", or a YAML file.
    skew: ranks begin at random times up to this apart; iterations: back to back, time is the mean.
    workers: threads, 0 = one per core; never changes a result.
    trace: a timeline file (.json, .json.gz, .csv) of the fastest at the largest size.
    progress: called as progress(done, total) now and then.

    Returns what `orrery collective --json` prints: {"results": [...], "manifest": {...}, ...}.
    Raises InputError for a mistake in the arguments, SimulationError when the collective cannot finish.
    """
    options = _core.CollectiveOptions()
    options.operation = _text(op)
    options.cluster = _text(cluster)
    options.ranks = None if ranks is None else _integer("ranks", ranks)
    options.group = "" if group is None else _group(group)
    options.size = _sizes(size)
    options.uneven = [_integer("sizes", item) for item in sizes or []]
    options.algorithm = algorithm if isinstance(algorithm, str) else ",".join(algorithm)
    options.network = _text(network)
    options.dtype = _text(dtype).removeprefix("torch.")
    options.root = _integer("root", root)
    options.seed = _integer("seed", seed)
    options.skew = _text(skew)
    options.iterations = _integer("iterations", iterations)
    options.workers = _integer("workers", workers)
    options.trace = "" if trace is None else _text(trace)
    options.lenient = bool(lenient)
    return json.loads(_core.collective_json(options, progress, "" if csv is None else _text(csv)))
