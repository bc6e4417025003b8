"""Which lateness touched a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kvtui.stream import lag
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


class SteppedLoop:
    """Holds the one timer that was asked for."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.wake: Callable[[], None] = lambda: None

    def call_later(self, seconds: float, wake: Callable[[], None]) -> None:
        self.seconds, self.wake = seconds, wake


def test_it_looks_less_often_while_it_is_calm_and_nothing_was_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, calm = 100.0, False
    loop: Any = SteppedLoop()
    monkeypatch.setattr(lag, "perf_counter", lambda: now)
    watch = LagWatch(loop, lambda: calm)
    watch.start()
    waited = []
    for late, at_ease in ((0, False), (0, True), (0, True), (0.05, True), (0, True), (0, False)):
        calm = at_ease
        now += loop.seconds + late
        loop.wake()
        waited.append(loop.seconds)
    close, wide = waited[0], waited[1]
    assert wide > 2 * close
    assert waited == [close, wide, wide, close, close, close]
    assert watch.between(100.0, now) == pytest.approx(0.05)
    calm = True
    while loop.seconds == close:  # nothing was late any more
        now += loop.seconds
        loop.wake()
        assert now < 103.0
