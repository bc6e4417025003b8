"""Every key with its meaning, made from the table of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from kvtui.language import later, tr
from kvtui.ui.commands import GROUPS, offered, shown_key
from kvtui.ui.look.rows import Row, left, row, wrap
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.geometry import Size

    from kvtui.ui.commands import Command

KEYS = 12
_FIGURES = later("""\
TTFT is from the last byte of the request to the first token, TPOT the time from token to token after it, tok/s 1 / TPOT, ITL the time from chunk to chunk, TTFA the time to the first token of the answer, after reasoning. F fills in the numbers; the mouse on a figure says what it is.""")  # noqa: E501
_MORE = later("""\
Inside a field only Enter, Esc, Tab and Ctrl keys act.

○ not yet   ◉ now   ● done   ■ stopped   ✕ failed
▓ weights   ▚ overhead   █ KV in use   ░ KV free   · unused by the engine
~ an estimate   — not known   ┊ reasoning, apart from the answer

MHA, GQA, MQA: a key and value head for each query head, for a group of them, for all. GiB are 2^30 bytes.""")  # noqa: E501


class HelpScreen(ModalScreen[None]):
    """The table of commands, in groups."""

    CSS_PATH = "../dialogs.tcss"
    is_help = True
    BINDINGS = [  # noqa: RUF012
        Binding("escape,question_mark,q,f1", "app.pop_screen", "Close", show=False)
    ]

    def __init__(
        self,
        *,
        embedded: bool = True,
        commands: Sequence[Command] | None = None,
        legend: str = _MORE,
    ) -> None:
        """Explain a screen's commands; the main screen's, for this endpoint, if none are named."""
        first = "" if commands is not None else tr(_FIGURES)
        super().__init__()
        self._commands = offered(embedded=embedded) if commands is None else commands
        self._first = first
        self._legend = tr(legend)

    def compose(self) -> ComposeResult:
        """One text, scrolled where it is longer than the screen."""
        with VerticalScroll(id="help") as box:
            box.border_title = tr("Help")
            box.border_subtitle = tr("esc close · ↑ ↓ scroll")
            yield HelpText(self.pairs(), self._legend, self._first)

    def on_mount(self) -> None:
        """Keys scroll."""
        self.query_one("#help").focus()

    def pairs(self) -> list[tuple[str, str]]:
        """The help as pairs: keys (or a group's name), and what they do."""
        pairs: list[tuple[str, str]] = []
        for group in GROUPS:
            commands = [item for item in self._commands if item.group == group]
            if not commands:
                continue
            pairs.append((tr(group), ""))
            for command in commands:
                keys = " ".join(shown_key(key) for key in command.keys)
                pairs.append((f"  {keys}", tr(command.help)))
            pairs.append(("", ""))
        return pairs


class HelpText(LinesWidget):
    """What comes first; two columns, keys and what they do; then the legend."""

    def __init__(self, pairs: list[tuple[str, str]], legend: str, first: str = "") -> None:
        super().__init__()
        self.first = first
        self.pairs = pairs
        self.legend = legend

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """As many rows as the texts take at this width."""
        return len(self.draw(width, 0))

    def draw(self, width: int, height: int) -> list[Row]:  # noqa: ARG002
        """The rows."""
        lines = [row((line, "muted")) for line in wrap(self.first, width)] if self.first else []
        lines += [()] if lines else []
        for keys, text in self.pairs:
            if not text:
                lines.append(row((keys, "strong")))
                continue
            for index, line in enumerate(wrap(text, max(20, width - KEYS))):
                lines.append(row((left("" if index else keys, KEYS), "key"), (line, "text")))
        for paragraph in self.legend.split("\n"):
            lines += [row((line, "muted")) for line in wrap(paragraph, width)]
        return lines
