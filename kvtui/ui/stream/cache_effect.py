"""What the KV cache brings: decode rates with it and without, over the same stretch of tokens."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from kvtui.ui.state import CacheCompared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.ui.ports import SampleLike

KEPT = 16
LIKE = 1.25
"""Sequences within this ratio are compared: without the cache longer ones cost more a step."""
LEAST = 32
"""Tokens that both must have come to: a rate over fewer says little."""


class Course(NamedTuple):
    """How a run went: seconds after its first token, and tokens by then."""

    model: str
    cached: bool
    prompt: int
    points: tuple[tuple[float, float], ...]

    def reached(self, tokens: float) -> float:
        """Seconds after the first token at which so many had come; between points, evenly."""
        (t0, n0) = self.points[0]
        for t1, n1 in self.points[1:]:
            if n1 >= tokens:
                return t0 + (t1 - t0) * (tokens - n0) / (n1 - n0) if n1 > n0 else t0
            t0, n0 = t1, n1
        return t0


class CacheEffect:
    """Remembers the engine's latest runs and pairs the newest that compare.

    One that was stopped counts too, up to its last token: who sees a stream crawl stops it.
    """

    def __init__(self) -> None:
        self._compared: dict[str, CacheCompared] = {}
        self._runs: deque[Course] = deque(maxlen=KEPT)

    def of(self, model: str) -> CacheCompared | None:
        """The newest pair of this model's runs."""
        return self._compared.get(model)

    def add(
        self, model: str, prompt: int | None, samples: Sequence[SampleLike], *, cached: bool
    ) -> None:
        """Take a run that ended.

        Args:
            model: The model that answered: runs of one model only are compared.
            prompt: Tokens of its prompt; None where that is not known.
            samples: Its course, oldest first.
            cached: Whether it kept keys and values.
        """
        if prompt is None or len(samples) < 2:
            return
        course = Course(model, cached, prompt, tuple((s.t, s.tokens) for s in samples))
        for other in reversed(self._runs):
            if other.model != model or other.cached == cached:
                continue
            if (found := _compared(course, other)) is not None:
                self._compared[model] = found
                break
        self._runs.append(course)


def _compared(one: Course, other: Course) -> CacheCompared | None:
    """Both rates from the token that both have first to the last one that both have."""
    begin = max(one.points[0][1], other.points[0][1])
    end = min(one.points[-1][1], other.points[-1][1])
    lengths = one.prompt + end, other.prompt + end
    if end - begin < LEAST or max(lengths) > LIKE * min(lengths):
        return None
    on, off = (one, other) if one.cached else (other, one)
    spans = [course.reached(end) - course.reached(begin) for course in (off, on)]
    if min(spans) <= 0:
        return None
    off_tps, on_tps = ((end - begin) / span for span in spans)
    return CacheCompared(off_tps, on_tps, round(end))
