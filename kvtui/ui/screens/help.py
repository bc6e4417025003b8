"""Every key with its meaning, made from the table of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from kvtui.ui.commands import GROUPS, offered, shown_key

if TYPE_CHECKING:
    from textual.app import ComposeResult

_MORE = """\
Inside a field only Enter, Esc, Tab and Ctrl keys act.

○ not yet   ◉ now   ● done   ■ stopped   ✕ failed
▓ weights   ▚ overhead   █ KV in use   ░ KV free   · outside the budget
~ an estimate   — not known   ┊ reasoning, apart from the answer

All figures are defined once: TTFT from the last byte of the request to the first token; TPOT
between tokens after the first; tok/s = 1 / TPOT. GiB are 2^30 bytes."""


class HelpScreen(ModalScreen[None]):
    """The table of commands, in groups."""

    CSS_PATH = "../dialogs.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape,question_mark,q,f1", "app.pop_screen", "Close", show=False)
    ]

    def __init__(self, *, embedded: bool) -> None:
        super().__init__()
        self._embedded = embedded

    def compose(self) -> ComposeResult:
        """One text, scrolled where it is longer than the screen."""
        with VerticalScroll(id="help") as box:
            box.border_title = "Help"
            box.border_subtitle = "esc close · ↑ ↓ scroll"
            yield Static(self.text(), markup=False)

    def on_mount(self) -> None:
        """Keys scroll."""
        self.query_one("#help").focus()

    def text(self) -> str:
        """The help as plain text."""
        lines: list[str] = []
        for group in GROUPS:
            commands = [item for item in offered(embedded=self._embedded) if item.group == group]
            if not commands:
                continue
            lines.append(group)
            for command in commands:
                keys = " ".join(shown_key(key) for key in command.keys)
                lines.append(f"  {keys:<9} {command.help}")
            lines.append("")
        return "\n".join(lines) + "\n" + _MORE
