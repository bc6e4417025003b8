"""The answer: followed, searched, copied, saved, rendered, its figures explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.language import tr

if TYPE_CHECKING:
    from kvtui.ui.screens.main.dialogs import Dialogs
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.shell import Say
    from kvtui.ui.widgets.panes import MemoryPane
    from kvtui.ui.widgets.stream_pane import StreamPane


class Answer:
    """What can be done with the text and the figures of pane 1."""

    def __init__(
        self, opened: Opened, pane: StreamPane, memory: MemoryPane, dialogs: Dialogs, say: Say
    ) -> None:
        """There is no answer yet.

        Args:
            opened: Holds the conductor, which knows the latest run.
            pane: Shows the answer.
            memory: Its figures have formulas, too.
            dialogs: What is opened over the panes.
            say: Says what is missing.
        """
        self._opened = opened
        self._pane = pane
        self._memory = memory
        self._dialogs = dialogs
        self._say = say

    async def next_chart(self) -> None:
        """The next chart, or none."""
        kind = await self._pane.next_chart()
        conductor = self._opened.conductor
        if conductor is not None:
            conductor.wants_gaps = kind == "gaps"
            state = conductor.look_again()
            self._pane.figures.state = state
            if self._pane.chart is not None:
                self._pane.chart.show(state, final=True)

    def follow(self) -> None:
        """Follow the end of the text."""
        self._pane.text.follow()

    def copy(self) -> None:
        """Copy the answer."""
        text = self._text(tr("There is no answer to copy yet."))
        if text:
            self._dialogs.copy(text)
            self._say(tr("Copied {count:,} characters.", count=len(text)) + self._lost())

    def save(self) -> None:
        """Save the answer in a file."""
        text = self._text(tr("There is no answer to save yet."))
        if text:
            from kvtui.ui.screens.save import SaveScreen

            def saved(said: str | None) -> None:
                if said:
                    self._say(f"{said}.{self._lost()}")

            self._dialogs.open(SaveScreen(text, "answer.md"), saved)

    def _text(self, without: str) -> str:
        text = self._pane.text.history.answer()
        if not text:
            self._say(without)
        return text

    def _lost(self) -> str:
        """A word about what is no longer kept of a very long text."""
        lost = self._pane.text.history.lost
        if not lost:
            return ""
        return " " + tr("The first {count:,} characters are no longer kept.", count=lost)

    async def search(self) -> None:
        """Ask for words and find them."""
        if not len(self._pane.text.history):
            self._say(tr("There is no text to search yet."))
            return
        await self._pane.open_search()
        self._pane.call_after_refresh(self._uncover)  # its bar may be what leaves no room

    def next_match(self) -> None:
        """The next match."""
        self._step(1)

    def previous_match(self) -> None:
        """The match before."""
        self._step(-1)

    def _step(self, direction: int) -> None:
        if self._pane.find_next(direction):
            self._pane.call_after_refresh(self._uncover)
        else:
            self._say(tr("Nothing is searched for: / asks."))

    def tint(self) -> None:
        """Late tokens stand out, or not."""
        self._pane.toggle_tint()
        if self._pane.tinted:
            self._pane.call_after_refresh(self._uncover)

    async def _uncover(self) -> None:
        """What is asked for shows in the text alone: what stands in its place goes."""
        if await self._pane.uncover_text():
            self._say(tr("The chart has made room for the text: t brings it back."))

    async def render(self) -> None:
        """The finished answer as Markdown, or the text again."""
        if self._pane.answer is not None:
            await self._pane.close_answer()
        elif self._opened.running:
            self._say(tr("The answer still streams: v renders it when it is done."))
        elif self._text(tr("There is no answer to render yet.")):
            if self._pane.search is not None:
                await self._pane.close_search()
            await self._pane.open_answer()

    def formulas(self) -> None:
        """Every figure with its formula."""
        conductor = self._opened.conductor
        if conductor is None:
            self._say(tr("One moment: kvtui is still starting."))
            return
        from kvtui.ui.draw.formulas import formulas_text

        figures = None if conductor.running else conductor.latest
        text = formulas_text(conductor.look_again(), figures, self._memory.state)
        self._dialogs.text(tr("Formulas"), text)
