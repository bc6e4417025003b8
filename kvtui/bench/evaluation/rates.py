"""Requests at a set rate: whether the server keeps up with it, or a queue grows."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kvtui.bench.figures.difference import mann_whitney
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import kind_of
from kvtui.bench.work.labels import label_shown
from kvtui.bench.work.workload import Stage, Workload
from kvtui.language import tr
from kvtui.text import milliseconds

_FEWEST = 10
"""Requests from which two halves tell something of each other."""
_ALPHA = 0.01
_GROWN = 1.5


def queues(workload: Workload, samples: Sequence[Sample]) -> list[Finding]:
    """The levels whose TTFT grew while they ran.

    Beyond what a server can take each request waits longer than the one before it: such a level has
    no latency of its own, only one that grows with the length of the run.
    """
    stages = workload.stages
    if not any(stage.rate for stage in stages):
        return []
    waits: dict[Stage, list[tuple[str, float, float]]] = {}
    for sample in samples:
        stage = stages[sample.stage]
        if stage.rate and sample.completed and sample.ttft_ms:
            row = (sample.started_at, sample.start_s, sample.ttft_ms)
            waits.setdefault(kind_of(stage), []).append(row)
    found = []
    for stage, rows in waits.items():
        ordered = [ttft for _, _, ttft in sorted(rows)]
        half = len(ordered) // 2
        if len(ordered) < _FEWEST:
            continue
        first, second = ordered[:half], ordered[half:]
        test = mann_whitney(first, second)
        early, late = median(first), median(second)
        if test.p >= _ALPHA or late < _GROWN * early:
            continue
        text = tr(
            "{label}: the server does not keep up with this rate: TTFT grew from {early} in the"
            " first half to {late} in the second (p = {p:.2g}); a longer run would read more.",
            label=label_shown(stage.label),
            early=milliseconds(early),
            late=milliseconds(late),
            p=test.p,
        )
        figures = {"rate": stage.rate, "first_half_ms": early, "second_half_ms": late, "p": test.p}
        found.append(Finding("queue_grows", text, False, figures | {"test": test.name}))
    return found
