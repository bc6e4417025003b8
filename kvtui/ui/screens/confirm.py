"""A question before something that cannot be taken back, or that may cost money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from kvtui.language import tr
from kvtui.text import sanitise

if TYPE_CHECKING:
    from textual.app import ComposeResult


class ConfirmScreen(ModalScreen[bool]):
    """Enter or ``y`` says yes; Esc or ``n`` says no."""

    CSS_PATH = "../dialogs.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("enter,y", "answer(True)", "Yes", show=False),
        Binding("escape,n,q", "answer(False)", "No", show=False),
    ]

    def __init__(self, title: str, text: str, yes: str) -> None:
        """Ask.

        Args:
            title: Of the dialog.
            text: What would happen, in sentences.
            yes: What Enter does, in a word or two.
        """
        super().__init__()
        self._title_text = title
        self._text = sanitise(text)
        self._yes = yes

    def compose(self) -> ComposeResult:
        """The question."""
        with Vertical(id="confirm") as box:
            box.border_title = self._title_text
            box.border_subtitle = tr("⏎ {yes} · esc no", yes=self._yes)
            yield Static(self._text, markup=False)

    def action_answer(self, yes: bool) -> None:
        """Close with the answer."""
        self.dismiss(yes)
