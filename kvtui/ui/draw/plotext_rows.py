"""Between plotext and rows: an empty figure, and its picture in roles of the theme.

plotext keeps one global figure: it is drawn from the UI thread only, one plot after the other. A
value that is not finite would end the process, so whoever draws leaves those out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from kvtui.ui.look.rows import Row, Span


def blank_figure(width: int, height: int) -> Any:
    """The global figure, emptied, with an axis left and below only."""
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.theme("default")
    figure.plot_size(width, height)
    for axis in ("x", "y"):
        figure.axes(False, axis=axis, side=1)
    return figure


def rows_of(figure: Any, tags: Mapping[int, str]) -> list[Row]:
    """The picture; plotext's colour numbers become roles, frame and labels are muted."""
    text = Text.from_ansi(figure.build().string().rstrip("\n"))
    return [_roles(line, tags) for line in text.split("\n")]


def _roles(line: Text, tags: Mapping[int, str]) -> Row:
    spans: list[Span] = []
    plain = line.plain
    roles = ["muted"] * len(plain)
    for start, end, style in line.spans:
        color = getattr(style, "color", None)
        if color is not None and color.number in tags:
            role = tags[color.number]
            for at in range(start, min(end, len(plain))):
                if role == "muted" or roles[at] == "muted":
                    roles[at] = role
    for char, role in zip(plain, roles, strict=True):
        if spans and spans[-1].role == role:
            spans[-1] = Span(spans[-1].text + char, role)
        else:
            spans.append(Span(char, role))
    return tuple(spans)
