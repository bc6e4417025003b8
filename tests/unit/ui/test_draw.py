"""Rows and bars: exact widths, nothing lost without a mark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.ui.draw.bars import gauge, segments
from kvtui.ui.draw.digits import HEIGHT, big
from kvtui.ui.draw.spark import sparkline
from kvtui.ui.look.roles import ROLE_NAMES
from kvtui.ui.look.rows import (
    Span,
    between,
    changed_cells,
    clip,
    crop,
    left,
    plain,
    right,
    row,
    width_of,
)


@given(
    st.lists(st.integers(0, 10**12), min_size=1, max_size=6),
    st.integers(1, 10**12),
    st.integers(6, 120),
)
def test_a_bar_fills_its_width_and_shows_every_part(
    sizes: list[int], total: int, width: int
) -> None:
    parts = [(size, glyph, "used") for size, glyph in zip(sizes, "▓▚█░·x", strict=False)]
    bar = segments(parts, total, width)
    assert width_of(bar) == width
    for (size, glyph, _), _ in zip(parts, sizes, strict=True):
        assert (glyph in plain(bar)) == (size > 0)


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(1, 60))
def test_a_gauge_fills_its_width(value: int, total: int, width: int) -> None:
    assert width_of(gauge(value, total, width)) == width


def test_a_gauge_moves_every_few_tokens() -> None:
    seen = {plain(gauge(tokens, 2048, 17)) for tokens in range(0, 257, 8)}
    assert len(seen) >= 16


@pytest.mark.parametrize("text", ["213", "7.42", "74.2", "9999", "—", "0.00"])
def test_large_figures_keep_their_place(text: str) -> None:
    rows = big(text, 15)
    assert len(rows) == HEIGHT
    assert all(width_of(line) == 15 for line in rows)


def test_a_sparkline_starts_at_zero() -> None:
    assert sparkline([0, 50, 100], 3) == "▁▄█"
    assert sparkline([100, 100], 5) == "██"
    assert len(sparkline(range(1000), 30)) == 30
    assert sparkline([], 10) == ""
    assert sparkline([0, 0], 4) == "▁▁"


@given(st.text(max_size=30), st.integers(0, 30))
def test_fields_have_their_width(text: str, width: int) -> None:
    text = "".join(char for char in text if char.isprintable())
    assert width_of(row(left(text, width))) == width
    assert width_of(row(right(text, width))) == width
    assert width_of(row(clip(text, width))) <= width


def test_crop_marks_what_it_cuts() -> None:
    line = row(("abc", "text"), ("defgh", "muted"))
    assert plain(crop(line, 6)) == "abcde…"
    assert crop(line, 8) == line
    assert plain(between(line, row("xy"), 9)) == "abcde… xy"


def test_changed_cells_are_the_spans_that_differ() -> None:
    old = row(("TTFT ", "muted"), ("41 ms", "strong"), (" end", "muted"))
    new = row(("TTFT ", "muted"), ("42 ms", "strong"), (" end", "muted"))
    assert changed_cells(old, new, 20) == (5, 10)
    assert changed_cells(old, old, 20) is None
    assert changed_cells((), new, 20) == (0, 14)
    assert changed_cells(new, (), 20) == (0, 14)


def test_every_role_in_use_has_a_colour() -> None:
    import re
    from pathlib import Path

    import kvtui.ui.draw as package

    used = set()
    for path in Path(package.__file__).parent.glob("*.py"):
        used |= set(re.findall(r', "([a-z-]+)"\)', path.read_text(encoding="utf-8")))
    roles = {name for name in used if name in ROLE_NAMES}
    assert {"muted", "strong", "accent", "bad", "good", "warn"} <= roles
    assert Span("x").role in ROLE_NAMES
