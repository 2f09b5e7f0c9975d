# SPDX-License-Identifier: Apache-2.0
"""orrery.trace_make(): the command `orrery trace make` as a call."""

import json
import os
from collections.abc import Callable
from typing import Any

from orrery import _core
from orrery._collective import _text


def _setting(name: str, value: object) -> str:
    """As the command line would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike, int, float)):
        return _text(value)
    raise _core.InputError(f"{name}: {value!r}: expected a number or a text")


def trace_make(
    output: "str | os.PathLike[str] | None" = None,
    *,
    form: str = "et",
    force: bool = False,
    progress: "Callable[[int, int], object] | None" = None,
    **settings: object,
) -> "dict[str, Any]":
    """Makes traces of transformer steps, or only counts what is in them.

        orrery.trace_make("traces/llama", model="llama-3-8b", tp=8, batch=16, seq=4096)
        orrery.replay("make:model=llama-3-8b,tp=8,batch=16,seq=4096", "hgx-h100")  # The same without files.

    output: prefix of the files <prefix>.<rank>.et; None = no files.
    form: "et", "et.gz", "json" or "json.gz".
    force: replace a trace of that name.
    settings: those of `orrery trace make --help`, with underscores: model, mode, tp, pp, dp, ep, cp, batch,
    micro_batch, seq, steps, schedule, zero, sequence_parallel, context, recompute, mask, dtype, device, efficiency,
    op_time, layers, hidden, ...
    progress: called as progress(files done, files) now and then.

    Returns what `orrery trace make --json` prints: {"parameters", "flops", "communication": [...], "ranks": [...]}.
    Raises InputError for settings that do not fit together.
    """
    pairs = [(name, _setting(name, value)) for name, value in settings.items() if value is not None]
    place = "" if output is None else _text(output)
    return json.loads(_core.trace_make_json(pairs, place, _text(form), bool(force), progress))
