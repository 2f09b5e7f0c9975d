# SPDX-License-Identifier: Apache-2.0
"""Programs run for real against their simulation: what `orrery validate` does, and the page that it writes.

    validate.py ORRERY [--links loopback,1Gbps] [--programs tp_decode,...] [--launches N] [--output FILE] [--json]

The command checks the words before. Standard library only: programs run through the command, as a user would.
"""

import argparse
import json
import re
import signal
import sys
import tempfile
from pathlib import Path

import validate_gain as gain
import validate_matrix as matrix
import validate_poisson as poisson

BEGIN, END = "<!-- begin live -->", "<!-- end live -->"
TITLE = "## Live runs: real against simulated"


def calibrated(command: matrix.Command, link: str, kept: Path) -> dict:
    """The calibration for a link: a kept one, or from the launches that were recorded in turns. No compute scale: the
    ranks are measured at once."""
    path = kept / f"{link}.json"
    if not path.exists():
        words = ["calibrate", "collectives", *matrix.link_words(link), "--from", records(command, link), "--elsewhere"]
        path.write_text(command.run(*words, "--json"))
    found = json.loads(path.read_text())
    (kept / f"{link}.yaml").write_text(found["cluster"])
    return found


def records(command: matrix.Command, link: str) -> Path:
    return command.folder / f"calibration-{link}"


def take_turns(turns: matrix.Turns, link: str, launches: int, calibrates: bool) -> None:
    """In every other turn also a launch of the calibration, so that both see the same weather."""
    folder = records(turns.command, link)
    folder.mkdir(exist_ok=True)
    for number, done in enumerate(range(0, launches, 2)):
        print(f"{link}: turn {number + 1} of {(launches + 1) // 2}", file=sys.stderr, flush=True)
        if calibrates and number % 2 == 0:
            words = ["calibrate", "collectives", *matrix.link_words(link), "--repeat", 1]
            turns.command.run(*words, "--keep", folder / f"{number}")
        turns.take(number, min(2, launches - done))


def page(rows: list, queues: list, calibrations: dict, launches: int) -> str:
    lines = [BEGIN, TITLE, ""]
    lines += matrix.explain(launches)
    lines += ["", "Calibration: median error over operations and sizes that were not used for it.", ""]
    lines += ["| link | latency us | bandwidth MB/s | error |", "|---|---|---|---|"]
    for link, one in calibrations.items():
        values = one["values"]
        lines.append(
            f"| {link} | {values['latency'] * 1e6:.1f} | {values['bandwidth'] / 8e6:.1f} | "
            f"{one['held_out_error']:.1%} |"
        )
    lines += ["", *matrix.table(rows)]
    if found := gain.gains(rows):
        lines += ["", *gain.table(found)]
    if queues:
        lines += ["", *poisson.table(queues)]
    return "\n".join([*lines, END, ""])


def write_page(path: Path, text: str) -> None:
    """Replaces the part that is ours; the rest of the file stays."""
    old = path.read_text() if path.exists() else ""
    part = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END) + "\n", re.DOTALL)
    new = part.sub(lambda _: text, old) if part.search(old) else (old.rstrip("\n") + "\n\n" + text).lstrip("\n")
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(new)
    temporary.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("orrery")
    parser.add_argument("--links", required=True)
    parser.add_argument("--programs", default="")
    parser.add_argument("--launches", type=int, required=True)
    parser.add_argument("--clusters", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    programs = [name for name in arguments.programs.split(",") if name] or [*matrix.PROGRAMS, "poisson"]
    measured, rows, queues, calibrations = [], [], [], {}
    with tempfile.TemporaryDirectory() as scratch:
        command = matrix.Command(arguments.orrery, Path(scratch))
        kept = arguments.clusters or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        for link in arguments.links.split(","):
            turns = matrix.Turns(command, link, [name for name in programs if name != "poisson"])
            take_turns(turns, link, arguments.launches, not (kept / f"{link}.json").exists())
            calibrations[link] = calibrated(command, link, kept)
            measured.append(turns)
            if "poisson" in programs and link == "loopback":
                queues += poisson.measure(command, kept / f"{link}.yaml", arguments.launches)
        for turns in measured:  # What was computed decides; how fast this host is now does not matter any more.
            rows += turns.rows(kept / f"{turns.link}.yaml")
    if arguments.json:
        found = {"rows": rows, "gains": gain.gains(rows), "queues": queues, "calibrations": calibrations}
        print(json.dumps(found, indent=1))
    text = page(rows, queues, calibrations, arguments.launches)
    if arguments.output:
        write_page(arguments.output, text)
    elif not arguments.json:
        print(text, end="")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # So that folders are taken away.
    try:
        main()
    except matrix.Failure as problem:
        print(f"orrery: {problem}", file=sys.stderr)
        sys.exit(3)
    except KeyboardInterrupt:
        sys.exit(130)
