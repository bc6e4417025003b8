"""A list that filters as you type. Enter takes the marked line, Esc leaves everything as it was."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kvtui.language import tr
from kvtui.ui.commands import move_bindings
from kvtui.ui.draw.sections import around, with_rest
from kvtui.ui.look.rows import Row, Span, between, row, wrap
from kvtui.ui.matching import LETTERS, match
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
        self.marked = 0
        self.mark(current)
        self.nothing = ""
        """Why nothing fits what was typed; empty: no name is like it."""
        self._typed: dict[str, frozenset[int]] = {}
        """Value -> the characters of its name that were typed."""

    def filter(self, query: str) -> None:
        """Keep the choices that the query fits, the best first; without one keep all."""
        found = [
            (how, choice)
            for choice in self.choices
            if (how := match(query, choice[1], f"{choice[0]} {choice[2]}"))
        ]
        found.sort(key=lambda each: each[0].rank)
        if found and found[0][0].rank < LETTERS:  # scattered letters only where nothing else fits
            found = [each for each in found if each[0].rank < LETTERS]
        self.shown = [choice for _, choice in found]
        self._typed = {choice[0]: how.places for how, choice in found}
        self.mark("" if query.strip() else self.current)
        self.redraw()

    def mark(self, value: str) -> None:
        """Mark the choice of this value, else the first."""
        self.marked = next((at for at, item in enumerate(self.shown) if item[0] == value), 0)

    def move(self, by: int) -> None:
        """Mark another line."""
        if self.shown:
            self.marked = max(0, min(len(self.shown) - 1, self.marked + by))
            self.redraw()

    @property
    def value(self) -> str | None:
        """The marked choice's value."""
        return self.shown[self.marked][0] if self.shown else None

    async def on_mouse_scroll_down(self) -> None:
        """The wheel marks what is below."""
        await self.run_action("screen.move(1)")

    async def on_mouse_scroll_up(self) -> None:
        """The wheel marks what is above."""
        await self.run_action("screen.move(-1)")

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The lines around the marked one."""
        if not self.shown:
            why = self.nothing or tr("nothing of that name: shorten what you typed")
            return [row((line, "warn")) for line in wrap(why, width)]
        here = around(self.marked, len(self.shown), height)
        lines: list[Row] = []
        for index in here:
            value, name, remark = self.shown[index]
            marked = index == self.marked
            action = f"screen.take({index})"
            start = (
                Span("▸ " if marked else "  ", "accent", action),
                *_name(name, self._typed.get(value, frozenset()), marked, action),
                Span(" ●" if value == self.current else "", "good", action),
            )
            lines.append(between(start, row(Span(remark, "muted", action)), width))
        return with_rest(lines, len(self.shown) - here.stop, width)


def _name(name: str, typed: frozenset[int], marked: bool, action: str) -> Row:
    """The name, with what was typed of it set apart."""
    usual = "strong" if marked else "text"
    return tuple(
        Span("".join(name[at] for at in group), "key" if key else usual, action)
        for key, group in groupby(range(len(name)), key=typed.__contains__)
    )


class PickerScreen(ModalScreen[str | None]):
    """Choose one of a list; returns its value, or None."""

    CSS_PATH = "../dialogs.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape", "leave", "Leave", show=False),
        Binding("enter", "take", "Take", show=False, priority=True),
        *move_bindings(page=8, priority=True),
    ]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        current: str = "",
        preview: Callable[[str], object] | None = None,
    ) -> None:
        """Set the list up.

        Args:
            title: stands in the border.
            choices: what there is.
            current: the value in force, marked at first.
            preview: shows the marked choice at once; leaving shows ``current`` again.
        """
        super().__init__(classes="-preview" if preview else None)
        self._title_text = title
        self._preview = preview
        self._seen = current
        self.list = ChoiceList(choices, current)

    def compose(self) -> ComposeResult:
        """A field and the list."""
        with Vertical(id="picker") as box:
            box.border_title = self._title_text
            box.border_subtitle = tr("⏎ take · esc leave")
            yield Input(placeholder=self.placeholder(), id="filter", compact=True)
            yield self.list

    def placeholder(self) -> str:
        """What an empty field says."""
        return tr("type to filter")

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(Input).focus()
        self.fit()

    def fit(self) -> None:
        """As large as the choices need."""
        box = self.query_one("#picker")
        box.styles.height = min(len(self.list.choices), 18) + 3
        widest = max((len(name) + len(remark) for _, name, remark in self.list.choices), default=0)
        box.styles.width = max(48, min(widest + 12, 110))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter."""
        self.filter(event.value)
        self._look()

    def filter(self, typed: str) -> None:
        """Show what fits."""
        self.list.filter(typed)

    def action_move(self, by: int) -> None:
        """Mark another line."""
        self.list.move(by)
        self._look()

    def _look(self) -> None:
        value = self.list.value
        if self._preview is not None and value is not None and value != self._seen:
            self._seen = value
            self._preview(value)

    def action_take(self, index: int | None = None) -> None:
        """Take a line."""
        at = self.list.marked if index is None else index
        if at < len(self.list.shown):
            self.dismiss(self.list.shown[at][0])

    def action_leave(self) -> None:
        """Take none."""
        if self._preview is not None and self._seen != self.list.current:
            self._preview(self.list.current)
        self.dismiss(None)
