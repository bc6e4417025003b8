"""Tokens per second over a trailing window, and its history for drawing, in bounded memory."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

WINDOW_S = 1.0
_MAX_SAMPLES = 1024


class Sample(NamedTuple):
    """The running rate at one moment."""

    t: float
    """Seconds after the first token."""
    tokens: float
    tps: float


class RunningRate:
    """Counts by stamp; ``at`` is the rate of DESIGN: the last second, measured to *now*."""

    def __init__(self) -> None:
        self._window: deque[tuple[float, float]] = deque()  # (stamp, count up to and with it)
        self._before = 0.0  # count up to the newest stamp that left the window
        self._first: float | None = None
        self._first_count = 0.0
        self._stamps = 0
        self._samples: list[Sample] = []
        self._step = 0.05
        self._last = 0.0

    def add(self, t: float, count: float) -> None:
        """``count`` is cumulative: all that had come by the stamp ``t``."""
        if self._first is None:
            self._first = t
            self._first_count = count
        elif t - self._last > WINDOW_S:
            self._sample(self._last + WINDOW_S, self._window[-1][1], 0.0)
        self._stamps += 1
        self._last = t
        self._window.append((t, count))
        self._prune(t)
        if self._stamps > 1 and (not self._samples or self._due(t)):
            self._sample(t, count, self.at(t) or 0.0)

    def at(self, now: float) -> float | None:
        """The rate at ``now``; None before the second stamp."""
        if self._first is None or self._stamps < 2:
            return None
        start = now - WINDOW_S
        if start <= self._first:
            span = now - self._first
            return (self._window[-1][1] - self._first_count) / span if span > 0 else None
        before = self._before
        for t, count in self._window:  # what left the window since the last stamp came
            if t > start:
                break
            before = count
        return (self._window[-1][1] - before) / WINDOW_S

    def series(self, points: int) -> list[Sample]:
        """At most ``points`` samples over the whole run, oldest first."""
        samples = list(self._samples)
        if len(samples) <= points or points <= 0:
            return samples
        step = len(samples) / points
        picked = [samples[int(i * step)] for i in range(points)]
        picked[-1] = samples[-1]
        return picked

    def _due(self, t: float) -> bool:
        assert self._first is not None
        return t - self._first - self._samples[-1].t >= self._step

    def _sample(self, t: float, count: float, tps: float) -> None:
        assert self._first is not None
        self._samples.append(Sample(t - self._first, count, tps))
        if len(self._samples) > _MAX_SAMPLES:
            self._samples = self._samples[::2]
            self._step *= 2

    def _prune(self, now: float) -> None:
        start = now - WINDOW_S
        window = self._window
        while len(window) > 1 and window[0][0] <= start:
            self._before = window.popleft()[1]
