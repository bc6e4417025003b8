"""What ``kvtui bench`` tells on stderr while it runs."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from kvtui.bench.work.labels import label_shown
from kvtui.commands.output import put
from kvtui.language import counted, later, tr
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
            label = label_shown(event.label)
            if progress.searching:
                say(tr("level: {label}", label=label))
            else:
                at = {"n": event.stage + 1, "all": progress.stages}
                say(tr("level {n} of {all}: {label}", label=label, **at))
            self._told = monotonic()
        elif isinstance(event, StageEnded):
            if event.why:
                say(f"level {event.stage + 1} ended early: {event.why}")
        elif isinstance(event, RequestEnded) and monotonic() - self._told >= _TELL_S:
            self._told = monotonic()
            progress = self._runner.progress()
            done, wanted, failed = progress.done, progress.wanted, progress.failed
            told = counted(done, later("{n} request"), later("{n} requests"))
            if wanted:
                told = tr("{done} of {wanted} requests", done=done, wanted=wanted)
            if failed:
                told += tr(", {n} failed", n=failed)
            if progress.left_s is not None:
                told += tr(", about {time} left", time=clock_time(progress.left_s))
            say(f"  {told}")


def say(text: str) -> None:
    """A line on stderr."""
    put(f"kvtui: {one_line(text, 500)}", err=True)
