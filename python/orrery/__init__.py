# SPDX-License-Identifier: Apache-2.0
"""Orrery: a deterministic simulator for distributed AI.

    import orrery
    result = orrery.collective("all_reduce", "hgx-h100", size="1KiB..1GiB")
    for row in result["results"]:
        print(row["size_bytes"], row["algorithm"], row["time_ps"], row["busbw_GBps"])
"""

from orrery._paths import set_environment

set_environment()

from orrery._cluster import Cluster  # noqa: E402  (the core reads the environment set above)
from orrery._collective import collective  # noqa: E402
from orrery._core import Bug, InputError, SimulationError, commit, version  # noqa: E402
from orrery._describe import clusters, describe  # noqa: E402
from orrery._explain import explain  # noqa: E402
from orrery._replay import replay  # noqa: E402
from orrery._run import run  # noqa: E402
from orrery._trace import trace_check, trace_info  # noqa: E402
from orrery._trace_make import trace_make  # noqa: E402



def load_ipython_extension(shell) -> None:
    """`%load_ext orrery` in a notebook: adds the cell magic %%orrery."""
    from orrery._notebook import register

    register(shell)


__version__ = version()
__all__ = [
    "Bug",
    "Cluster",
    "InputError",
    "SimulationError",
    "__version__",
    "clusters",
    "collective",
    "commit",
    "describe",
    "explain",
    "replay",
    "run",
    "trace_check",
    "trace_info",
    "trace_make",
    "version",
]
