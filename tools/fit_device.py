#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits launch overhead and efficiencies of catalog/devices/h100_sxm.yaml to the fitted half of the published samples.

    tools/fit_device.py [--samples DIR]

Prints the values; somebody puts them into the catalogue. The formula is that of docs/models/device.md, the split that
of tools/validate_device.py. Each value is the one of its grid with the smallest median of the absolute relative error.
"""

import argparse
import itertools
import pathlib
import statistics

import validate_device as data

PEAKS = {"bf16": 989.4e12, "fp8": 1978.9e12}
BANDWIDTH = 3350e9
ELEMENT = {"bf16": 2, "fp8": 1}


def work(name: str, dtype: str, sizes: tuple[int, ...]) -> tuple[float, float]:
    if name == "gemm":
        batch, m, n, k = sizes
        return 2.0 * batch * m * n * k, float(batch * (m * k + k * n + m * n) * ELEMENT[dtype])
    batch, heads, key_heads, queries, keys, width = sizes
    seen = queries * keys - queries * (queries - 1) / 2 if name == "attention_causal" else queries * keys
    values = batch * width * (2 * heads * queries + 2 * key_heads * keys)
    return 4.0 * batch * heads * seen * width, float(values * ELEMENT[dtype])


def error(rows, launch: float, computing: float, moving: float) -> float:
    def predicted(flops, size, dtype):
        return max(flops / (PEAKS[dtype] * computing), size / (BANDWIDTH * moving)) * 1e6 + launch

    return statistics.median(abs(predicted(*work(*key), key[1]) / time - 1) for key, time in rows)


def best(rows, launches, shares) -> tuple[float, float, float, float]:
    return min((error(rows, *values), *values) for values in itertools.product(launches, shares, shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=pathlib.Path, default=data.ROOT.parent / "shared/peers/aiconfigurator")
    samples = sorted(set(data.gpu_rows(parser.parse_args().samples)))
    fitted = [(row[1:4], row[4]) for row in samples if not data.is_held_out(*row[:4]) and "@" not in row[1]]
    shares = [round(0.35 + 0.05 * i, 2) for i in range(13)]
    products = [row for row in fitted if row[0][0] == "gemm"][::2]
    found, launch, computing, moving = best(products, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0], shares)
    print(f"launch_overhead {launch:g}us; gemm: compute {computing:g}, memory {moving:g}; median error {found:.1%}")
    attention = [row for row in fitted if row[0][0] != "gemm"][::2]
    found, _, computing, moving = best(attention, [launch], shares)
    print(f"attention: compute {computing:g}, memory {moving:g}; median error {found:.1%}")


if __name__ == "__main__":
    main()
