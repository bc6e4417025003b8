"""A long text, whole: the body of a failed answer with everything known about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from kvtui.language import tr

if TYPE_CHECKING:
    from textual.app import ComposeResult


class BodyScreen(ModalScreen[None]):
    """Shows sanitised text; scrolls."""

    CSS_PATH = "../dialogs.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape,o,a,q,F", "app.pop_screen", "Close", show=False),
        Binding("y,Y", "copy", "Copy", show=False),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title_text = title
        self._text = text

    def compose(self) -> ComposeResult:
        """The text."""
        with VerticalScroll(id="body") as box:
            box.border_title = self._title_text
            box.border_subtitle = tr("esc close · y copy · ↑ ↓ scroll")
            yield Static(self._text, markup=False)

    def on_mount(self) -> None:
        """Keys scroll."""
        self.query_one("#body").focus()

    def action_copy(self) -> None:
        """Copy it all."""
        self.app.copy_to_clipboard(self._text)
        self.notify(tr("Copied."), markup=False)
