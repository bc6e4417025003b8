"""The settings screen's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from kvtui.language import later, tr
from kvtui.text import UNKNOWN, one_line
from kvtui.ui.look.rows import BLANK, Row, Span, clip, clip_middle, left, row, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvtui.ui.settings import SettingRow

_HEADS = {"defaults": later("Defaults"), "profiles": later("Profiles"), "cards": later("Cards")}


def list_rows(
    rows: Sequence[SettingRow], marked: int, pending: Mapping[str, Any], width: int
) -> tuple[list[Row], int]:
    """All lines of the list, and which of them is the marked one."""
    names = min(max((cell_len(each.name) for each in rows), default=0), width // 3)
    origins = min(max((cell_len(tr(each.origin)) for each in rows), default=0), 16)
    room = max(8, width - names - origins - 8)
    lines: list[Row] = []
    at = 0
    section = ""
    for index, each in enumerate(rows):
        head = each.key.partition(".")[0]
        if head != section:
            section = head
            lines += [*([BLANK] if lines else []), row((tr(_HEADS[head]), "muted"))]
        if index == marked:
            at = len(lines)
        action = f"screen.mark({index})"
        changed = each.key in pending
        value = each.shown if not changed else _new(pending[each.key])
        lines.append(
            (
                Span("▸ " if index == marked else "  ", "accent", action),
                Span(left(each.name, names), "strong" if index == marked else "text", action),
                Span("  ", "text", action),
                Span(left(value, room), "warn" if changed else _role(each), action),
                Span("  ", "text", action),
                Span(tr("not written") if changed else tr(each.origin), "muted", action),
            )
        )
    return lines, at


def _new(value: Any) -> str:
    return tr("the default") if value is None else one_line(str(value), 200)


def _role(each: SettingRow) -> str:
    return "muted" if each.origin == "default" else "text"


def detail_rows(each: SettingRow, problem: str, width: int) -> list[Row]:
    """What the marked key means, its default, when it takes effect; what is wrong with it."""
    default = each.setting.default
    usual = UNKNOWN if default is None or default == {} else str(default)
    said = tr(each.setting.meaning) or each.setting.name.replace("_", " ")
    first = row((clip(f"{each.key}  ", width), "strong"), (said, "text"))
    if problem:
        return [first, *(row((line, "bad")) for line in wrap(f"▲ {problem}", width)[:2])]
    notes = tr("default {usual} · {when}", usual=usual, when=each.when())
    if not each.editable:
        notes = tr("edited in the file itself")
    return [first, row((notes, "muted"))]


def place_rows(places: Sequence[tuple[str, str]], width: int) -> list[Row]:
    """Where the files are."""
    names = max(len(name) for name, _ in places) + 2
    return [
        row((left(name, names), "muted"), (clip_middle(path, width - names), "text"))
        for name, path in places
    ]
