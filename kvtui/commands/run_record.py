"""``kvtui run -o FILE``: the runs as a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kvtui.commands.errors import BadInput

if TYPE_CHECKING:
    from kvtui.bench.records.history import RunWriter
    from kvtui.bench.requests.run import Run
    from kvtui.measure.figures import RunFigures


def writer_of(flags: Mapping[str, Any]) -> RunWriter | None:
    """What records the runs, where that is asked for; a file that is there is never touched.

    Raises:
        BadInput: There can be no such file.
    """
    path = flags.get("output")
    if path is None:
        return None
    from kvtui.bench.records.history import RunWriter

    if path.exists():
        raise BadInput(f"{path} is there already: name another.")
    if not path.absolute().parent.is_dir():
        raise BadInput(f"{path} cannot be written: there is no such folder.")
    return RunWriter(path, text=not flags.get("no_text"))


def write_run(writer: RunWriter, run: Run, figures: RunFigures, index: int, repeats: int) -> str:
    """Write a run that is done; returns why it could not be, or an empty string."""
    from kvtui.bench.records.history import FinishedRun
    from kvtui.bench.records.record import RecordError

    try:
        writer.add(FinishedRun.of(run, figures, index, repeats))
    except RecordError as error:
        return str(error)
    if writer.error:
        return f"the record is not whole: {writer.path} cannot be written: {writer.error}"
    return ""
