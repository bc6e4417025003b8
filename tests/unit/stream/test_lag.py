"""Which lateness touched a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from kvtui.stream.lag import LagWatch


@pytest.fixture
def watch() -> Iterator[LagWatch]:
    """Late by 50 ms until 10.0, by 20 ms until 11.0, by 30 ms until 12.0."""
    loop = asyncio.new_event_loop()
    watch = LagWatch(loop)
    watch._late.extend([(10.0, 0.05), (11.0, 0.02), (12.0, 0.03)])
    yield watch
    loop.close()


@pytest.mark.parametrize(
    ("begin", "end", "late"),
    [
        (9.0, 13.0, 0.05),
        (10.5, 13.0, 0.03),  # one that is over before does not count
        (9.0, 9.96, 0.05),  # one that is not over at the end does
        (9.0, 9.94, 0.0),  # one that begins later does not
        (10.99, 10.99, 0.02),  # a moment within one
        (11.5, 11.5, 0.0),
    ],
)
def test_the_largest_that_touches_the_span(
    watch: LagWatch, begin: float, end: float, late: float
) -> None:
    assert watch.between(begin, end) == late
