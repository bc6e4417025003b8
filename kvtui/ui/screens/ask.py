"""A line to type: a tag, a note, a file name. What is wrong is said before it is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kvtui.language import tr
from kvtui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult


class AskScreen(ModalScreen[str | None]):
    """Enter takes the line, Esc leaves everything as it was."""

    CSS_PATH = "../dialogs.tcss"
    BINDINGS = [Binding("escape", "leave", "Leave", show=False)]  # noqa: RUF012

    def __init__(
        self, title: str, hint: str, text: str = "", take: Callable[[str], str] = lambda _: ""
    ) -> None:
        """Ask.

        Args:
            title: Of the dialog.
            hint: One or two sentences under the line.
            text: What stands in it already.
            take: Does what the line asks for, off the screen's thread; a sentence says why it
                cannot, and the dialog stays.
        """
        super().__init__()
        self._title_text = title
        self._hint = sanitise(hint)
        self._take = take
        self._taking = False
        self.field = Input(text, compact=True)
        self.told = Static(self._hint, markup=False)

    def compose(self) -> ComposeResult:
        """The line and its hint."""
        with Vertical(id="ask") as box:
            box.border_title = self._title_text
            box.border_subtitle = tr("⏎ take · esc leave")
            yield self.field
            yield self.told

    def on_mount(self) -> None:
        """Type at once."""
        self.field.focus()
        self.field.cursor_position = len(self.field.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take it, or say what is wrong."""
        event.stop()
        if not self._taking:
            self._taking = True
            self.run_worker(lambda: self._work(event.value), thread=True)

    def _work(self, text: str) -> None:
        self.app.call_from_thread(self._taken, text, self._take(text))

    def _taken(self, text: str, problem: str) -> None:
        self._taking = False
        if problem:
            self.told.update(sanitise(f"▲ {problem}"))
        else:
            self.dismiss(text)

    def action_leave(self) -> None:
        """Nothing is changed; what is under way is waited for."""
        if not self._taking:
            self.dismiss(None)
