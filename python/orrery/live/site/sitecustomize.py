# SPDX-License-Identifier: Apache-2.0
"""Python runs this in every process of a live run that does not come from the fork server: ranks that start afresh,
children of multiprocessing, interpreters that programs start. Then it runs the sitecustomize that it hides."""

import importlib.machinery
import importlib.util
import os
import sys


def begin() -> None:
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    package = importlib.machinery.ModuleSpec("orrery_live", None, is_package=True)
    package.submodule_search_locations = [folder]
    sys.modules["orrery_live"] = importlib.util.module_from_spec(package)
    from orrery_live import cuda_map, patch

    if not patch.is_live():
        return
    cuda_map.load()
    patch.install()
    hide_our_frames()


def hide_our_frames() -> None:
    stock = sys.excepthook

    def show(kind, value, trace) -> None:
        from orrery_live import rank

        stock(kind, rank.trimmed(value), value.__traceback__)

    sys.excepthook = show


def run_hidden() -> None:
    """The sitecustomize that would have been found without this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("ORRERY_LIVE"):
    try:
        begin()
    except Exception as error:  # site would print a traceback and go on without us.
        print(f"orrery: {error}", file=sys.stderr, flush=True)
        os._exit(2)
run_hidden()
