"""Percentiles out of a histogram of bounded size."""

from __future__ import annotations

import pytest

from kvtui.measure.gaps import Gaps


def test_percentiles_within_two_percent() -> None:
    gaps = Gaps()
    for k in range(1, 1001):
        gaps.add(k / 1000)
    assert gaps.percentile(0.5) == pytest.approx(0.5, rel=0.02)
    assert gaps.percentile(0.99) == pytest.approx(0.99, rel=0.02)
    assert Gaps().percentile(0.5) is None


def test_a_read_of_several_chunks_is_as_many_gaps() -> None:
    gaps = Gaps()
    gaps.add(0.04, 4)
    assert gaps.n == 4
    assert gaps.percentile(0.5) == pytest.approx(0.01, rel=0.02)


def test_a_copy_holds_every_gap_and_no_later_one() -> None:
    gaps = Gaps()
    for seconds in (0.001, 0.01, 0.01, 0.1, 0.0):
        gaps.add(seconds)
    copy = gaps.copy()
    gaps.add(0.2)
    assert (copy.n, gaps.n) == (5, 6)
    assert sum(count for _, _, count in copy.buckets()) == 5
    assert all(low < high for low, high, _ in copy.buckets())
    assert copy.longest == pytest.approx(0.1)
    assert Gaps().copy().buckets() == []
