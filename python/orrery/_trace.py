# SPDX-License-Identifier: Apache-2.0
"""orrery.trace_info() and orrery.trace_check()."""

import json
import os
from typing import Any

from orrery import _core


def trace_info(trace: "str | os.PathLike[str]") -> "dict[str, Any]":
    """What is in an execution trace (a file, a folder, or the prefix of its files): nodes, bytes, FLOPs and the longest
    chain, per rank and in total. What `orrery trace info --json` prints."""
    return json.loads(_core.trace_info_json(os.fspath(trace)))


def trace_check(trace: "str | os.PathLike[str]", comm_group: "str | os.PathLike[str]" = "") -> "dict[str, Any]":
    """Whether a trace can run to its end: `ok`, and `problems` with kind, message and nodes. What
    `orrery trace check --json` prints; only a trace that cannot be found is an error."""
    return json.loads(_core.trace_check_json(os.fspath(trace), os.fspath(comm_group)))
