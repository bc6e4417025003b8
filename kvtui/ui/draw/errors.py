"""The Errors pane: what went wrong, what to do, and the facts behind it."""

from __future__ import annotations

import re

from rich.cells import cell_len

from kvtui.language import tr
from kvtui.text import one_line, sanitise
from kvtui.ui.draw.errors_footer import footer_rows, more
from kvtui.ui.draw.evidence import BADGES, badge_role, facts
from kvtui.ui.draw.sections import TWO_COLUMNS, column_width, two_columns
from kvtui.ui.look.rows import (
    BLANK,
    Row,
    between,
    clip_middle,
    clip_words,
    left,
    row,
    width_of,
    wrap,
)
from kvtui.ui.state import ErrorsState, Failure


def errors_rows(state: ErrorsState, width: int, height: int) -> list[Row]:
    """All rows of the pane for this size."""
    latest = state.selected
    footer = footer_rows(state, width, height)
    if latest is None:
        return _pad(_empty(state, width), footer, width, height, lost=False)
    room = height - len(footer)
    if width >= TWO_COLUMNS:
        return _two_columns(state, latest, width, room) + footer
    body = _what(state, latest, width, room, loose=height > 14)
    # A wide terminal has room for the facts themselves; a small one says that there is more.
    facts = _facts(latest, width, room - len(body) - 1)
    if facts and len(body) + 2 <= room:
        body += [BLANK, *facts]
    history = _history(state, width)
    if history and len(body) + 2 <= room:
        body += [BLANK, *history]
    return _pad(body, footer, width, height, lost=bool(facts or history))


def _two_columns(state: ErrorsState, latest: Failure, width: int, room: int) -> list[Row]:
    """What and what to do at the left, the evidence and the other failures at the right."""
    column = column_width(width)
    what = _what(state, latest, column, room, loose=True)
    facts = _facts(latest, column, room)
    history = _history(state, column)
    gap = [BLANK] if facts and history else []
    return two_columns(what, [*facts, *gap, *history], width, room)


def _what(state: ErrorsState, latest: Failure, width: int, room: int, *, loose: bool) -> list[Row]:
    """Class, sentence, fixes, hints."""
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
    most = max(2, room - len(body) - len(wait) - min(len(fixes), 4))
    body += _cut(wrap(sanitise(latest.verdict.message), width), most, width)
    body += [*wait, *fixes]
    hints = [] if state.shown else _hints(state, width)
    return [*body, *([BLANK] if hints and loose else []), *hints]


def _hints(state: ErrorsState, width: int) -> list[Row]:
    """What stands out and is no failure."""
    return [
        line
        for hint in state.hints
        for line in _hanging(
            "· ", "faint", tr("hint: {text}", text=sanitise(hint.message)), "muted", width
        )
    ]


def _wait(state: ErrorsState, width: int) -> list[Row]:
    """The countdown to the moment that the server named; r need not wait for it."""
    if state.wait_s is None or state.shown:
        return []
    if not state.wait_s:
        return _hanging("● ", "good", tr("the wait is over: r asks again"), "text", width)
    minutes, seconds = divmod(state.wait_s, 60)
    due = tr("{time} to wait", time=f"{minutes}:{seconds:02}")
    more = row(("  r", "key"), (" " + tr("asks at once"), "muted")) if width >= 34 else BLANK
    return [row(("◷ ", "warn"), (due, "strong"), *more)]


def _cut(lines: list[str], most: int, width: int) -> list[Row]:
    """At most so many lines, the last of them marked where more follow."""
    if len(lines) > most:
        lines = [*lines[: most - 1], clip_words(lines[most - 1] + " " + lines[most], width)]
    return [row((line, "text")) for line in lines]


def _pad(body: list[Row], footer: list[Row], width: int, height: int, *, lost: bool) -> list[Row]:
    room = max(0, height - len(footer))
    cut = len(body) > room
    body = body[:room]
    body += [BLANK] * (room - len(body))
    lines = [*body, *footer]
    if (cut or (lost and height < 14)) and lines:
        place = -max(1, len(footer))  # beside the counts, which leave it room
        lines[place] = between(lines[place], (more(),), width)
    return lines[:height]


def _badge(failure: Failure, width: int) -> list[Row]:
    """Class and subcode, with status, count and time as far as they fit beside them."""
    verdict = failure.verdict
    glyph, word, _, _ = BADGES[verdict.cls]
    status = failure.evidence.status if failure.evidence else None
    parts = [
        "" if status in (None, 200) else str(status),  # beside max_tokens 200 reads as its limit
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
    fixes = [with_key(sanitise(fix)) for fix in failure.verdict.fixes]
    if (failure.verdict.cls, failure.verdict.subcode) in _OTHER_KEY:
        fixes.append(tr("Or type another key on the screen: E."))
    for number, fix in enumerate(fixes, 1):
        rows += _hanging(f"{number} ", "accent", fix, "text", width)
    return rows


_OTHER_KEY = frozenset(
    ("auth", subcode)
    for subcode in (
        "key_missing",
        "key_placeholder",
        "key_malformed",
        "invalid_key",
        "key_disabled",
    )
)
"""What another key mends, which can be typed where this is shown."""


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
            ((clip_middle if name == "asked" else clip_words)(text, width - cells), "text"),
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


def _empty(state: ErrorsState, width: int) -> list[Row]:
    rows: list[Row] = []
    if state.counts:
        rows.append(row(("✓ ", "good"), (tr("no failure so far"), "text")))
    else:
        rows.append(row((tr("nothing has failed yet"), "text")))
    if state.hints:
        return rows + _hints(state, width)
    text = tr("A failed request shows here: what went wrong, what to do first, and the evidence.")
    rows += [row((line, "muted")) for line in wrap(text, width)]
    if state.demo:
        rows += [row((line, "muted")) for line in wrap(tr("M, then demo-auth, shows one."), width)]
    return rows
