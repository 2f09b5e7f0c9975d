# SPDX-License-Identifier: Apache-2.0
"""orrery.run(): the command `orrery run` as a call."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from orrery import _core
from orrery._paths import PROGRAM

_INPUT_ERROR, _SIMULATION_ERROR, _SIGNALLED = 2, 3, 128


def run(
    script: "str | os.PathLike[str] | Sequence[str]",
    *arguments: object,
    cluster: "str | os.PathLike[str]",
    ranks: "int | None" = None,
    network: str = "flow",
    algorithm: "str | None" = None,
    compute: str = "measured",
    device_map: "str | None" = None,
    jobs: int = 1,
    faults: "str | os.PathLike[str] | None" = None,
    out: "str | os.PathLike[str] | None" = None,
    capture: "str | os.PathLike[str] | None" = None,
    dataflow: bool = False,
    seed: int = 0,
    warmup: "str | int | None" = None,
    fresh: bool = False,
    tag_output: bool = False,
    quiet: bool = False,
    env: "dict[str, str] | None" = None,
) -> "dict[str, Any]":
    """Runs a torch.distributed program on a simulated cluster; the content of result.json.

        result = orrery.run("train.py", "--steps", 10, cluster="jetson-lan", ranks=4)
        print(result["total_ps"] / 1e12, "s")

    script: a path, or ["-m", "module"]. Without `ranks` the program starts its own. What the ranks print goes to
    standard error, unless `quiet`. `capture` is a folder for traces that orrery.replay() runs to the same
    times. device_map="cuda=cpu" lets programs for CUDA
    run on this host's CPU. Raises InputError or SimulationError with what the command would print. With `faults` there
    is a result also when ranks raised: see their exit_status.
    """
    program = [os.fspath(script)] if isinstance(script, (str, os.PathLike)) else list(script)
    words = [str(PROGRAM), "run", "--json", "--cluster", os.fspath(cluster), "--network", network]
    words += ["--compute", compute, "--jobs", str(jobs), "--seed", str(seed)]
    optional = {"-n": ranks, "--algorithm": algorithm, "--faults": faults, "--out": out, "--warmup": warmup}
    optional |= {"--capture": capture, "--device-map": device_map}
    for option, value in optional.items():
        if value is not None:
            words += [option, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    words += ["--fresh"] * fresh + ["--tag-output"] * tag_output + ["--dataflow"] * dataflow
    words += program + [str(argument) for argument in arguments]
    return _result(words, quiet, {**os.environ, **(env or {})})


def _result(words: "list[str]", quiet: bool, environment: "dict[str, str]") -> "dict[str, Any]":
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=environment
    )
    lines: list[str] = []
    try:
        # In the order they come: a program's own output is shown while it runs.
        for line in process.stderr:
            lines.append(line)
            if not quiet:
                sys.stderr.write(line)
        output = process.stdout.read()
        process.wait()
    except BaseException:  # KeyboardInterrupt, above all: the run ends with us.
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    if process.returncode in (0, _SIMULATION_ERROR) and output:  # With faults a run that fails has a result, too.
        return json.loads(output)
    text = _last_word(lines)
    if process.returncode == 0:  # The program never came to init_process_group.
        raise _core.SimulationError(text)
    if process.returncode == _INPUT_ERROR:
        raise _core.InputError(text)
    if process.returncode == _SIMULATION_ERROR or process.returncode > _SIGNALLED:
        raise _core.SimulationError(text)
    raise _core.Bug(f"orrery run ended with status {process.returncode}: {text}")


def _last_word(lines: "list[str]") -> str:
    """What the command itself said: from its last "orrery:" line on."""
    first = max((i for i, line in enumerate(lines) if line.startswith("orrery:")), default=0)
    text = "".join(lines[first:]).strip()
    for kind in ("error: ", "simulation failed: "):
        text = text.removeprefix(f"orrery: {kind}")
    return text
