"""The finished answer as rendered Markdown. The text is a stranger's: links lead nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.widgets import Markdown, Static

from kvtui.language import tr

if TYPE_CHECKING:
    from textual.app import ComposeResult

LONGEST = 40_000
"""Characters rendered: more would keep the screen from answering for seconds."""
MOST_LINES = 400
MOST_CELLS = 400
"""Of tables, counted by their bars. Each block and each cell is a widget, which costs."""


def renderable(text: str) -> str:
    """As much of a text, from its start, as is rendered without a wait."""
    text = text[:LONGEST]
    for mark, most in (("\n", MOST_LINES), ("|", MOST_CELLS)):
        parts = text.split(mark, most)
        if len(parts) > most:
            text = text[: len(text) - len(parts[-1])]
    return text


class AnswerView(VerticalScroll, can_focus=True):
    """Stands in the place of the text until it is closed."""

    DEFAULT_CSS = """
    AnswerView { height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    AnswerView Markdown { padding: 0; margin: 0; background: transparent; }
    AnswerView MarkdownH1 { content-align: left middle; margin: 0 0 1 0; }
    AnswerView .cut { color: $text-warning; height: auto; }
    """

    def __init__(self, text: str) -> None:
        super().__init__(id="answer")
        self._text = text

    def compose(self) -> ComposeResult:
        """The document, and a word about what was left out."""
        part = renderable(self._text)
        yield Markdown(part, open_links=False)
        if len(part) < len(self._text):
            yield Static(
                tr(
                    "Only the first {shown:,} of {all:,} characters are rendered: "
                    "v shows the text, S saves it all.",
                    shown=len(part),
                    all=len(self._text),
                ),
                classes="cut",
                markup=False,
            )

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        """A link of an answer is not followed."""
        event.stop()
        event.prevent_default()
