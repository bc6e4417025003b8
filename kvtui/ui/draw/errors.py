"""The Errors pane: what went wrong, what to do, and the facts behind it."""

from __future__ import annotations

import re

from rich.cells import cell_len

from kvtui.language import tr
from kvtui.text import one_line, sanitise
from kvtui.ui.draw.evidence import BADGES, badge_role, facts
from kvtui.ui.draw.sections import more_mark
from kvtui.ui.look.rows import (
    BLANK,
    Row,
    Span,
    between,
    clip,
    clip_middle,
    crop,
    left,
    row,
    width_of,
    wrap,
)
from kvtui.ui.state import ErrorsState, Failure

_MORE = ("3", "screen.zoom(3)")


def errors_rows(state: ErrorsState, width: int, height: int) -> list[Row]:
    """All rows of the pane for this size."""
    latest = state.selected
    footer = _footer(state, width, height)
    if latest is None:
        return _pad(_empty(state, width), footer, width, height, lost=False)
    body: list[Row] = []
    if state.shown:
        place = tr("{shown} of {all}", shown=state.shown + 1, all=len(state.failures))
        body.append(row(("‹ ", "accent"), (tr("an older failure, {place}", place=place), "muted")))
    elif state.last_ok:
        glyph, role, how = (
            ("■ ", "warn", tr("last request was stopped; before it:"))
            if state.last_stopped
            else ("✓ ", "good", tr("last request went well; before it:"))
        )
        body.append(row((glyph, role), (how, "muted")))
    body += _badge(latest, width)
    fixes = _fixes(latest, width)
    # What to do must be seen: a long sentence gives way to the first fixes.
    wait = _wait(state, width)
    most = max(2, height - len(footer) - len(body) - len(wait) - min(len(fixes), 4))
    body += _cut(wrap(sanitise(latest.verdict.message), width), most, width)
    body += [*wait, *fixes]
    hints = [
        line
        for hint in (state.hints if not state.shown else ())
        for line in _hanging(
            "· ", "faint", tr("hint: {text}", text=sanitise(hint.message)), "muted", width
        )
    ]
    if hints:
        body += [BLANK, *hints] if height > 14 else hints
    room = height - len(footer)
    # A wide terminal has room for the facts themselves; a small one says that there is more.
    facts = _facts(latest, width, room - len(body) - 1)
    if facts and len(body) + 2 <= room:
        body += [BLANK, *facts]
    history = _history(state, width)
    if history and len(body) + 2 <= room:
        body += [BLANK, *history]
    return _pad(body, footer, width, height, lost=bool(facts or history))


def _wait(state: ErrorsState, width: int) -> list[Row]:
    """The countdown to the moment that the server named; r need not wait for it."""
    if state.wait_s is None or state.shown:
        return []
    if not state.wait_s:
        return [row(("● ", "good"), (tr("the wait is over: r asks again"), "text"))]
    minutes, seconds = divmod(state.wait_s, 60)
    due = tr("{time} to wait", time=f"{minutes}:{seconds:02}")
    more = row(("  r", "key"), (" " + tr("asks at once"), "muted")) if width >= 34 else BLANK
    return [row(("◷ ", "warn"), (due, "strong"), *more)]


def _cut(lines: list[str], most: int, width: int) -> list[Row]:
    """At most so many lines, the last of them marked where more follow."""
    if len(lines) > most:
        lines = [*lines[: most - 1], clip(lines[most - 1] + " " + lines[most], width)]
    return [row((line, "text")) for line in lines]


def _pad(body: list[Row], footer: list[Row], width: int, height: int, *, lost: bool) -> list[Row]:
    room = max(0, height - len(footer))
    cut = len(body) > room
    body = body[:room]
    body += [BLANK] * (room - len(body))
    lines = [*body, *footer]
    if (cut or (lost and height < 14)) and lines:
        place = -max(1, len(footer))  # beside the counts, which leave it room
        lines[place] = between(lines[place], (more_mark(*_MORE),), width)
    return lines[:height]


def _badge(failure: Failure, width: int) -> list[Row]:
    """Class and subcode, with status, count and time as far as they fit beside them."""
    verdict = failure.verdict
    glyph, word, _, _ = BADGES[verdict.cls]
    status = failure.evidence.status if failure.evidence else None
    parts = [
        "" if status is None else str(status),
        f"×{failure.times}" if failure.times > 1 else "",
        failure.at,
    ]
    start = row(
        (f" {glyph} {word} ", badge_role(verdict)), (" " + one_line(verdict.subcode, 40), "strong")
    )
    for count in (3, 2):
        text = " ".join(part for part in parts[:count] if part)
        if width_of(start) + 1 + len(text) <= width:
            return [between(start, row((text, "muted")), width)]
    if width_of(start) > width:
        name = row((one_line(verdict.subcode, 40), "strong"))
        return [start[:1], between(name, row((text, "muted")), width)]
    return [start, row((text, "muted"))]


def _fixes(failure: Failure, width: int) -> list[Row]:
    rows: list[Row] = []
    for number, fix in enumerate(failure.verdict.fixes, 1):
        rows += _hanging(f"{number} ", "accent", with_key(sanitise(fix)), "text", width)
    return rows


_FLAGS = re.compile(r"--(max-tokens|temperature|prompt|system|model)(?![\w-])(?: \(now [^)]*\))?")


def with_key(fix: str) -> str:
    """The fix with the key behind the first flag that has one, unless the text names it itself."""

    def named(found: re.Match[str]) -> str:
        key = "M" if found[1] == "model" else "e"
        return (
            f"{found[0].removesuffix(')')}; key {key})"
            if "(" in found[0]
            else f"{found[0]} {tr('(key {key})', key=key)}"
        )

    return fix if tr("on the screen") in fix else _FLAGS.sub(named, fix, count=1)


def _hanging(mark: str, mark_role: str, text: str, role: str, width: int) -> list[Row]:
    indent = cell_len(mark)
    lines = wrap(text, width - indent)
    return [
        row((mark if not index else " " * indent, mark_role), (line, role))
        for index, line in enumerate(lines)
    ]


def _facts(failure: Failure, width: int, room: int) -> list[Row]:
    """The evidence, each fact whole where there is room for all of them, else on one line."""
    if failure.evidence is None:
        return []
    pairs = facts(failure.evidence, failure.verdict.code or failure.verdict.type)
    cells = max([8, *(cell_len(tr(name)) + 1 for name, _ in pairs)])
    whole = [
        line
        for name, text in pairs
        for line in _hanging(left(tr(name), cells), "muted", text, "text", width)
    ]
    if len(whole) <= room:
        return whole
    return [
        row(
            (left(tr(name), cells), "muted"),
            ((clip_middle if name == "asked" else clip)(text, width - cells), "text"),
        )
        for name, text in pairs
    ]


def _history(state: ErrorsState, width: int) -> list[Row]:
    """The other failures; while an older one is looked at, all of them."""
    rows: list[Row] = []
    marked = state.shown > 0
    for index, failure in enumerate(state.failures):
        if not index and not marked:
            continue
        mark = ("▸ " if index == state.shown else "  ") if marked else ""
        glyph, word, _, role = BADGES[failure.verdict.cls]
        times = f" ×{failure.times}" if failure.times > 1 else ""
        rows.append(
            between(
                row(
                    (mark, "accent"),
                    (f"{glyph} {word.lower()} ", role),
                    (failure.verdict.subcode, "muted"),
                ),
                row((times + " ", "muted"), (failure.at, "muted")),
                width,
            )
        )
    return rows


# What can be done with a failure, the first ones first where room is short: key, word, action.
_KEYS = (
    ("o", "body", "body"),
    ("r", "again", "run"),
    ("D", "doctor", "doctor"),
    ("u", "curl", "copy_curl"),
    ("Y", "copy", "copy_failure"),
    ("R", "report", "copy_report"),
)
_LOOK = (("[", "older", "older"), ("]", "newer", "newer"))


def _keys(state: ErrorsState, width: int, rows: int) -> list[Row]:
    """The keys as clickable words, in at most so many rows."""
    looks = _LOOK[: 2 if state.shown else 1] if len(state.failures) > 1 else ()
    lines: list[list[Span]] = [[]]
    for key, word, action in (*_KEYS[:2], *looks, *_KEYS[2:]):
        gap = [Span("  ", "muted")] if lines[-1] else []
        entry = [
            Span(key, "key", f"screen.{action}"),
            Span(f" {tr(word)}", "muted", f"screen.{action}"),
        ]
        if width_of((*lines[-1], *gap, *entry)) > width:
            if len(lines) == rows:
                break
            lines.append(entry)
        else:
            lines[-1] += [*gap, *entry]
    return [tuple(line) for line in lines]


def _footer(state: ErrorsState, width: int, height: int) -> list[Row]:
    if not state.counts:
        return []
    lines = [_counts(state, width - cell_len(more_mark(*_MORE).text) - 1, wide=width >= 34)]
    if state.latest is not None and width >= 34:
        lines += _keys(state, width, 2 if height >= 16 else 1)
    return lines


def _counts(state: ErrorsState, room: int, *, wide: bool) -> Row:
    """Requests by class: with words, else with the word of the latest, else glyphs; never cut."""
    latest = state.latest.verdict.cls if state.latest is not None else ""
    names = {name for name, _ in state.counts}
    line: Row = BLANK
    for worded, gap in (
        (names if wide else names - {"ok"}, "  "),
        ({latest}, "  "),
        (set(), "  "),
        (set(), " "),
    ):
        spans: list[Span] = []
        for name, number in state.counts:
            glyph, word, _, role = BADGES[name]
            label = f"{_SHORT.get(name, word.lower())} " if name in worded else ""
            space = " " if gap == "  " else ""
            spans += [Span(glyph + space, role), Span(f"{label}{number}", "muted"), Span(gap)]
        line = tuple(spans[:-1])
        if width_of(line) <= room:
            return line
    return crop(line, room)


_SHORT = {
    "ok": "ok",
    "rate_or_quota": "rate",
    "truncated": "cut",
    "parameter": "param",
    "network": "net",
}


def _empty(state: ErrorsState, width: int) -> list[Row]:
    rows: list[Row] = []
    if state.counts:
        rows.append(row(("✓ ", "good"), (tr("no failure so far"), "text")))
    else:
        rows.append(row((tr("nothing has failed yet"), "text")))
    if state.hints:
        for hint in state.hints:
            rows += _hanging(
                "· ", "faint", tr("hint: {text}", text=sanitise(hint.message)), "muted", width
            )
        return rows
    text = tr("A failed request shows here: what went wrong, what to do first, and the evidence.")
    rows += [row((line, "muted")) for line in wrap(text, width)]
    if state.demo:
        rows += [row((line, "muted")) for line in wrap(tr("M, then demo-auth, shows one."), width)]
    return rows
