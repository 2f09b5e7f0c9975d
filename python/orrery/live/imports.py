# SPDX-License-Identifier: Apache-2.0
"""Importing an installed package is work of a kind, like an operator: its cost is known from earlier runs.

torch imports parts of itself at first use (a second for DistributedDataParallel): left to the glue between operators,
that second would be measured anew in each run, with all the noise of the host.
"""

import importlib._bootstrap as machinery
import importlib.machinery
import sys
import sysconfig
import zlib
from collections.abc import Callable

LABEL = b"import "


def watch(begin: Callable[[int], None], end: Callable[[], None]) -> None:
    """Reports every import that really loads something; nested ones are the rank library's to ignore."""
    stock = machinery._find_and_load
    places = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    known: dict[str, bool] = {}

    def is_installed(top: str) -> bool:
        if top in sys.stdlib_module_names:
            return True
        module = sys.modules.get(top)
        spec = module.__spec__ if module is not None else importlib.machinery.PathFinder.find_spec(top)
        return spec is not None and str(spec.origin).startswith(places)

    def find_and_load(name, import_):
        top = name.partition(".")[0]
        if top not in known:
            known[top] = is_installed(top)
        # The program's own modules may hold the whole program: their operators count one by one.
        if not known[top]:
            return stock(name, import_)
        begin(zlib.crc32(LABEL + name.encode()))
        try:
            return stock(name, import_)
        finally:
            end()

    machinery._find_and_load = find_and_load
