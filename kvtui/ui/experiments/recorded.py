"""Recorded runs read for the screen; every function blocks, and imports what the start does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kvtui.bench.evaluation.compare import Comparison
    from kvtui.bench.evaluation.results import Results
    from kvtui.bench.records.record import Record
    from kvtui.bench.records.replay import Replay
    from kvtui.measure.gaps import Gaps
    from kvtui.ui.experiments.plots import Requests


def results_in(path: Path) -> Results:
    """What a recorded run came to.

    Raises:
        RecordError: It cannot be read.
    """
    from kvtui.bench.evaluation.results import results_of
    from kvtui.bench.records.record import read_record

    return results_of(read_record(path))


def opened(path: Path) -> tuple[Results, Gaps, Requests]:
    """What it came to, the gaps between its chunks, and what is drawn of its requests.

    Raises:
        RecordError: It cannot be read.
    """
    from kvtui.bench.records.recorded_gaps import recorded_gaps
    from kvtui.ui.experiments.plots import Requests

    results = results_in(path)
    drawn = Requests(results.record.workload, results.record.samples)
    return results, recorded_gaps(path), drawn


def replayed(path: Path) -> Replay:
    """What is played again of it.

    Raises:
        RecordError: It cannot be read, or holds nothing that can be played.
    """
    from kvtui.bench.records.replay import Replay

    return Replay.read(path)


def half_done(run: Path | Record) -> tuple[Record, int]:
    """A run to be gone on with, and how many of its measured requests are done.

    Raises:
        RecordError: It cannot be read.
    """
    from kvtui.bench.records.record import Record, read_record

    record = run if isinstance(run, Record) else read_record(run)
    return record, sum(sample.completed and not sample.warmup for sample in record.samples)


def compared(paths: Sequence[Path]) -> list[Comparison]:
    """Each run with the first of them.

    Raises:
        RecordError: One cannot be read.
        ValueError: Two cannot be compared.
    """
    from kvtui.bench.evaluation.compare import compare
    from kvtui.bench.evaluation.imports import read_side

    sides = [read_side(path) for path in paths]
    return [compare(sides[0], side) for side in sides[1:]]
