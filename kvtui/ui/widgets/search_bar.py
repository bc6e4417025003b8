"""Where the words to search for are typed, with what was found beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Horizontal
from textual.reactive import var
from textual.widgets import Input, Static

from kvtui.language import tr
from kvtui.ui.look.rows import Row, right, row
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from kvtui.ui.widgets.text_view import TextView

RECOUNT_S = 1.0
"""Between two counts while the text grows."""


class Found(LinesWidget):
    """``3 of 11``, and the keys."""

    counts: var[tuple[str, int, int]] = var(("", 0, 0), init=False)
    """Query, number of the current match, all matches."""

    def watch_counts(self) -> None:
        """Draw the new counts."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The line, right-aligned."""
        query, number, count = self.counts
        said = tr("none") if query else ""
        if count:
            said = tr("{number:,} of {count:,}", number=number, count=count)
        keys = "  n N esc" if width >= 24 else ""
        text = right(said, width - len(keys))
        return [row((text, "text" if count else "warn"), (keys, "muted"))]


class SearchField(Input):
    """Enter leaves it at once: keys that came in the same moment already belong to the text."""

    def __init__(self, text: TextView) -> None:
        super().__init__(placeholder=tr("search the answer"), compact=True)
        self._text = text
        self._left = False

    def on_focus(self) -> None:
        """Keys are this field's again."""
        self._left = False

    async def _on_key(self, event: events.Key) -> None:
        if event.key != "enter" and not self._left:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        if self._left:
            self.app.simulate_key(event.key)
        self._left = True
        self.screen.set_focus(self._text)


class SearchBar(Horizontal):
    """Searches while one types; Enter goes to the text, Esc leaves (the screen's own key)."""

    DEFAULT_CSS = """
    SearchBar { height: 1; }
    SearchBar Input { width: 1fr; background: $panel; }
    SearchBar #search-mark { width: 2; color: $accent; }
    SearchBar Found { width: 26; }
    """

    def __init__(self, text: TextView) -> None:
        super().__init__(id="search")
        self._text = text
        self.input = SearchField(text)
        self.found = Found()
        self._counted = 0.0

    def compose(self) -> ComposeResult:
        """The field and the counts."""
        yield Static("/ ", id="search-mark")
        yield self.input
        yield self.found

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the first match from here on."""
        event.stop()
        self._text.find(event.value)
        self.show_counts()

    def show_counts(self) -> None:
        """Say which match is shown, of how many."""
        search = self._text.search
        self.found.counts = (search.query, search.number, search.count)

    def text_grew(self, now: float) -> None:
        """Count again, once a second at most; ``now`` in seconds."""
        if now - self._counted >= RECOUNT_S and self._text.search.query:
            self._counted = now
            self._text.search.recount()
            self.show_counts()
