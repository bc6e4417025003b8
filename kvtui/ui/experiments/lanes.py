"""A lane for each stream of a run: which request is on it, and in which phase."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from kvtui.bench.figures.sample import Sample
    from kvtui.bench.requests.run import Run
    from kvtui.bench.running.progress import RequestStarted

LanePhase: TypeAlias = Literal[
    "waiting", "sending", "prefill", "decode", "done", "stopped", "failed"
]
_OF_RUN: dict[str, LanePhase] = {
    "idle": "waiting",
    "connecting": "sending",
    "sending": "sending",
}
MOST = 512
"""Lanes that are shown; of more streams the first ones."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One stream now."""

    number: int
    """From 1."""
    phase: LanePhase = "waiting"
    tokens: int = 0
    """Of the answer so far."""
    wanted: int = 0
    warmup: bool = False


@dataclass(slots=True)
class _Slot:
    run: Run | None = None
    key: tuple[int, int, bool] | None = None
    last: Lane | None = None
    wanted: int = 0


class Lanes:
    """Requests find their lane as they start; any thread may call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: list[_Slot] = []
        self.done_tokens = 0
        """Of all requests that have ended."""

    def begin(self, streams: int) -> None:
        """A level begins with so many streams; 0: as many as there turn out to be."""
        with self._lock:
            self._slots = [_Slot() for _ in range(min(streams, MOST))]

    def started(self, event: RequestStarted, wanted: int) -> None:
        """A request takes the first free lane."""
        with self._lock:
            slot = next((slot for slot in self._slots if slot.run is None), None)
            if slot is None:
                if len(self._slots) >= MOST:
                    return
                slot = _Slot()
                self._slots.append(slot)
            slot.run, slot.wanted = event.run, wanted
            slot.key = (event.stage, event.index, event.warmup)

    def ended(self, sample: Sample) -> Run | None:
        """A request leaves its lane; returns what it ran as."""
        key = (sample.stage, sample.index, sample.warmup)
        with self._lock:
            self.done_tokens += sample.tokens or 0
            for number, slot in enumerate(self._slots, 1):
                if slot.run is not None and slot.key == key:
                    phase: LanePhase = (
                        "stopped" if sample.stopped else "failed" if sample.failed else "done"
                    )
                    slot.last = Lane(number, phase, sample.tokens or 0, slot.wanted, sample.warmup)
                    run, slot.run = slot.run, None
                    return run
        return None

    def run(self, number: int) -> Run | None:
        """What runs on a lane now."""
        with self._lock:
            return self._slots[number - 1].run if 0 < number <= len(self._slots) else None

    def running(self) -> list[tuple[int, int, Run]]:
        """(stage, index, run) of the measured requests in flight."""
        with self._lock:
            return [
                (slot.key[0], slot.key[1], slot.run)
                for slot in self._slots
                if slot.run is not None and slot.key is not None and not slot.key[2]
            ]

    def look(self) -> tuple[Lane, ...]:
        """All lanes now."""
        with self._lock:
            slots = [(slot.run, slot.key, slot.last, slot.wanted) for slot in self._slots]
        lanes = []
        for number, (run, key, last, wanted) in enumerate(slots, 1):
            if run is None:
                lanes.append(last or Lane(number))
                continue
            phase, tokens = run.glance()
            shown: LanePhase = _OF_RUN.get(phase, phase)  # type: ignore[arg-type]
            lanes.append(Lane(number, shown, tokens, wanted, bool(key and key[2])))
        return tuple(lanes)
