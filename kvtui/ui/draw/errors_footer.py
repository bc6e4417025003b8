"""The last rows of the Errors pane: requests counted by class, and the keys for a failure."""

from __future__ import annotations

from rich.cells import cell_len

from kvtui.language import tr
from kvtui.ui.draw.evidence import BADGES
from kvtui.ui.draw.sections import more_mark
from kvtui.ui.look.rows import BLANK, Row, Span, crop, width_of
from kvtui.ui.state import ErrorsState


def more() -> Span:
    """Says that the zoomed pane shows more."""
    return more_mark("3", "screen.zoom(3)")


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


def footer_rows(state: ErrorsState, width: int, height: int) -> list[Row]:
    """How many requests of each class, and what can be done with the latest failure."""
    if not state.counts:
        return []
    lines = [_counts(state, width - cell_len(more().text) - 1, wide=width >= 34)]
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
