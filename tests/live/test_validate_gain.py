# SPDX-License-Identifier: Apache-2.0
"""What is said of a gain follows from its samples."""

from orrery.live.validate_gain import gains, interval, p_value, table


def row(program: str, real: list, simulated: list) -> dict:
    return {"program": program, "link": "1Gbps", "real_totals_ms": real, "simulated_totals_ms": simulated}


def test_samples_apart_differ_and_equal_ones_do_not():
    low, high = [1.0, 2, 3, 4, 5, 6, 7, 8], [11.0, 12, 13, 14, 15, 16, 17, 18]
    assert p_value(low, high) == p_value(high, low)
    # Exact: two of 12870 orders; by the normal distribution a little more.
    assert 2 / 12870 < p_value(low, high) < 0.002
    assert p_value(low, low) == 1.0
    # Wins are 18 of 32 where 16 are expected, with a deviation of 5.9.
    assert 0.75 < p_value([1.0, 4, 6, 8], [2.0, 3, 5, 7, 0, 9, 1.5, 4.5]) < 0.85


def test_the_interval_holds_the_gain_and_repeats():
    plain, changed = [100.0, 101, 99, 102, 98], [90.0, 91, 89, 92, 88]
    low, high = interval(plain, changed)
    assert low <= 0.1 <= high
    assert (low, high) == interval(plain, changed)
    assert interval([5.0, 5, 5], [5.0, 5, 5]) == (0, 0)


def test_links_without_both_programs_are_left_out_and_intervals_are_compared():
    plain, changed = [100.0, 101, 99, 102, 98], [90.0, 91, 89, 92, 88]
    assert gains([row("voltage", plain, plain)]) == []
    (found,) = gains([row("voltage", plain, plain), row("voltage_improved", changed, changed)])
    assert abs(found["real"]["gain"] - 0.1) < 1e-9
    assert table([found])[-1].endswith("| yes |")
    (apart,) = gains([row("voltage", plain, plain), row("voltage_improved", changed, plain)])
    assert table([apart])[-1].endswith("| no |")
