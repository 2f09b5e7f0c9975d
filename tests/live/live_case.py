# SPDX-License-Identifier: Apache-2.0
"""A run of a small torch program, as a value, and what came of it."""

import os
import re
import signal
import subprocess
import textwrap
from collections.abc import Callable, Container
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
    code: int = 0
    said: tuple[str, ...] = ()  #: What our message must match.

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


def ids(cases: list[Case], quick: Container[str] | None = None) -> list:
    """As parameters of a test, named by the cases; all but the quick ones are slow."""
    slow = [pytest.mark.slow]
    return [
        pytest.param(case, id=case.name, marks=[] if quick is None or case.name in quick else slow) for case in cases
    ]


def check(case: Case, outcome: Outcome) -> None:
    """That the run ended as the case says, with nothing in its messages that is of no use to a user."""
    assert outcome.code == case.code, str(outcome)
    assert not re.search(r'File ".*/live/\w+\.py"', outcome.stderr), f"frames of ours: {outcome}"
    assert "bug, please report" not in outcome.stderr, str(outcome)
    for part in case.said:
        assert re.search(part, outcome.said), f"no '{part}': {outcome}"
