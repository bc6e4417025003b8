"""What the KV cache brings: measured decode rates with it and without, of runs about as long."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kvtui.ui.state import CacheCompared

if TYPE_CHECKING:
    from kvtui.measure.figures import RunFigures

KEPT = 16
LIKE = 1.25
"""Lengths within this ratio are compared: without the cache a step costs more the longer it is."""


class CacheEffect:
    """Remembers the latest complete runs of the engine and pairs the newest that compare."""

    def __init__(self) -> None:
        self.compared: CacheCompared | None = None
        self._runs: deque[tuple[bool, int, float]] = deque(maxlen=KEPT)

    def add(self, figures: RunFigures, *, cached: bool) -> None:
        """Take a run that ended; one that was cut short, or has no rate, is left out."""
        tps, tokens = figures.decode_tps, figures.completion_tokens
        if figures.partial or not tps or not tokens:
            return
        length = (figures.prompt_tokens or 0) + tokens
        for other_cached, other_length, other_tps in reversed(self._runs):
            longer = max(length, other_length)
            if other_cached != cached and longer <= LIKE * min(length, other_length):
                off, on = (other_tps, tps) if cached else (tps, other_tps)
                self.compared = CacheCompared(off, on)
                break
        self._runs.append((cached, length, tps))
