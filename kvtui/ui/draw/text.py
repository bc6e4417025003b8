"""One line of the streamed text: its kind, late tokens, matches of a search, the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.ui.look.rows import Row, row
from kvtui.ui.stream.history import GUTTER, Line

CURSOR = "▌"
_ROLE = {"content": "text", "reasoning": "reasoning", "note": "muted"}


def gutter(line: Line) -> str:
    """What stands before the text."""
    return GUTTER if line.kind == "reasoning" else ""


def text_row(
    line: Line,
    *,
    tints: Sequence[tuple[int, int, str]] = (),
    matches: Sequence[tuple[int, int, bool]] = (),
    cursor: bool = False,
) -> Row:
    """The line as a row.

    Args:
        line: What is drawn.
        tints: ``(from, to, role)`` in characters; an empty role leaves the line's own.
        matches: ``(from, to, current)`` in characters; they lie over the tints.
        cursor: Whether more text will come behind it.
    """
    own = _ROLE.get(line.kind, "text")
    roles = [own] * len(line.text) if tints or matches else []
    for start, end, role in tints:
        if role:
            word = line.text[start:end]
            start += len(word) - len(word.lstrip())  # the word stands out, not its spaces
            end = start + len(word.strip())
            roles[start:end] = [role] * (end - start)
    for start, end, current in matches:
        roles[start:end] = ["match-now" if current else "match"] * (min(end, len(roles)) - start)
    parts: list[tuple[str, str]] = [(gutter(line), "faint")]
    if roles:
        start = 0
        for at in range(1, len(roles) + 1):
            if at == len(roles) or roles[at] != roles[start]:
                parts.append((line.text[start:at], roles[start]))
                start = at
    else:
        parts.append((line.text, own))
    return row(*parts, (CURSOR if cursor else "", "accent"))
