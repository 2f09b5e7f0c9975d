#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares models of devices with measurements and rewrites their part of docs/validation.md.

    tools/validate_device.py --orrery .venv/bin/orrery [--samples DIR] [--table FILE.yaml] [--only gpu|cpu]

gpu   published H100 samples of products and attention (DIR, by default ../shared/peers/aiconfigurator beside the
      checkout): rows are split by a hash of their shape into a fitted half and a held-out half.
cpu   decoders of other widths, lengths and batches than any profiled shape on this machine, each measured and
      predicted by `--compute model` from a table of `orrery profile-ops` (made now unless --table names one).
"""

import argparse
import csv
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "validation.md"
BEGIN, END = "<!-- begin device -->", "<!-- end device -->"
TYPES = {"bfloat16": "bf16", "float16": "fp16", "fp8": "fp8", "int8": "int8"}
GPU_TARGET, CPU_TARGET = 0.12, 0.10


def is_held_out(*key) -> bool:
    """By the shape alone: repeated measurements of one shape fall on the same side."""
    return hashlib.sha256(",".join(map(str, key)).encode()).digest()[0] % 2 == 1


def gpu_rows(folder: pathlib.Path):
    """(kind, operator, dtype, sizes, microseconds) of every row that the model has a family for."""
    for row in csv.DictReader((folder / "h100_sxm_gemm_sample.csv").open()):
        name, dtype = ("gemm@block", "fp8") if row["gemm_dtype"] == "fp8_block" else ("gemm", TYPES[row["gemm_dtype"]])
        sizes = (1, int(row["m"]), int(row["n"]), int(row["k"]))
        yield f"{dtype} {name}", name, dtype, sizes, float(row["latency"]) * 1000
    for phase, name in (("context", "attention_causal"), ("generation", "attention")):
        for row in csv.DictReader((folder / f"h100_sxm_{phase}_attention_sample.csv").open()):
            # A window, or a cache of another type than the products', is another kernel.
            variant = "@window" if row["window_size"] != "0" else ""
            variant += "@cache8" if row["kv_cache_dtype"] != row["attn_dtype"] else ""
            queries, past = int(row["isl"]), int(row["step"])
            heads, key_heads = int(row["num_heads"]), int(row["num_key_value_heads"]) or int(row["num_heads"])
            sizes = (int(row["batch_size"]), heads, key_heads, queries, queries + past, int(row["head_dim"]))
            time = float(row["latency"]) * 1000
            yield f"{phase} attention{variant}", name + variant, TYPES[row["attn_dtype"]], sizes, time


def write_table(path: pathlib.Path, rows) -> None:
    lines = [f"{name},{dtype},{'x'.join(map(str, sizes))},{time:.6f}us" for _, name, dtype, sizes, time in rows]
    path.write_text("\n".join(["operator,dtype,sizes,time", *lines]) + "\n")


def ask(program: str, *words: str) -> dict:
    done = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(words)}\nended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def errors_of(program: str, rows, *options: str) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        check = pathlib.Path(folder) / "check.csv"
        write_table(check, rows)
        answer = ask(program, "device", "h100_sxm", "--check", str(check), *options)
    return [abs(row["time_ps"] / row["measured_ps"] - 1) for row in answer["operators"]]


def figures(errors: list[float]) -> str:
    if not errors:
        return "0 | | | "
    ordered = sorted(errors)
    p90 = ordered[int(0.9 * (len(ordered) - 1))]
    return f"{len(ordered)} | {statistics.median(ordered):.1%} | {p90:.1%} | {ordered[-1]:.0%}"


def gpu_section(program: str, folder: pathlib.Path) -> tuple[list[str], bool]:
    rows = sorted(set(gpu_rows(folder)))
    fitted = [row for row in rows if not is_held_out(*row[:4])]
    held = [row for row in rows if is_held_out(*row[:4])]
    lines = [
        "### H100: products and attention",
        "",
        f"Published samples (aiconfigurator, vLLM kernels on H100 SXM): {len(rows)} rows, split by a hash of the",
        f"shape into {len(fitted)} fitted and {len(held)} held out. `table`: the fitted half as profiled operators.",
        "`roofline`: the catalogue's `h100_sxm`, whose efficiencies `tools/fit_device.py` takes from the fitted half.",
        "`@block` (scaled by blocks), `@window` (sees the last 128 keys) and `@cache8` (8-bit keys and values) are",
        "kernels of their own, which the roofline does not know.",
        "",
        "| operator | model | rows | count | median | 90th percentile | worst |",
        "|---|---|---|---|---|---|---|",
    ]
    is_met = True
    with tempfile.TemporaryDirectory() as temporary:
        table = pathlib.Path(temporary) / "fitted.csv"
        write_table(table, fitted)
        for kind in dict.fromkeys(row[0] for row in rows):
            of_kind = [row for row in held if row[0] == kind]
            by_table = errors_of(program, of_kind, "--operators", str(table))
            lines.append(f"| {kind} | table | **held out** | {figures(by_table)} |")
            is_met = is_met and statistics.median(by_table) <= GPU_TARGET
            if "@" in kind:
                continue
            lines.append(f"| {kind} | roofline | **held out** | {figures(errors_of(program, of_kind, '--roofline'))} |")
            of_fitted = [row for row in fitted if row[0] == kind]
            lines.append(f"| {kind} | roofline | fitted | {figures(errors_of(program, of_fitted, '--roofline'))} |")
    verdict = "met" if is_met else "missed"
    lines += ["", f"Target: median of the table on held-out rows at most {GPU_TARGET:.0%} each: {verdict}.", ""]
    return lines, is_met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orrery", default=str(ROOT / ".venv/bin/orrery"))
    parser.add_argument("--samples", type=pathlib.Path, default=ROOT.parent / "shared/peers/aiconfigurator")
    parser.add_argument("--table", help="cluster file of `orrery profile-ops` for the cpu part")
    parser.add_argument("--only", choices=["gpu", "cpu"])
    parser.add_argument("--check", action="store_true", help="print; leave docs/validation.md alone")
    options = parser.parse_args()
    parts = old_parts()
    is_met = True
    if options.only != "cpu":
        if (options.samples / "h100_sxm_gemm_sample.csv").exists():
            parts["gpu"], met = gpu_section(options.orrery, options.samples)
            is_met = is_met and met
        else:
            print(f"{options.samples}: no samples there; the H100 part stays as it is")
    if options.only != "gpu":
        import validate_device_cpu

        parts["cpu"], met = validate_device_cpu.section(options.orrery, options.table, CPU_TARGET)
        is_met = is_met and met
    text = "\n".join([*parts.get("gpu", []), *parts.get("cpu", [])])
    print(text)
    if not options.check:
        rewrite(text)
    sys.exit(0 if is_met else 1)


def old_parts() -> dict[str, list[str]]:
    """What stands on the page, for parts that are not measured now."""
    page = PAGE.read_text()
    if BEGIN not in page:
        return {}
    body = page[page.index(BEGIN) + len(BEGIN) : page.index(END)]
    parts = {}
    for key, head in (("gpu", "### H100"), ("cpu", "### This processor")):
        if head in body:
            part = body[body.index(head) :]
            rest = part.find("\n### ", 1)
            parts[key] = (part if rest < 0 else part[: rest + 1]).rstrip().splitlines() + [""]
    return parts


def rewrite(text: str) -> None:
    head = "## Device models\n\nAbsolute relative error. Regenerate with `tools/validate_device.py`."
    section = f"{BEGIN}\n{head}\n\n{text.rstrip()}\n{END}\n"
    page = PAGE.read_text()
    if BEGIN in page:
        page = page[: page.index(BEGIN)] + section + page[page.index(END) + len(END) :].lstrip("\n")
    else:
        page = page.rstrip() + "\n\n" + section
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
