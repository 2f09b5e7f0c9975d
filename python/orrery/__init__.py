# SPDX-License-Identifier: Apache-2.0
"""Orrery: a deterministic simulator for distributed AI."""

from orrery._paths import set_environment

set_environment()

from orrery._core import commit, version  # noqa: E402  (the core reads the environment set above)

__version__ = version()
__all__ = ["__version__", "commit", "version"]
