"""Whether something on the way held the stream back: then no figure of it is honest."""

from __future__ import annotations

from kvtui.measure.tally import Tally

_BURST_S = 0.005
"""All text within this is one burst."""
_MANY = 16
"""Events in one burst that no server sends one by one."""
_PER_READ = 10
"""Reads lie ten times further apart than the events in them: ten events a read."""
_PAUSE_S = 0.020
"""A gap between reads that is a pause, not the pace of a fast server."""
LATE_S = 0.020
"""Own lag from which the client itself may be what gathered the events."""


def framed_so(tally: Tally, chunked: bool) -> bool:
    """Whether the framing itself shows it: no lateness of this machine puts events in one chunk."""
    return chunked and tally.text_batches <= 2 and tally.batch_most >= 2


def held_back(tally: Tally) -> bool:
    """Whether the text came in bursts that are not the server's pace.

    A server that answers at once still sends an event at a time, and chunked framing shows that
    even where one read takes several: few events count as a burst only if one HTTP chunk (or an
    unframed read) held more than one of them.
    """
    events, reads = tally.text_events, tally.text_stamps
    if events < 2 or tally.t_text_first is None or tally.t_text_last is None:
        return False
    span = tally.t_text_last - tally.t_text_first
    if reads <= 2 and span <= _BURST_S:
        gathered = tally.text_batches <= 2 and tally.batch_most >= 2
        return gathered or events >= _MANY
    if reads <= 2 and tally.text_batches <= 2 and tally.batch_least >= 2:
        return True
    return events >= _PER_READ * reads and span / max(reads - 1, 1) >= _PAUSE_S
