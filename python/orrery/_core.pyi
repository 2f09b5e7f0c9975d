# SPDX-License-Identifier: Apache-2.0
"""Types of the extension module; python/bindings/module.cpp is the source."""

from collections.abc import Callable

class InputError(ValueError): ...
class SimulationError(RuntimeError): ...
class Bug(RuntimeError): ...
class Interrupted(KeyboardInterrupt): ...

class Cluster:
    @staticmethod
    def load(text: str, *, lenient: bool = False) -> Cluster: ...
    @property
    def name(self) -> str: ...
    @property
    def nodes(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    def summary(self) -> str: ...
    def svg(self) -> str: ...
    def to_infragraph(self) -> str: ...
    def to_native(self) -> str: ...
    def graph_json(self) -> str: ...
    def check_json(self) -> str: ...

class CollectiveOptions:
    operation: str
    cluster: str
    ranks: int | None
    group: str
    size: str
    uneven: list[int]
    algorithm: str
    network: str
    dtype: str
    root: int
    seed: int
    skew: str
    iterations: int
    workers: int
    trace: str
    lenient: bool

def collective_json(
    options: CollectiveOptions, progress: Callable[[int, int], object] | None, csv: str = ""
) -> str: ...
class ReplayOptions:
    trace: str
    cluster: str
    network: str
    algorithm: str
    compute: str
    ranks: int | None
    comm_group: str
    streams: str
    eager_limit: str
    window: int
    folds: bool
    seed: int
    output: str
    trace_file: str
    csv: str
    lenient: bool

def replay_json(
    options: ReplayOptions, progress: Callable[[int, int], object] | None, files: list[str]
) -> str: ...
def describe_json(name: str = "") -> str: ...
def presets_json() -> str: ...
def trace_info_json(trace: str) -> str: ...
def trace_check_json(trace: str, comm_group: str = "") -> str: ...
def trace_make_json(
    settings: list[tuple[str, str]],
    output: str,
    form: str,
    force: bool,
    progress: Callable[[int, int], object] | None,
) -> str: ...
def version() -> str: ...
def commit() -> str: ...
