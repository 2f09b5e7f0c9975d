# SPDX-License-Identifier: Apache-2.0
"""orrery.Cluster: what `orrery cluster` shows, as an object."""

import json
import os
from typing import Any

from orrery import _core


class Cluster:
    """A cluster: nodes, cables between them, and where ranks sit. Made by Cluster.load()."""

    def __init__(self, core: "_core.Cluster") -> None:
        self._core = core

    @classmethod
    def load(cls, text: "str | os.PathLike[str]", *, lenient: bool = False) -> "Cluster":
        """`text` is a file, a preset, or a generator such as "star:hosts=8,bandwidth=100Gbps,latency=1us"."""
        return cls(_core.Cluster.load(os.fspath(text), lenient=lenient))

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self._core.nodes

    @property
    def edges(self) -> int:
        """Number of cables."""
        return self._core.edges

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self._core.ranks

    @property
    def warnings(self) -> "list[str]":
        return self._core.warnings

    def summary(self) -> str:
        """A few lines for people."""
        return self._core.summary()

    def svg(self) -> str:
        """A picture."""
        return self._core.svg()

    def _repr_svg_(self) -> str:
        return self.svg()

    def graph(self) -> "dict[str, Any]":
        """Every node, cable and rank by name."""
        return json.loads(self._core.graph_json())

    def check(self) -> "dict[str, Any]":
        """What `orrery cluster check --json` prints. InputError unless every rank can reach every other."""
        return json.loads(self._core.check_json())

    def to_infragraph(self) -> str:
        """As InfraGraph YAML."""
        return self._core.to_infragraph()

    def to_native(self) -> str:
        """As a native cluster file."""
        return self._core.to_native()

    def __repr__(self) -> str:
        return f"<orrery.Cluster {self.name!r}: {self.nodes} nodes, {self.edges} edges, {self.ranks} ranks>"
