"""Roles to styles: the only place where a pane's meaning becomes a colour of the theme."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.strip import Strip

from kvtui.ui.look.rows import Row

# role -> (theme variables, first known wins; bold; italic; reverse)
_ROLES: dict[str, tuple[tuple[str, ...], bool, bool, bool]] = {
    "text": (("foreground",), False, False, False),
    "strong": (("foreground",), True, False, False),
    "muted": (("kv-muted", "foreground-muted"), False, False, False),
    "faint": (("kv-faint", "foreground-disabled", "foreground-muted"), False, False, False),
    "reasoning": (("kv-reasoning", "kv-muted", "foreground-muted"), False, True, False),
    "accent": (("accent", "primary"), False, False, False),
    "digits": (("accent", "primary"), True, False, False),
    "key": (("accent", "primary"), True, False, False),
    "good": (("success",), False, False, False),
    "warn": (("warning",), False, False, False),
    "bad": (("error",), True, False, False),
    "badge-bad": (("error",), True, False, True),
    "badge-warn": (("warning",), True, False, True),
    "badge-quiet": (("kv-muted", "foreground-muted"), True, False, True),
    "badge-accent": (("accent", "primary"), True, False, True),
    "weights": (("kv-weights", "secondary", "primary"), False, False, False),
    "overhead": (("kv-overhead", "warning"), False, False, False),
    "used": (("kv-used", "accent", "primary"), False, False, False),
    "free": (("kv-free", "foreground-muted"), False, False, False),
    "slow": (("warning",), False, False, False),
    "stall": (("warning",), True, False, True),
    "match": (("accent", "primary"), False, False, False),
    "match-now": (("accent", "primary"), True, False, True),
    "outside": (("kv-outside", "foreground-disabled", "foreground-muted"), False, False, False),
}

_UNDERLINED = frozenset({"slow", "match"})
"""Told apart without colour too."""

ROLE_NAMES = frozenset(_ROLES)


class Palette:
    """The styles of one theme on one background."""

    def __init__(self, variables: Mapping[str, str], background: Color) -> None:
        self._variables = variables
        self._background = background
        self._styles: dict[tuple[str, str], Style] = {}
        self.base = Style(
            color=self._color(("foreground",)).rich_color, bgcolor=background.rich_color
        )

    def style(self, role: str, action: str = "") -> Style:
        """The Rich style of a role; with ``action`` it also runs that action when clicked."""
        found = self._styles.get((role, action))
        if found is None:
            names, bold, italic, reverse = _ROLES.get(role, _ROLES["text"])
            found = self.base + Style(
                color=self._color(names).rich_color,
                bold=bold or None,
                italic=italic or None,
                reverse=reverse or None,
                underline=role in _UNDERLINED or None,
                meta={"@click": action} if action else None,
            )
            self._styles[role, action] = found
        return found

    def strip(self, line: Row, width: int) -> Strip:
        """One row as a strip of exactly ``width`` cells."""
        strip = Strip([Segment(text, self.style(role, action)) for text, role, action in line])
        return strip.adjust_cell_length(width, self.base)

    def _color(self, names: tuple[str, ...]) -> Color:
        if "kv-muted" not in self._variables:
            # Textual's own themes: their text-* colours are made to be read, the bare ones are not.
            names = (*(f"text-{name}" for name in names), *names)
        for name in names:
            value = self._variables.get(name)
            if value is None:
                continue
            try:
                color = Color.parse(value)
            except ColorParseError:
                continue  # "auto 87%" and the like: the next name will do
            return self._background + color
        return self._background.get_contrast_text()
