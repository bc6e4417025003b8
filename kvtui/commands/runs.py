"""``kvtui runs``: the folder of records, listed, searched, tagged, deleted."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kvtui.bench.export import PLOTS, SHAPES
from kvtui.commands.errors import BadInput
from kvtui.commands.output import print_json, put
from kvtui.language import tr
from kvtui.text import UNKNOWN, count, milliseconds, one_line, padded, rate, wide_in

if TYPE_CHECKING:
    from kvtui.bench.records.entries import Entry

SCHEMA = "kvtui.runs/1"
_MOST_OFFERED = 50


class RunName(click.ParamType[str]):
    """A run: its file, its name or id, the beginning of one, or ``last``."""

    name = "run"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """The names of the runs, the latest first; then files."""
        from kvtui.bench.records.record import RecordError
        from kvtui.bench.records.store import list_runs

        try:
            names = [entry.path.stem for entry in list_runs()]
        except RecordError:
            names = []
        found = [name for name in names if name.startswith(incomplete)][:_MOST_OFFERED]
        return [CompletionItem(name) for name in found] or [CompletionItem(incomplete, type="file")]


class RunFile(RunName):
    """A run, as the path of its file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Find it; one that is not there is refused."""
        if isinstance(value, Path):
            return value
        from kvtui.bench.records.record import RecordError
        from kvtui.bench.records.store import find

        try:
            return find(str(value)).path
        except RecordError as error:
            self.fail(str(error), param, ctx)


_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


@click.group(invoke_without_command=True)
@click.pass_context
def runs(ctx: click.Context) -> None:
    """List, search, tag and delete what was recorded: benchmarks, and the screen's runs.

    Without a command the runs are listed, the latest first. RUN is a file, the name or id of a run,
    the beginning of one, or last. The folder is KVTUI_RUNS, else in the platform's data folder.
    """
    if ctx.invoked_subcommand is None:
        _print_list([], as_json=False)


@runs.command(name="list")
@click.argument("words", nargs=-1)
@_json
def list_(words: tuple[str, ...], as_json: bool) -> None:
    """List the runs, all or those that hold every one of WORDS (#base: a tag)."""
    _print_list(words, as_json=as_json)


def _print_list(words: tuple[str, ...] | list[str], *, as_json: bool) -> None:
    from kvtui.bench.records.record import RecordError
    from kvtui.bench.records.store import list_runs, search

    try:
        entries = search(list_runs(), " ".join(words))
    except RecordError as error:
        raise BadInput(str(error)) from None
    if as_json:
        print_json({"schema": SCHEMA, "runs": [_table(entry) for entry in entries]})
        return
    if not entries:
        from kvtui.bench.records.record import runs_path

        told = {"words": repr(" ".join(words)), "folder": runs_path()}
        if words:
            sentence = tr("there is no run with {words} in {folder}.", **told)
        else:
            sentence = tr("there is no run in {folder}.", folder=told["folder"])
        put(f"kvtui: {sentence}", err=True)
        return
    names = (tr("run"), tr("model"), tr("endpoint"), tr("requests"))
    rows = [[*names, "TTFT p50", "TPOT p50", "tok/s", "", ""]]
    rows += [_row(entry) for entry in entries]
    widths = [max(len(row[i]) + wide_in(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [padded(cell, widths[i]) for i, cell in enumerate(row[:3])]
        cells += [cell.rjust(widths[i] - wide_in(cell)) for i, cell in enumerate(row[3:7], 3)]
        put("  ".join([*cells, *(cell for cell in row[7:] if cell)]).rstrip())


def _row(entry: Entry) -> list[str]:
    name = one_line(entry.path.stem, 60)
    if entry.broken:
        return [
            name,
            "",
            "",
            "",
            "",
            "",
            "",
            f"{tr('broken')}{tr(': ')}{one_line(entry.broken, 100)}",
            "",
        ]
    wanted = "" if entry.wanted in (None, entry.requests) else f"/{count(entry.wanted)}"
    state = tr("resumable") if entry.resumable else tr("running") if entry.running else ""
    if entry.cut_short:
        state = tr("stopped")
    failed = tr("{n:,} failed", n=entry.failed) if entry.failed else ""
    off = tr("cache off") if entry.cache_off else ""
    state = tr(", ").join(part for part in (failed, off, state) if part)
    marks = _marks(entry, 60)
    return [
        name,
        one_line(entry.model or UNKNOWN, 32),
        one_line(entry.endpoint or UNKNOWN, 32),
        f"{UNKNOWN if entry.requests is None else count(entry.requests)}{wanted}",
        milliseconds(entry.ttft_ms),
        milliseconds(entry.tpot_ms),
        UNKNOWN if entry.decode_tps is None else rate(entry.decode_tps),
        state,
        marks,
    ]


def _table(entry: Entry) -> dict[str, Any]:
    table = asdict(entry)
    table.update(
        path=str(entry.path),
        name=entry.path.stem,
        broken=entry.broken or None,
        resumable=entry.resumable,
        tags=list(entry.tags),
    )
    return table


@runs.command()
@click.argument("run", type=RunName())
@click.option("--json", "as_json", is_flag=True, help="As --format json.")
@click.option("--format", "shape", type=click.Choice(SHAPES), help="Form of the results [text].")
@click.option("--plot", type=click.Choice(PLOTS), help="Which plot with --format svg.")
def show(run: str, as_json: bool, shape: str | None, plot: str | None) -> None:
    """Print what RUN came to, as it did when it ended. Exit status: 1 where a request failed."""
    from kvtui.bench.records.record import RecordError, read_record
    from kvtui.commands.export import print_record

    entry = _found(run)
    try:
        record = read_record(entry.path)
    except RecordError as error:
        raise BadInput(str(error)) from None
    shape = "json" if as_json else shape or "text"
    if shape == "text":
        put(one_line(str(entry.path), 4096))
        about = [entry.preset, entry.model or UNKNOWN, entry.endpoint, entry.when]
        put(one_line(" · ".join(part for part in about if part), 300))
        if entry.tags or entry.note:
            put(_marks(entry, 500))
        put()
    sys.exit(print_record(record, shape, plot=plot))


@runs.command()
@click.argument("run", type=RunName())
@click.argument("tags", nargs=-1)
@click.option("--remove", multiple=True, metavar="TAG", help="Take this tag away; repeatable.")
@_json
def tag(run: str, tags: tuple[str, ...], remove: tuple[str, ...], as_json: bool) -> None:
    """Give RUN the TAGS; a tag is one word. A tagged run is never deleted by itself."""
    from kvtui.bench.records import store
    from kvtui.bench.records.record import RecordError

    if not tags and not remove:
        raise click.UsageError("Give a tag, or one to --remove.")
    try:
        entry = store.tag(_found(run).path, tags, remove)
    except RecordError as error:
        raise BadInput(str(error)) from None
    _print_marks(entry, as_json=as_json)


@runs.command()
@click.argument("run", type=RunName())
@click.argument("text")
@_json
def note(run: str, text: str, as_json: bool) -> None:
    """Write TEXT beside RUN; an empty one takes the note away."""
    from kvtui.bench.records import store
    from kvtui.bench.records.record import RecordError

    try:
        entry = store.note(_found(run).path, text)
    except RecordError as error:
        raise BadInput(str(error)) from None
    _print_marks(entry, as_json=as_json)


def _print_marks(entry: Entry, *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": SCHEMA, "runs": [_table(entry)]})
        return
    put(f"{one_line(entry.path.stem, 80)}  {_marks(entry, 500) or tr('no tag, no note')}")


def _marks(entry: Entry, limit: int) -> str:
    """Tags and note on one line, each of at most ``limit`` characters."""
    words = [*(f"#{one_line(tag, limit)}" for tag in entry.tags), one_line(entry.note, limit)]
    return " ".join(words).strip()


@runs.command()
@click.argument("names", nargs=-1, required=True, metavar="RUN…", type=RunName())
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def delete(names: tuple[str, ...], yes: bool) -> None:
    """Delete the files of these runs for good, after asking."""
    from kvtui.bench.records import store
    from kvtui.bench.records.record import RecordError

    paths = list(dict.fromkeys(_found(name).path for name in names))
    if not yes:
        for path in paths:
            put(str(path), err=True)
        if sys.stdin is None or not sys.stdin.isatty():
            raise BadInput("nothing was deleted: say --yes where nobody can be asked.")
        files = "this file" if len(paths) == 1 else f"these {len(paths)} files"
        if not click.confirm(f"Delete {files} for good?", err=True):
            raise BadInput("nothing was deleted.")
    for path in paths:
        try:
            store.delete(path)
        except RecordError as error:
            raise BadInput(str(error)) from None
        put(f"kvtui: deleted {path}", err=True)


def _found(name: str) -> Entry:
    """The run of that name; a file that is there but no run of kvtui's is refused.

    Raises:
        BadInput: There is none, or several.
    """
    from kvtui.bench.records import store
    from kvtui.bench.records.record import RecordError, runs_path

    try:
        entry = store.find(name)
    except RecordError as error:
        raise BadInput(str(error)) from None
    outside = entry.path.parent.resolve() != Path(runs_path()).resolve()
    if entry.broken and outside:
        raise BadInput(f"{entry.path} {entry.broken}.")
    return entry
