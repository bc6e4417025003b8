"""A record in the form that was asked for, on stdout: for ``kvtui bench`` and ``kvtui runs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kvtui.commands.output import print_json

if TYPE_CHECKING:
    from kvtui.bench.record import Record

SHAPES = ("text", "json", "csv", "markdown", "html")


def print_record(record: Record, shape: str, *, interrupted: bool = False) -> int:
    """Print the results of a record; returns the exit status that they amount to."""
    from kvtui.bench.results import document, results_of
    from kvtui.commands import bench_text

    results = results_of(record)
    if shape == "json":
        print_json(document(results, interrupted=interrupted))
    elif shape == "csv":
        click.echo(bench_text.csv_text(results), nl=False)
    elif shape == "html":
        from kvtui.commands.bench_html import html

        click.echo(html(results).encode("utf-8", "replace"))
    else:
        for line in (bench_text.markdown if shape == "markdown" else bench_text.text)(results):
            click.echo(line)
    measured = [s for s in record.samples if not s.warmup]
    return 1 if any(s.failed for s in measured) or not measured else 0
