"""A record in the form that was asked for, on stdout: for ``kvtui bench`` and ``kvtui runs``."""

from __future__ import annotations

from shutil import get_terminal_size
from typing import TYPE_CHECKING

from kvtui.commands.errors import BadInput
from kvtui.commands.output import print_document, print_json

if TYPE_CHECKING:
    from kvtui.bench.records.record import Record


def print_record(
    record: Record, shape: str, *, interrupted: bool = False, plot: str | None = None
) -> int:
    """Print the results of a record; returns the exit status that they amount to.

    Raises:
        BadInput: The run gives no such plot.
    """
    from kvtui.bench.evaluation.results import document, results_of
    from kvtui.bench.export.forms import export_text
    from kvtui.bench.records.record import RecordError

    results = results_of(record)
    if shape == "json":
        print_json(document(results, interrupted=interrupted))
    else:
        try:
            text = export_text(results, shape, plot=plot, width=get_terminal_size().columns)
        except RecordError as error:
            raise BadInput(str(error)) from None
        print_document(text)
    failed = [s.failed for s in record.samples if not s.warmup]
    return 1 if any(failed) or not failed else 0
