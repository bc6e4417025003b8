"""The tour's panel: which step, what it shows, the keys."""

from __future__ import annotations

from kvtui.language import tr
from kvtui.ui.look.rows import Row, Span, between, row, wrap

_KEYS = (("⏎", "next", "tour_next"), ("←", "back", "tour_back"), ("esc", "leave", "back"))
_LAST = (("⏎", "end", "tour_next"), ("←", "back", "tour_back"))


def tour_rows(number: int, of: int, title: str, text: str, width: int) -> list[Row]:
    """The head (step, title, keys) and the text."""
    keys: list[Span] = []
    for key, word, action in _KEYS if number < of else _LAST:
        keys += [
            Span(key, "key", f"screen.{action}"),
            Span(f" {tr(word)}  ", "muted", f"screen.{action}"),
        ]
    head = between(
        row((f" {tr('Tour')} {number}/{of} ", "badge-accent"), (f" {tr(title)}", "strong")),
        tuple(keys),
        width,
    )
    return [head, *[row((f" {line}", "text")) for line in wrap(text, max(20, width - 2))]]
