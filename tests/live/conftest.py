# SPDX-License-Identifier: Apache-2.0
"""Runs small torch programs under the installed `orrery run`, as a user would.

Most of the time of a run is the import of torch, so the runs of all selected tests are started ahead, two at a time:
a test that takes a `case` gets its outcome from `ahead(case)`.
"""

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from live_case import Case, execute


def pytest_configure() -> None:
    """Some virtual machines announce matrix instructions that torch's kernels cannot use there: torch itself dies of
    them. The tests are of other things."""
    variable = "ONEDNN_MAX_CPU_ISA"
    if variable in os.environ or "amx_bf16" not in Path("/proc/cpuinfo").read_text():
        return
    product = "import torch; a = torch.ones(64, 128).bfloat16(); a @ a.T"
    done = subprocess.run([sys.executable, "-c", product], capture_output=True, check=False)
    if done.returncode == -signal.SIGILL:
        os.environ[variable] = "AVX512_CORE_FP16"
        print(f"notice: torch dies of a bfloat16 product on this machine: {variable}={os.environ[variable]}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if importlib.util.find_spec("torch") is None:
        notice = pytest.mark.skip(reason="no torch in this environment: live runs are not tested")
        for item in items:
            item.add_marker(notice)


@pytest.fixture(scope="session")
def command() -> Path:
    """The `orrery` command of the environment that runs the tests; ORRERY_COMMAND names another."""
    path = Path(os.environ.get("ORRERY_COMMAND") or Path(sys.executable).parent / "orrery")
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build` first")
    return path


@pytest.fixture(scope="session")
def bridge(command: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bridge to torch. It is compiled once on a machine: here, so that no test pays for it."""
    program = "import re, torch\nprint(re.search(r'/.*orrery_shim-.*', open('/proc/self/maps').read())[0])"
    case = Case("bridge", program, words=["-n", "1", "-q"], seconds=600)
    done = execute(case, command, tmp_path_factory.mktemp("bridge"))
    assert done.code == 0, str(done)
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def ahead(
    request: pytest.FixtureRequest, command: Path, bridge: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Case], object]]:
    cases: list[Case] = []
    for item in request.session.items:
        case = getattr(item, "callspec", None) and item.callspec.params.get("case")
        if isinstance(case, Case) and case not in cases:
            cases.append(case)
    base = tmp_path_factory.mktemp("ahead")
    with ThreadPoolExecutor(max_workers=2) as pool:
        outcomes: dict[int, Future] = {}
        for case in cases:
            folder = Path(tempfile.mkdtemp(dir=base))
            outcomes[id(case)] = pool.submit(case.run or execute, case, command, folder)
        yield lambda case: outcomes[id(case)].result()
        pool.shutdown(cancel_futures=True)
