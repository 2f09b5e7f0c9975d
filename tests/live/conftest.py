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
import textwrap
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

STAR = "star:hosts=4,bandwidth=1GBps,latency=500us"
#: What most programs begin with.
BEGIN = """\
import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if importlib.util.find_spec("torch") is None:
        notice = pytest.mark.skip(reason="no torch in this environment: live runs are not tested")
        for item in items:
            item.add_marker(notice)


@dataclass
class Outcome:
    code: int
    stdout: str
    stderr: str
    folder: Path

    def __str__(self) -> str:
        return f"exit code {self.code}\nstdout:\n{self.stdout}\nstderr:\n{self.stderr}"

    @property
    def said(self) -> str:
        """What is ours on standard error, without what we tell while we work."""
        lines = self.stderr.splitlines()
        starts = [i for i, line in enumerate(lines) if line.startswith("orrery: ")]
        return "\n".join(lines[starts[-1] :]) if starts else ""


@dataclass(eq=False)
class Case:
    """A run: `program` is the text of prog.py, or None when `words` name the script themselves."""

    name: str
    program: str | None = None
    words: list[str] = field(default_factory=lambda: ["-n", "4"])
    arguments: list[str] = field(default_factory=list)
    cluster: str = STAR
    environment: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], None] | None = None
    seconds: float = 120
    run: Callable[["Case", Path, Path], object] | None = None  #: In place of one plain run.

    def command_line(self) -> list[str]:
        words = ["run", *(["--cluster", self.cluster] if self.cluster else []), *self.words]
        return [*words, "prog.py", *self.arguments] if self.program is not None else words

    def write(self, folder: Path) -> None:
        if self.program is not None:
            (folder / "prog.py").write_text(textwrap.dedent(self.program))
        if self.prepare:
            self.prepare(folder)

    def variables(self, folder: Path) -> dict[str, str]:
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        own = {name: value.replace("FOLDER", str(folder)) for name, value in self.environment.items()}
        return {**os.environ, "TMPDIR": str(temporary), **own}


def execute(case: Case, command: Path, folder: Path) -> Outcome:
    """One plain run."""
    case.write(folder)
    words = [word.replace("FOLDER", str(folder)) for word in case.command_line()]
    with subprocess.Popen(
        [str(command), *words],
        cwd=folder,
        env=case.variables(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=case.seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=30)
            stderr += f"\n[no end within {case.seconds} s]"
    return Outcome(process.returncode, stdout, stderr, folder)


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
) -> Callable[[Case], object]:
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


def ids(cases: list[Case]) -> list:
    """As parameters of a test named by the cases."""
    return [pytest.param(case, id=case.name) for case in cases]
