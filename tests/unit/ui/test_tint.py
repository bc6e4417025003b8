"""Limits of the tints, and their legend."""

from __future__ import annotations

import pytest

from kvtui.ui.look.rows import plain, width_of
from kvtui.ui.stream.tint import legend, tint_of


def test_twice_and_five_times_the_median() -> None:
    tint = tint_of(10.0)
    assert tint is not None
    roles = [tint.role(ms / 1000) for ms in (0, 10, 19, 21, 49, 51)]
    assert roles == ["", "", "", "slow", "slow", "stall"]


def test_limits_move_only_when_the_median_did() -> None:
    first = tint_of(10.0)
    assert tint_of(10.5, first) is first
    assert tint_of(12.0, first) != first
    assert tint_of(None, first) is first
    assert tint_of(None) is None


@pytest.mark.parametrize("width", [44, 72, 120])
@pytest.mark.parametrize("median", [0.52, 4.6, 23.0, 730.0])
def test_the_legend_fits_with_its_numbers(width: int, median: float) -> None:
    line = legend(tint_of(median), width)
    assert width_of(line) <= width
    assert plain(line).endswith("i plain")
    assert plain(line).count("≥") == 2
