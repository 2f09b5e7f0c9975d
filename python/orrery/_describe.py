# SPDX-License-Identifier: Apache-2.0
"""orrery.describe() and orrery.clusters()."""

import json
from typing import Any

from orrery import _core


def describe(name: "str | None" = None) -> "list[dict[str, Any]]":
    """Everything that can be named (or all of one name or kind), with its settings: what `orrery describe` prints."""
    return json.loads(_core.describe_json(name or ""))["entries"]


def clusters() -> "list[dict[str, Any]]":
    """The clusters that come with Orrery."""
    return json.loads(_core.presets_json())["clusters"]
