"""Whether this machine's own lateness in reading changed a request's figures: one rule for all."""

from __future__ import annotations

from kvtui.measure.buffering import LATE_S

PART = 0.02
"""Own lateness below this part of a request's decode time, or TTFT, changes neither."""


def matters(late_ms: float | None, *figures_ms: float | None) -> bool:
    """Whether a stamp that was so late changes a figure.

    Args:
        late_ms: how late a first or last token was read, in ms; None is not known.
        figures_ms: what is reckoned from that stamp (TTFT, decode time), in ms; None: unknown.
    """
    known = [figure for figure in figures_ms if figure is not None]
    if late_ms is None or not known:
        return False
    return late_ms >= LATE_S * 1000 and late_ms > PART * min(known)
