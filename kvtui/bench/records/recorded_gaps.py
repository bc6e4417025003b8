"""The gaps between chunks of a recorded run: from its tapes, through the meter that counts live."""

from __future__ import annotations

from pathlib import Path

from kvtui.bench.records.playback import known_requests, recordings
from kvtui.bench.records.schema import RecordError
from kvtui.measure.gaps import Gaps

MOST = 400
"""Requests whose tapes are read: their chunks tell the shape."""


def recorded_gaps(path: Path) -> Gaps:
    """The gaps of the measured, completed requests; none where the record keeps no tapes.

    Raises:
        RecordError: The record cannot be read.
    """
    known = [n for n, s in known_requests(path) if s.completed and not s.warmup]
    step = -(-len(known) // MOST) or 1
    total = Gaps()
    for recording in recordings(path, dict.fromkeys(known[::step])):
        meter = recording.meter(0.0)
        try:
            for read in recording.reads():
                meter.feed(read)
        except RecordError:
            continue  # one damaged tape of many
        meter.add_gaps(total)
    return total
