# SPDX-License-Identifier: Apache-2.0
"""What `orrery run` says to mistakes of the user and to machines that lack something: one clear line, exit code 2.

Each row: a name, parts of the message (regular expressions), and whatever differs from four ranks on a star. FOLDER
stands for the folder of the run.
"""

import json
import os
import re
import subprocess
import venv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from live_case import BEGIN, Case, Outcome, check, execute, ids

INPUT: list[Case] = []


def mistake(name: str, *said: str, program: str | None = "raise SystemExit('ran')", **options: object) -> None:
    INPUT.append(Case(name, program, code=2, said=said, **options))


mistake("no script", "expected a script", program=None)
mistake("missing script", "nothere.py: no such script", program=None, words=["-n", "2", "nothere.py"])
mistake(
    "folder as script",
    "folder: a folder without __main__.py is no script",
    program=None,
    words=["-n", "2", "folder"],
    prepare=lambda folder: (folder / "folder").mkdir(),
)
mistake("module without name", "-m: expected the name of a module", program=None, words=["-n", "2", "-m"])
mistake("no cluster", "--cluster is required", cluster="")
mistake("unknown cluster", "jetson-lam", "did you mean 'jetson-lan'", cluster="jetson-lam")
mistake("no ranks", r"--ranks: '0'.*expected 1 to 4", words=["-n", "0"])
mistake("negative ranks", r"--ranks: '-1'.*expected 1 to 4", words=["-n", "-1"])
mistake("ranks no number", r"--ranks: 'abc': expected a whole number", words=["-n", "abc"])
mistake("too many ranks", r"--ranks: '5'.*has 4 ranks; expected 1 to 4", words=["-n", "5"])
mistake("unknown network", "flw", "did you mean 'flow'", words=["-n", "2", "--network", "flw"])
mistake("unknown algorithm", "rin", "ring", words=["-n", "2", "--algorithm", "rin"])
mistake("unknown option", "--compte", "did you mean '--compute'", words=["-n", "2", "--compte", "fixed:1us"])
mistake("no jobs", r"--jobs: '0': expected 1 to 1024", words=["-n", "2", "--jobs", "0"])
mistake("jobs no number", r"--jobs.*two", words=["-n", "2", "--jobs", "two"])
mistake("seed no number", r"--seed.*x", words=["-n", "2", "--seed", "x"])
for text in ("nonsense", "fixed", "fixed:", "fixed:5", "fixed:-1us", "fixed:2h", "fixed:1us/x", "measured:1"):
    mistake(f"compute {text}", f"--compute: '{text}': expected", words=["-n", "2", "--compute", text])
mistake("compute empty", "--compute: expected", words=["-n", "2", "--compute", ""])
mistake("ledger missing", r"--compute.*no ledger there", words=["-n", "2", "--compute", "ledger:nothere"])
mistake(
    "out is a file",
    "out: is a file; expected a folder",
    words=["-n", "2", "--out", "out"],
    prepare=lambda folder: (folder / "out").write_text(""),
)
mistake(
    "out has something in it",
    "out: has something in it",
    words=["-n", "2", "--out", "out"],
    prepare=lambda folder: ((folder / "out").mkdir(), (folder / "out" / "x").write_text("")),
)
mistake("out in no folder", r"no/such/out: cannot be made", words=["-n", "2", "--out", "no/such/out"])
mistake("out unwritable", r"/proc/orrery-out: cannot be made", words=["-n", "2", "--out", "/proc/orrery-out"])
mistake("faults missing", r"nofaults\.yaml: cannot read", words=["-n", "2", "--faults", "nofaults.yaml"])
mistake("python missing", r"/no/python: cannot be started", words=["-n", "2", "--python", "/no/python"])
mistake("tags without ranks", r"--tag-output: needs the number of ranks", words=["--tag-output"])
mistake(
    "cluster file is no YAML",
    r"c\.yaml",
    cluster="c.yaml",
    prepare=lambda folder: (folder / "c.yaml").write_text("a: [1, 2"),
)
mistake(
    "cluster file, unknown field",
    r"c\.yaml",
    "did you mean 'latency'",
    cluster="c.yaml",
    prepare=lambda folder: (folder / "c.yaml").write_text(
        json.dumps({"topology": {"star": {"hosts": 2, "bandwidth": "1Gbps", "latncy": "1us"}}})
    ),
)


def shadow(text: str, version: str | None = None):
    """A module of the name torch in front of the real one."""

    def prepare(folder: Path) -> None:
        (folder / "shadow" / "torch").mkdir(parents=True)
        (folder / "shadow" / "torch" / "__init__.py").write_text(text)
        if version:
            (folder / "shadow" / "torch" / "version.py").write_text(f"__version__ = '{version}'\n")

    return prepare


SHADOW = {"PYTHONPATH": "FOLDER/shadow"}
EMPTY_CACHE = {"ORRERY_CACHE": "FOLDER/cache"}
mistake(
    "torch is missing",
    r"no torch in .*python.*: install it, or choose another interpreter with --python",
    words=["-n", "2", "--python", "FOLDER/empty/bin/python"],
    prepare=lambda folder: venv.create(folder / "empty", symlinks=True),
)
mistake(
    "a file hides a module of Python's",
    r"dis\.py hides Python's own module 'dis': rename it",
    prepare=lambda folder: (folder / "dis.py").write_text("name = 'mine'\n"),
)
mistake(
    "torch is not complete",
    r"shadow/torch is no complete torch: No such file or directory: .*version\.py",
    environment=SHADOW,
    prepare=shadow("raise ImportError('no torch here')"),
)
mistake(
    "torch is too old",
    r"torch 1\.13\.0 is too old: live runs need 2\.9 or newer",
    environment=SHADOW,
    prepare=shadow("__version__ = '1.13.0'", "1.13.0"),
)
mistake(
    "torch without headers",
    r"the bridge to torch 2\.9\.1 does not compile with .*:\n.*fatal error",
    environment={**SHADOW, **EMPTY_CACHE},
    prepare=shadow("", "2.9.1"),
)
mistake(
    "no compiler",
    r"no C\+\+ compiler \(g\+\+, c\+\+, clang\+\+\).*install g\+\+ 12 or newer",
    environment={"PATH": "FOLDER", **EMPTY_CACHE},
)
mistake(
    "compiler does not exist",
    r"the compiler CXX=/nonexistent does not exist",
    environment={"CXX": "/nonexistent", **EMPTY_CACHE},
)
mistake("compiler fails", "the compiler false does not work", environment={"CXX": "false", **EMPTY_CACHE})


@pytest.mark.parametrize("case", ids(INPUT))
def test_mistakes_of_the_user(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    outcome = ahead(case)
    check(case, outcome)
    assert "Traceback" not in outcome.stderr, str(outcome)
    assert outcome.stdout == "", str(outcome)


# ---- around the run --------------------------------------------------------------------------------------------------

BARRIER = BEGIN + "dist.barrier()\nprint('passed', rank)\n"


@pytest.fixture
def compiler(bridge: Path, tmp_path: Path) -> Path:
    """Stands for a compiler: notes each call, takes a second, and gives the bridge that is there."""
    script = tmp_path / "compiler"
    script.write_text(
        f"""#!/bin/sh
case "$*" in *--version*) echo compiler 1.0; exit 0;; esac
echo called >>{tmp_path}/calls
sleep 1
while [ "$1" != -o ]; do shift; done
cp {bridge} "$2"
"""
    )
    script.chmod(0o755)
    return script


def folder_in(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


@pytest.mark.slow
def test_cache_that_cannot_be_written_does_not_matter(command: Path, compiler: Path, tmp_path: Path) -> None:
    variables = {"HOME": "/proc/none", "ORRERY_CACHE": "", "XDG_CACHE_HOME": "", "CXX": str(compiler)}
    case = Case("no home", BARRIER, words=["-n", "2"], environment=variables)
    outcome = execute(case, command, folder_in(tmp_path, "run"))
    assert outcome.code == 0, str(outcome)
    assert (tmp_path / "calls").read_text() == "called\n"


@pytest.mark.slow
def test_two_runs_at_once_compile_once(command: Path, compiler: Path, tmp_path: Path) -> None:
    variables = {"ORRERY_CACHE": str(tmp_path / "cache"), "CXX": str(compiler), "MASTER_PORT": "29555"}
    case = Case("both", BARRIER, words=["-n", "2"], environment=variables)
    with ThreadPoolExecutor() as pool:
        outcomes = list(pool.map(lambda name: execute(case, command, folder_in(tmp_path, name)), ("one", "two")))
    for outcome in outcomes:
        assert outcome.code == 0, str(outcome)
        assert outcome.stdout.count("passed") == 2, str(outcome)
    assert (tmp_path / "calls").read_text() == "called\n"


@pytest.mark.slow
def test_full_disk_leaves_nothing(command: Path, bridge: Path, tmp_path: Path) -> None:
    disk = folder_in(tmp_path, "disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system needs the rights to mount one")
    try:
        program = BEGIN + "for _ in range(500): dist.barrier()\n"
        case = Case("full", program, words=["-n", "2", "--out", str(disk / "out")])
        outcome = execute(case, command, folder_in(tmp_path, "run"))
        assert outcome.code == 2, str(outcome)
        assert re.search(r"disk/out.*No space left", outcome.said), str(outcome)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
