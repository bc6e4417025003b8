"""What ``kvtui bench`` tells on stderr while it runs."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import click

from kvtui.text import clock_time, one_line

if TYPE_CHECKING:
    from kvtui.bench.records.recorder import Recorder
    from kvtui.bench.running.progress import BenchEvent
    from kvtui.bench.running.runner import Runner

_TELL_S = 2.0


class Teller:
    """Writes the record, and a line on stderr now and then."""

    def __init__(self, runner: Runner, recorder: Recorder) -> None:
        self._runner = runner
        self._recorder = recorder
        self._told = monotonic()

    def take(self, event: BenchEvent) -> None:
        """One event."""
        from kvtui.bench.running.progress import Note, RequestEnded, StageEnded, StageStarted

        self._recorder.take(event)
        if isinstance(event, Note):
            say(event.text)
        elif isinstance(event, StageStarted):
            progress = self._runner.progress()
            of = "" if progress.searching else f" {event.stage + 1} of {progress.stages}"
            say(f"level{of}: {event.label}")
            self._told = monotonic()
        elif isinstance(event, StageEnded):
            if event.why:
                say(f"level {event.stage + 1} ended early: {event.why}")
        elif isinstance(event, RequestEnded) and monotonic() - self._told >= _TELL_S:
            self._told = monotonic()
            progress = self._runner.progress()
            wanted = f" of {progress.wanted}" if progress.wanted else ""
            failed = f", {progress.failed} failed" if progress.failed else ""
            left = "" if progress.left_s is None else f", about {clock_time(progress.left_s)} left"
            say(f"  {progress.done}{wanted} requests{failed}{left}")


def say(text: str) -> None:
    """A line on stderr."""
    click.echo(f"kvtui: {one_line(text, 500)}", err=True)
