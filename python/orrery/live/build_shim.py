# SPDX-License-Identifier: Apache-2.0
"""Compiles the bridge to torch, once per version of torch, and prints where it is.

torch has no stable interface for backends, so the bridge is compiled on the user's machine against the headers that
come with torch. The result is kept in $ORRERY_CACHE, $XDG_CACHE_HOME/orrery or ~/.cache/orrery; its name tells what
it was made for. Runs with the interpreter of the program to simulate, and needs nothing but the standard library.
"""

import fcntl
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import NamedTuple

MODULE = "orrery_shim"
RECORDER = "orrery_recorder"  #: What notes real runs; made the same way, from sources of its own.
SOURCES = Path(__file__).resolve().parent / "shim"
CUDA = "orrery_cuda"  #: Devices for --device-map.
FOLDERS = {MODULE: SOURCES, RECORDER: SOURCES.parent / "recorder", CUDA: SOURCES.parent / "cuda"}
OLDEST, NEWEST = (2, 9), (2, 15)
FLAGS = [
    *("-std=c++20", "-O2", "-ftree-vectorize", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-ffp-contract=off", "-w"),
]
GCC_FLAGS = ["-fvect-cost-model=dynamic"]  # Reductions as vector code; clang does that by itself.
LIBRARIES = ["-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]


class ShimError(Exception):
    """The bridge cannot be made; the text says why and what to do."""


class Torch(NamedTuple):
    """An installed torch, as far as it can be known without importing it."""

    folder: Path
    version: str
    commit: str

    @property
    def release(self) -> tuple[int, int]:
        major, minor = self.version.split(".")[:2]
        return int(major), int("".join(letter for letter in minor if letter.isdigit()))


def find_torch() -> Torch:
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise ShimError(f"no torch in {sys.executable}: install it, or choose another interpreter with --python")
    folder = Path(spec.origin).parent
    values: dict[str, object] = {}
    try:
        exec((folder / "version.py").read_text(), values)
    except OSError as problem:
        raise ShimError(f"{folder} is no complete torch: {problem.strerror}: {problem.filename}") from problem
    torch = Torch(folder, str(values["__version__"]), str(values.get("git_version")))
    if torch.release < OLDEST:
        raise ShimError(f"torch {torch.version} is too old: live runs need {OLDEST[0]}.{OLDEST[1]} or newer")
    return torch


def prefix(torch: Torch, module: str = MODULE) -> str:
    """How the names of all bridges begin that fit this torch and this Python."""
    return f"{module}-{torch.version}-{torch.commit[:8]}-{sysconfig.get_config_var('SOABI')}-"


def rank_header() -> Path:
    """Installed beside the sources; in a checkout, where it is written."""
    checkout = SOURCES.parents[3] / "src" / "orrery" / "live" / "rank"
    for folder in (SOURCES, checkout):
        if (folder / "orrery_rank.h").exists():
            return folder / "orrery_rank.h"
    raise ShimError(f"orrery_rank.h is neither in {SOURCES} nor in {checkout}: the installation is not complete")


def find_compiler() -> list[str]:
    chosen = os.environ.get("CXX")
    for command in [shlex.split(chosen)] if chosen else [["g++"], ["c++"], ["clang++"]]:
        if command and shutil.which(command[0]):
            return command
    missing = f"the compiler CXX={chosen} does not exist" if chosen else "no C++ compiler (g++, c++, clang++)"
    raise ShimError(f"{missing}: the bridge to torch is compiled once on this machine; install g++ 12 or newer")


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "ORRERY_LIVE")}
    environment.update(variables)
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, check=False)


def cache_folder() -> Path:
    """The user's cache, or a private temporary folder when that cannot be written."""
    if chosen := os.environ.get("ORRERY_CACHE"):
        folder = Path(chosen)
    elif shared := os.environ.get("XDG_CACHE_HOME"):
        folder = Path(shared) / "orrery"
    else:
        folder = Path.home() / ".cache" / "orrery"
    private = Path(tempfile.gettempdir()) / f"orrery-{os.getuid()}"
    for candidate in (folder, private):
        try:
            candidate.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        is_safe = candidate != private or candidate.lstat().st_uid == os.getuid()
        if os.access(candidate, os.W_OK) and is_safe:
            return candidate
    return Path(tempfile.mkdtemp(prefix="orrery-"))


def compile_shim(torch: Torch, compiler: list[str], flags: list[str], target: Path, module: str) -> None:
    if torch.release > NEWEST:
        tell(f"torch {torch.version} is newer than what this version was tried with; trying")
    tell(f"compiling the bridge to torch {torch.version.partition('+')[0]}, once (about 40 s)")
    include = torch.folder / "include"
    system = [include, include / "torch/csrc/api/include", sysconfig.get_paths()["include"]]
    workshop = target.parent / ".unfinished"  # Compilers that are killed leave things behind.
    shutil.rmtree(workshop, ignore_errors=True)
    workshop.mkdir()
    unfinished = workshop / target.name
    command = [*compiler, *flags, f"-I{rank_header().parent}", f"-I{SOURCES}"]
    command += [part for folder in system for part in ("-isystem", str(folder))]
    command += [str(FOLDERS[module] / "module.cpp"), "-o", str(unfinished)]
    command += [f"-L{torch.folder / 'lib'}", f"-Wl,-rpath,{torch.folder / 'lib'}", *LIBRARIES]
    done = run(command, TMPDIR=str(workshop))
    if done.returncode != 0:
        shutil.rmtree(workshop, ignore_errors=True)
        lines = (done.stderr or done.stdout).splitlines()
        shown = [line for line in lines if "error" in line.lower()][:10] or lines[-10:]
        reason = "\n".join(shown)
        raise ShimError(f"the bridge to torch {torch.version} does not compile with {compiler[0]}:\n{reason}")
    unfinished.rename(target)
    shutil.rmtree(workshop, ignore_errors=True)


def ensure_shim(module: str = MODULE) -> Path:
    """The compiled bridge for the torch of this interpreter; made when there is none. Raises ShimError."""
    torch = find_torch()
    compiler = find_compiler()
    version = run([*compiler, "--version"])
    if version.returncode != 0:
        raise ShimError(f"the compiler {compiler[0]} does not work: --version ended with {version.returncode}")
    flags = FLAGS if "clang" in version.stdout else [*FLAGS, *GCC_FLAGS]
    digest = hashlib.sha256(repr((torch, compiler, version.stdout, flags, LIBRARIES)).encode())
    shared = [SOURCES / "torch.hpp", SOURCES / "where.hpp"] if module == RECORDER else [rank_header()]
    sources = [*FOLDERS[module].glob("*.?pp"), *shared]
    for source in sorted(sources, key=lambda path: (path.name, path.parent.name)):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    folder = cache_folder() / "shim"
    folder.mkdir(exist_ok=True)
    target = folder / f"{prefix(torch, module)}{digest.hexdigest()[:12]}.so"
    if not target.exists():
        with open(folder / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # Whoever else wants it waits for us.
            if not target.exists():
                compile_shim(torch, compiler, flags, target, module)
    return target


def tell(text: str) -> None:
    print(f"orrery: {text}", file=sys.stderr, flush=True)


def main() -> int:
    try:
        print(ensure_shim(*sys.argv[1:2]))
    except ShimError as error:
        tell(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
