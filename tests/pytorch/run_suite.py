# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own distributed tests, as the installed torch carries them, on stock gloo or under `orrery run`.

    python tests/pytorch/run_suite.py gloo --out build/pytorch-suite/gloo.json
    python tests/pytorch/run_suite.py orrery --out build/pytorch-suite/orrery.json
    python tests/pytorch/run_suite.py orrery --backend mpi --only to_all --out build/pytorch-suite/mpi.json
    python tests/pytorch/suite_table.py build/pytorch-suite docs/pytorch-suite.md

Many tests run in one start of the ranks. A test that fails ends the ranks; it is run once more, alone, and that
outcome counts. Tests that want more ranks run again with eight.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORLDS = (4, 8)
WANTS_MORE = re.compile(r"small world size|world size of (?!4\b)\d")
CLUSTER = "star:hosts=8,bandwidth=10Gbps,latency=5us"
GRACE = 15.0  # Seconds that the other ranks have after one has failed.

Start = Callable[[Path, int], list[subprocess.Popen]]


@dataclass
class Outcome:
    outcome: str  # passed, skipped, failed or hung
    detail: str = ""
    world: int = 0


# ---- starting the ranks --------------------------------------------------------------------------------------------


def environment(folder: Path, world: int) -> dict[str, str]:
    settings = {
        "BACKEND": os.environ.get("BACKEND", "gloo"),
        "INIT_METHOD": f"file://{folder}/init",
        "WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29777",
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
    }
    return {**os.environ, **settings}


def start_gloo(folder: Path, world: int) -> list[subprocess.Popen]:
    """One process per rank, as torchrun would."""
    words = [sys.executable, str(HERE / "suite_rank.py"), str(folder)]
    ranks = []
    for rank in range(world):
        values = {**environment(folder, world), "RANK": str(rank), "LOCAL_RANK": str(rank)}
        with (folder / f"output-{rank}.txt").open("w") as output:
            ranks.append(subprocess.Popen(words, env=values, stdout=output, stderr=output, start_new_session=True))
    return ranks


def start_orrery(folder: Path, world: int) -> list[subprocess.Popen]:
    """One process, which has the ranks."""
    command = os.environ.get("ORRERY_COMMAND") or str(Path(sys.executable).parent / "orrery")
    words = [command, "run", "-n", str(world), "--cluster", CLUSTER, "--compute", "fixed:10us", "--jobs", "2"]
    words += [str(HERE / "suite_rank.py"), str(folder)]
    values = environment(folder, world)
    with (folder / "output.txt").open("w") as output:
        return [subprocess.Popen(words, env=values, stdout=output, stderr=output, start_new_session=True)]


STARTS: dict[str, Start] = {"gloo": start_gloo, "orrery": start_orrery}


# ---- one start -----------------------------------------------------------------------------------------------------


def run_batch(start: Start, world: int, tests: list[str], patience: float) -> dict[str, Outcome]:
    """Outcomes up to the first test that fails or takes longer than `patience` seconds."""
    folder = Path(tempfile.mkdtemp(prefix="pytorch-suite-"))
    (folder / "tests.txt").write_text("\n".join(tests))
    processes = start(folder, world)
    last, size, is_hung = time.monotonic(), 0, False
    failed_at: float | None = None
    try:
        while any(process.poll() is None for process in processes):
            time.sleep(0.05)
            now, written = time.monotonic(), sum(file.stat().st_size for file in folder.glob("rank-*.jsonl"))
            if written != size:
                last, size = now, written
            if failed_at is None and any(process.poll() not in (None, 0) for process in processes):
                failed_at = now
            is_hung = now - last > patience
            if is_hung or (failed_at is not None and now - failed_at > GRACE):
                break
    finally:
        for process in processes:
            end(process)
    outcomes = judge(folder, world, tests, is_hung)
    shutil.rmtree(folder, ignore_errors=True)
    return outcomes


def end(process: subprocess.Popen) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                continue


def judge(folder: Path, world: int, tests: list[str], is_hung: bool) -> dict[str, Outcome]:
    """A test has passed when it has on every rank."""
    records: list[dict[str, dict]] = []
    for rank in range(world):
        file = folder / f"rank-{rank}.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        records.append({line["test"]: line for line in map(json.loads, lines)})
    outcomes: dict[str, Outcome] = {}
    for test in tests:
        lines = [record.get(test, {"outcome": "never begun"}) for record in records]
        said = [line["outcome"] for line in lines]
        if all(word in ("passed", "skipped") for word in said):
            word = "skipped" if "skipped" in said else "passed"
            outcomes[test] = Outcome(word, lines[said.index(word)]["detail"], world)
            continue
        detail = "\n".join(
            f"rank {rank}: {line['outcome']}\n{line.get('detail', '')}" for rank, line in enumerate(lines)
        )
        output = "\n".join(file.read_text(errors="replace")[-6000:] for file in sorted(folder.glob("output*.txt")))
        outcomes[test] = Outcome("hung" if is_hung else "failed", f"{detail}\n{output}", world)
        break
    return outcomes


# ---- all of them ---------------------------------------------------------------------------------------------------


def run_tests(
    start: Start, world: int, tests: list[str], patience: float, say: Callable[[str, Outcome], None]
) -> dict[str, Outcome]:
    """Outcomes of all; a test that breaks a batch gets a second try of its own."""
    outcomes: dict[str, Outcome] = {}
    left = list(tests)
    while left:
        made = run_batch(start, world, left, patience)
        broken = next((test for test, outcome in made.items() if outcome.outcome in ("failed", "hung")), None)
        if broken is not None and len(left) > 1:
            made[broken] = run_batch(start, world, [broken], patience)[broken]
        for test, outcome in made.items():
            say(test, outcome)
        outcomes |= made
        left = left[len(made) :]
    return outcomes


def run_suite(
    engine: str, tests: list[str], patience: float = 180, say: Callable[[str, Outcome], None] = lambda *_: None
) -> dict[str, Outcome]:
    """Every test with as many ranks as it wants."""
    outcomes: dict[str, Outcome] = {}
    for world in WORLDS:
        wanted = [test for test in tests if test not in outcomes or WANTS_MORE.search(outcomes[test].detail)]
        outcomes |= run_tests(STARTS[engine], world, wanted, patience, say)
    return {test: outcomes[test] for test in tests}


@contextmanager
def importable() -> Iterator[None]:
    """The tests look at these as they are imported."""
    kept = dict(os.environ)
    os.environ |= {"BACKEND": os.environ.get("BACKEND", "gloo"), "WORLD_SIZE": str(WORLDS[0])}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= kept


def all_tests() -> list[str]:
    """Those of the installed torch that use process groups, in the order of their source."""
    with importable():
        from torch.testing._internal.distributed import distributed_test as suite
    classes = {"DistributedTest": suite.DistributedTest._DistTestBase}
    classes |= {name: kind for name, kind in vars(suite).items() if name.startswith("TestBucketCapacity")}
    return [f"{name}.{test}" for name, kind in classes.items() for test in vars(kind) if test.startswith("test_")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=STARTS)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="tests whose name has this")
    parser.add_argument("--patience", type=float, default=180, metavar="SECONDS", help="for one test (default 180)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="outcomes as JSON; those that stand there are kept")
    parser.add_argument("--show", action="store_true", help="say all about failures")
    parser.add_argument("--backend", default="gloo", metavar="NAME", help="what the tests ask for (default gloo)")
    parser.add_argument("--gpu-tests", action="store_true", help="those for GPUs, with the CPU in their place")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # The ranks end with us.
    os.environ |= {"BACKEND": options.backend, "SUITE_DEVICES": "cpu" if options.gpu_tests else ""}
    tests = [test for test in all_tests() if not options.only or any(text in test for text in options.only)]

    def say(test: str, outcome: Outcome) -> None:
        detail = outcome.detail if options.show or outcome.outcome == "skipped" else ""
        print(f"{outcome.outcome:8} {outcome.world} {test}{': ' if detail else ''}{detail}", flush=True)

    outcomes = run_suite(options.engine, tests, options.patience, say)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        kept = json.loads(options.out.read_text()) if options.out.exists() else {}
        kept |= {test: asdict(outcome) for test, outcome in outcomes.items()}
        options.out.write_text(json.dumps(kept, indent=1))
    words = [outcome.outcome for outcome in outcomes.values()]
    print(", ".join(f"{words.count(word)} {word}" for word in ("passed", "failed", "hung", "skipped")))
    sys.exit(int("failed" in words or "hung" in words))


if __name__ == "__main__":
    main()
