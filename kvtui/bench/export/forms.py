"""The forms by their names: what the commands print and the screen writes."""

from __future__ import annotations

import json
from pathlib import Path

from kvtui.bench.evaluation.results import Results, document
from kvtui.bench.export import tables
from kvtui.bench.records.schema import RecordError
from kvtui.language import later, tr
from kvtui.writing import write_new

SUFFIXES = {
    "text": ".txt",
    "json": ".json",
    "csv": ".csv",
    "markdown": ".md",
    "html": ".html",
    "svg": ".svg",
    "commands": ".sh",
}
ABOUT = {
    "text": later("a table and the findings, as kvtui bench prints them"),
    "json": later("everything but the single requests (kvtui.bench/1)"),
    "csv": later("a line a request, for a spreadsheet"),
    "markdown": later("a table and the findings, for a page or an issue"),
    "html": later("a page of its own with plots"),
    "svg": later("the plot that tells most"),
    "commands": later("the same work with vllm bench serve, guidellm and aiperf"),
}


def export_text(
    results: Results,
    shape: str,
    *,
    interrupted: bool = False,
    plot: str | None = None,
    width: int | None = None,
) -> str:
    """The results in one of the forms, with a line end at its end.

    Args:
        results: What the record amounts to.
        shape: One of ``SHAPES``.
        interrupted: The run was stopped just now.
        plot: Which plot as ``svg``; None: the one that tells most.
        width: Cells of a line of ``text``; None: 80.

    Raises:
        RecordError: The run gives no such plot.
    """
    if shape == "json":
        return (
            json.dumps(document(results, interrupted=interrupted), indent=2, allow_nan=False) + "\n"
        )
    if shape == "csv":
        return tables.csv_text(results)
    if shape == "html":
        from kvtui.bench.export.page import html

        return html(results) + "\n"
    if shape == "svg":
        from kvtui.bench.export.plots import plot_of

        return plot_of(results, plot) + "\n"
    if shape == "commands":
        from kvtui.bench.export.commands import commands

        return commands(results)
    if shape == "markdown":
        lines = tables.markdown(results)
    else:
        from kvtui.bench.export.plain import WIDTH, text

        lines = text(results, width or WIDTH)
    return "".join(f"{line}\n" for line in lines)


def write_export(results: Results, shape: str, path: Path) -> None:
    """Write a form to a new file.

    Raises:
        RecordError: There is such a file already, or it cannot be written.
    """
    data = export_text(results, shape).encode("utf-8", "replace")
    try:
        write_new(path, data)
    except FileExistsError:
        raise RecordError(tr("{path} is there already: name another file.", path=path)) from None
    except OSError as error:
        raise RecordError(
            tr("{path} cannot be written: {error}.", path=path, error=error.strerror or error)
        ) from None
