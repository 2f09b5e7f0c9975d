# SPDX-License-Identifier: Apache-2.0
"""What a change of a program gains, really and simulated: Voltage against improved Voltage, measured in turns."""

import math
import random
import statistics

PLAIN, CHANGED = "voltage", "voltage_improved"
RESAMPLES = 2000


def gain(plain: list, changed: list) -> float:
    """Of the median time."""
    return 1 - statistics.median(changed) / statistics.median(plain)


def interval(plain: list, changed: list) -> tuple:
    """95 % by resampling; the same samples give the same bounds."""
    chance = random.Random(1)
    found = sorted(
        gain(chance.choices(plain, k=len(plain)), chance.choices(changed, k=len(changed))) for _ in range(RESAMPLES)
    )
    return found[RESAMPLES // 40], found[-RESAMPLES // 40]


def p_value(a: list, b: list) -> float:
    """Mann and Whitney's, two-sided, by the normal distribution with its correction for steps."""
    wins = sum((x > y) + (x == y) / 2 for x in a for y in b)
    mean, deviation = len(a) * len(b) / 2, math.sqrt(len(a) * len(b) * (len(a) + len(b) + 1) / 12)
    return min(1.0, math.erfc(max(0.0, abs(wins - mean) - 0.5) / deviation / math.sqrt(2)))


def gains(rows: list) -> list:
    """Of each link that has both programs."""
    by = {(row["program"], row["link"]): row for row in rows}
    found = []
    for link in dict.fromkeys(row["link"] for row in rows):
        if (PLAIN, link) not in by or (CHANGED, link) not in by:
            continue
        one = {"link": link}
        for kind in ("real", "simulated"):
            samples = [by[name, link][f"{kind}_totals_ms"] for name in (PLAIN, CHANGED)]
            low, high = interval(*samples)
            one[kind] = {"gain": gain(*samples), "low": low, "high": high, "p": p_value(*samples)}
        found.append(one)
    return found


def table(found: list) -> list:
    lines = [
        "What hiding the all-gather gains: improved Voltage against Voltage, launches in turns. 95 % intervals of",
        "2000 resamples; p by Mann and Whitney.",
        "",
        "| link | real gain | interval | p | simulated gain | interval | p | intervals meet |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        real, simulated = one["real"], one["simulated"]
        meet = real["low"] <= simulated["high"] and simulated["low"] <= real["high"]
        cells = [
            f"{side['gain']:+.1%} | {side['low']:+.1%} to {side['high']:+.1%} | {side['p']:.3f}"
            for side in (real, simulated)
        ]
        lines.append(f"| {one['link']} | {cells[0]} | {cells[1]} | {'yes' if meet else 'no'} |")
    return lines
