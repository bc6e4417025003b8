"""Recorded runs as rows: a short list under the form, the long one of the Runs screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from kvtui.language import counted, later, tr
from kvtui.text import milliseconds, one_line, rate
from kvtui.ui.draw.record import when_of
from kvtui.ui.look.rows import Row, Span, clip, clip_middle, crop, left, right, row, width_of, wrap

if TYPE_CHECKING:
    from kvtui.bench.records.entries import Entry

MOST_RECENT = 12
LEAST_NAME = 12
WIDE = 100
"""Cells from which a row has room for whole names."""


def state_of(entry: Entry) -> tuple[str, str]:
    """Glyph and role."""
    if entry.broken:
        return "▲", "bad"
    if entry.running:
        return "◉", "accent"
    if entry.resumable or entry.cut_short:
        return "■", "warn"
    return "●", "good"


def recent_rows(entries: Sequence[Entry], width: int) -> list[Row]:
    """The latest ones."""
    if not entries:
        return [row((tr("the runs recorded here are listed once there are some"), "muted"))]
    cells = name_cells(entries, width)
    return [entry_row(entry, width, cells=cells) for entry in entries[:MOST_RECENT]]


def name_cells(entries: Sequence[Entry], width: int) -> int:
    """Cells of the column of names: where there is room, as many as the longest of them takes."""
    if width < WIDE:
        return LEAST_NAME
    return max([LEAST_NAME, *(cell_len(_name(entry)) for entry in entries)])


def _name(entry: Entry) -> str:
    return one_line(entry.preset or "—", 20)


def entry_row(
    entry: Entry,
    width: int,
    *,
    cells: int = LEAST_NAME,
    lead: str = "",
    cursor: bool = False,
    action: str = "",
) -> Row:
    """When, preset, host, model, medians, tags; what is least is left out where room is short.

    Args:
        entry: the run.
        width: cells of the row.
        cells: of the column of names (`name_cells`).
        lead: before it.
        cursor: whether it is the chosen one.
        action: of a click.
    """
    glyph, role = state_of(entry)
    name_role = "digits" if cursor else "text"
    spans = [
        Span(lead, "accent", action),
        Span(f"{glyph} ", role, action),
        Span(f"{when_of(entry.when)}  ", "muted", action),
        Span(left(_name(entry), cells) + " ", name_role, action),
    ]
    used = width_of(tuple(spans))
    if entry.broken:
        spans.append(Span(clip(one_line(entry.broken, 120), max(0, width - used)), "bad", action))
        return tuple(spans)
    together = entry.peak_tps is not None  # of several streams no one's rate is the run's
    speed = rate(entry.peak_tps if together else entry.decode_tps)
    upto = left(tr("up to") if together else "", max(5, cell_len(tr("up to"))))
    figures = [
        ("TTFT ", right(milliseconds(entry.ttft_ms), 8)),
        ("  TPOT ", right(milliseconds(entry.tpot_ms), 8)),
        (f"  {upto} ", right(speed, 6) + " tok/s"),
    ]
    wide = width - used >= 68
    most = "≤" if together else ""
    shown = figures if wide else [("", right(most + speed, 6) + " tok/s")]
    room = width - used - sum(cell_len(a) + cell_len(b) for a, b in shown) - 1
    tags = " ".join(f"#{tag}" for tag in entry.tags)
    host = tr(entry.endpoint.removesuffix(" engine"))
    place = f"{host} ▸ {entry.model or '—'}"
    fails = f"▲{entry.failed}" if entry.failed else ""
    long, short = _how_far(entry, wide), _how_far(entry, wide=False)
    extras = [
        "  ".join(part for part in parts if part)
        for parts in ((fails, long, tags), (fails, short, tags), (fails, short), (fails,), ())
    ]  # how far it came gives way to where it ran; each is shown whole or not at all
    extra = next((one for one in extras[:2] if cell_len(f"{place} {one}") <= room), "")
    extra = extra or next((one for one in extras if cell_len(one) <= room - 12), "")
    spans.append(Span(left(place, max(0, room - cell_len(extra) - 1)) + " ", name_role, action))
    warns = fails or entry.resumable or entry.cut_short
    spans.append(Span(extra + " ", "warn" if warns else "accent", action))
    for label, figure in shown:
        spans += [Span(label, "muted", action), Span(figure, "strong", action)]
    return tuple(spans)


def _how_far(entry: Entry, wide: bool) -> str:
    """Of a run that is not as others: what it does, what was off, or which key goes on."""
    parts = {"requests": _some(entry.requests), "wanted": entry.wanted or "—"}
    if entry.running:
        return tr("running, {requests} of {wanted}", **parts) if wide else tr("running")
    if entry.resumable:
        return tr("r resumes, {requests} of {wanted}", **parts) if wide else tr("r resumes")
    said = (tr("cache off") if entry.cache_off else "", tr("stopped") if entry.cut_short else "")
    return tr(", ").join(part for part in said if part)


def nothing_rows(filtered: bool, width: int) -> list[Row]:
    """Why the list is empty, and which key changes that."""
    if filtered:
        return [row((tr("no run holds all of these words: esc shows all again"), "warn"))]
    sentences = (
        tr(
            "Runs will be listed here: experiments, and the streams of the main"
            " screen where they are"
            " recorded."
        ),
        tr("x opens the experiments; ⏎ there runs the first one."),
    )
    return [row((line, "muted")) for text in sentences for line in wrap(text, width)]


def detail_rows(entry: Entry | None, width: int) -> list[Row]:
    """What the list has no room for."""
    if entry is None:
        return []
    if entry.broken:
        lines = [row((line, "bad")) for line in wrap(one_line(entry.broken, 300), width)]
        return [*lines, _file_row(entry, width)]
    wanted = (
        counted(entry.wanted, later("{n} request"), later("{n} requests"))
        if entry.wanted
        else tr("— requests")
    )
    some = _some(entry.requests)
    state = f"● {requests_of(entry)}"
    if entry.running:
        state = tr("◉ {requests} of {wanted}: running", requests=some, wanted=wanted)
    elif entry.resumable:
        state = tr("■ {requests} of {wanted}: r goes on with it", requests=some, wanted=wanted)
    failed = tr(", ▲ {failed} failed", failed=entry.failed) if entry.failed else tr(", none failed")
    if entry.cut_short:
        state, failed = tr("■ stopped"), tr(": up to its last token")
    if entry.requests is None:
        failed = tr(", a large file: opened it tells more")
    speed = f"{rate(entry.decode_tps)} tok/s"
    if entry.peak_tps is not None:
        speed = tr(
            "{each} tok/s a stream, up to {all} together",
            each=rate(entry.decode_tps),
            all=rate(entry.peak_tps),
        )
    figures = row((state, state_of(entry)[1]), (failed, "bad" if entry.failed else "muted"))
    for name, figure in (
        ("   TTFT ", milliseconds(entry.ttft_ms)),
        ("  TPOT ", milliseconds(entry.tpot_ms)),
        ("  ", speed),
    ):
        more = row((name, "muted"), (figure, "strong"))
        if width_of(figures) + width_of(more) > width:
            break  # the list has the rate; a figure is shown whole or not at all
        figures = (*figures, *more)
    about = f"❯ {one_line(entry.prompt, 200)}" if entry.prompt else f"kvtui {entry.version or '—'}"
    place = row(
        (f"{entry.kind} ", "muted"),
        (f"{entry.base_url or tr('the embedded engine')} ▸ {entry.model or '—'}", "text"),
        (f"   {about}", "muted"),
    )
    tags = " ".join(f"#{tag}" for tag in entry.tags) or tr("no tags (t)")
    note = one_line(entry.note, 300) or tr("no note (n)")
    marks = row(
        (tags, "accent" if entry.tags else "muted"),
        ("   ", "text"),
        (note, "text" if entry.note else "muted"),
    )
    return [crop(line, width) for line in (figures, place, marks, _file_row(entry, width))]


def requests_of(entry: Entry) -> str:
    """How many ended."""
    if entry.requests is None:
        return tr("— requests")
    return counted(entry.requests, later("{n} request"), later("{n} requests"))


def _some(requests: int | None) -> str:
    return "—" if requests is None else str(requests)


def _file_row(entry: Entry, width: int) -> Row:
    size = f"{entry.size / 1024:,.0f} KiB"
    return row(
        (tr("file "), "muted"),
        (clip_middle(str(entry.path), max(10, width - len(size) - 7)), "text"),
        (f"  {size}", "muted"),
    )
