"""A list that filters as you type. Enter takes the marked line, Esc leaves everything as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kvtui.ui.rows import BLANK, Row, Span, between, row
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

Choice: TypeAlias = tuple[str, str, str]
"""Value, name, remark."""


class ChoiceList(LinesWidget):
    """The choices that pass the filter, the marked one in view."""

    def __init__(self, choices: Sequence[Choice], current: str) -> None:
        super().__init__(id="choices")
        self.choices = list(choices)
        self.shown = list(choices)
        self.current = current
        self.marked = next(
            (index for index, choice in enumerate(choices) if choice[0] == current), 0
        )

    def filter(self, query: str) -> None:
        """Keep the choices that hold all words of the query."""
        words = query.casefold().split()
        self.shown = [
            choice
            for choice in self.choices
            if all(word in f"{choice[0]} {choice[1]} {choice[2]}".casefold() for word in words)
        ]
        self.marked = 0
        self.redraw()

    def move(self, by: int) -> None:
        """Mark another line."""
        if self.shown:
            self.marked = max(0, min(len(self.shown) - 1, self.marked + by))
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The lines around the marked one."""
        if not self.shown:
            return [row(("nothing of that name: shorten what you typed", "warn"))]
        first = max(0, min(self.marked - height // 2, len(self.shown) - height))
        lines: list[Row] = []
        for index in range(first, min(first + height, len(self.shown))):
            value, name, remark = self.shown[index]
            marked = index == self.marked
            action = f"screen.take({index})"
            start = row(
                Span("▸ " if marked else "  ", "accent", action),
                Span(name, "digits" if marked else "text", action),
                Span(" ●" if value == self.current else "", "good", action),
            )
            lines.append(between(start, row(Span(remark, "muted", action)), width))
        more = len(self.shown) - (first + height)
        if more > 0 and lines:
            lines[-1] = between(BLANK, row((f"{more + 1} more below", "muted")), width)
        return lines


class PickerScreen(ModalScreen[str | None]):
    """Choose one of a list; returns its value, or None."""

    CSS_PATH = "../dialogs.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape", "leave", "Leave", show=False),
        Binding("enter", "take", "Take", show=False, priority=True),
        Binding("up", "move(-1)", "Up", show=False, priority=True),
        Binding("down", "move(1)", "Down", show=False, priority=True),
        Binding("pageup", "move(-8)", "Page up", show=False, priority=True),
        Binding("pagedown", "move(8)", "Page down", show=False, priority=True),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], current: str = "") -> None:
        super().__init__()
        self._title_text = title
        self.list = ChoiceList(choices, current)

    def compose(self) -> ComposeResult:
        """A field and the list."""
        with Vertical(id="picker") as box:
            box.border_title = self._title_text
            box.border_subtitle = "⏎ take · esc leave"
            yield Input(placeholder="type to filter", id="filter", compact=True)
            yield self.list

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(Input).focus()
        box = self.query_one("#picker")
        box.styles.height = min(len(self.list.choices), 18) + 3
        widest = max((len(name) + len(remark) for _, name, remark in self.list.choices), default=0)
        box.styles.width = max(48, min(widest + 12, 92))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter."""
        self.list.filter(event.value)

    def action_move(self, by: int) -> None:
        """Mark another line."""
        self.list.move(by)

    def action_take(self, index: int | None = None) -> None:
        """Take a line."""
        at = self.list.marked if index is None else index
        if at < len(self.list.shown):
            self.dismiss(self.list.shown[at][0])

    def action_leave(self) -> None:
        """Take none."""
        self.dismiss(None)
