# SPDX-License-Identifier: Apache-2.0
"""Runs the installed `orrery` command as a user would."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def command() -> Path:
    """The `orrery` command of the environment that runs the tests; ORRERY_COMMAND names another."""
    path = Path(os.environ.get("ORRERY_COMMAND") or Path(sys.executable).parent / "orrery")
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build` first")
    return path


@pytest.fixture
def orrery(command: Path, tmp_path: Path) -> Run:
    """orrery(*arguments, code=0): runs the command in an empty directory and checks its exit code."""

    def run(*arguments: object, code: int = 0, **options: object) -> "subprocess.CompletedProcess[str]":
        options = {"cwd": tmp_path, "timeout": 120, **options}
        result = subprocess.run(
            [str(command), *map(str, arguments)], capture_output=True, text=True, check=False, **options
        )
        shown = f"{result.args}\nstdout:\n{result.stdout}\nstderr:\n{result.stderr}"
        assert result.returncode == code, f"exit code {result.returncode}, not {code}: {shown}"
        return result

    return run
