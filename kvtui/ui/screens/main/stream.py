"""What the commands on the answer do, as a mixin of the main screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from textual.app import App

    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.widgets.panes import MemoryPane
    from kvtui.ui.widgets.stream_pane import StreamPane


class StreamActions:
    """Actions; each is one command."""

    if TYPE_CHECKING:
        app: App[Any]
        conductor: Conductor | None
        stream: StreamPane
        memory_pane: MemoryPane

        # Of the screen's other half:
        # ruff: noqa: D102
        def say(self, sentence: str, severity: Any = "information") -> None: ...
        def tick(self) -> None: ...

    async def action_chart(self) -> None:
        """The next chart, or none."""
        kind = await self.stream.next_chart()
        if self.conductor is not None:
            self.conductor.wants_gaps = kind == "gaps"
            state = self.conductor.look_again()
            self.stream.figures.state = state
            if self.stream.chart is not None:
                self.stream.chart.show(state, final=True)

    def action_follow(self) -> None:
        """Follow the end of the text."""
        self.stream.text.follow()

    def action_copy_answer(self) -> None:
        """Copy the answer."""
        text = self._answer_text(tr("There is no answer to copy yet."))
        if text:
            self.app.copy_to_clipboard(text)
            self.say(tr("Copied {count:,} characters.", count=len(text)) + self._lost())

    def action_save(self) -> None:
        """Save the answer in a file."""
        text = self._answer_text(tr("There is no answer to save yet."))
        if text:
            from kvtui.ui.screens.save import SaveScreen

            def saved(said: str | None) -> None:
                if said:
                    self.say(f"{said}.{self._lost()}")

            self.app.push_screen(SaveScreen(text, "answer.md"), saved)

    def _answer_text(self, without: str) -> str:
        text = self.stream.text.history.answer()
        if not text:
            self.say(without)
        return text

    def _lost(self) -> str:
        """A word about what is no longer kept of a very long text."""
        lost = self.stream.text.history.lost
        if not lost:
            return ""
        return " " + tr("The first {count:,} characters are no longer kept.", count=lost)

    async def action_search(self) -> None:
        """Ask for words and find them."""
        if self.stream.answer is not None:
            await self.stream.close_answer()
        if not len(self.stream.text.history):
            self.say(tr("There is no text to search yet."))
            return
        await self.stream.open_search()

    def action_next_match(self) -> None:
        """The next match."""
        self._step(1)

    def action_previous_match(self) -> None:
        """The match before."""
        self._step(-1)

    def _step(self, direction: int) -> None:
        if not self.stream.find_next(direction):
            self.say(tr("Nothing is searched for: / asks."))

    def action_tint(self) -> None:
        """Late tokens stand out, or not."""
        self.stream.toggle_tint()

    async def action_rendered(self) -> None:
        """The finished answer as Markdown, or the text again."""
        if self.stream.answer is not None:
            await self.stream.close_answer()
        elif self.conductor is not None and self.conductor.running:
            self.say(tr("The answer still streams: v renders it when it is done."))
        elif self._answer_text(tr("There is no answer to render yet.")):
            if self.stream.search is not None:
                await self.stream.close_search()
            await self.stream.open_answer()

    def action_formulas(self) -> None:
        """Every figure with its formula."""
        if self.conductor is None:
            self.say(tr("One moment: kvtui is still starting."))
            return
        from kvtui.ui.draw.formulas import formulas_text
        from kvtui.ui.screens.body import BodyScreen

        figures = None if self.conductor.running else self.conductor.latest
        text = formulas_text(self.conductor.look_again(), figures, self.memory_pane.state)
        self.app.push_screen(BodyScreen(tr("Formulas"), text))
