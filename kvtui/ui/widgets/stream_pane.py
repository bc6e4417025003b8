"""Pane 1: figures, text, prompt; the editor and the chart take their place when asked for."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from textual.containers import Vertical

from kvtui.language import tr
from kvtui.ui.stream.tint import Tint, legend, tint_of
from kvtui.ui.widgets.lines import LinesWidget
from kvtui.ui.widgets.panes import FiguresView, PromptBar, pane_title
from kvtui.ui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult

    from kvtui.ui.look.rows import Row
    from kvtui.ui.state import EndpointView, PromptForm
    from kvtui.ui.stream.frame import Frame
    from kvtui.ui.widgets.answer_view import AnswerView
    from kvtui.ui.widgets.chart import ChartKind, ChartView
    from kvtui.ui.widgets.editor import PromptEditor
    from kvtui.ui.widgets.search_bar import SearchBar

CHART_ROWS = 11
LEAST_TEXT = 4
"""Rows of text that a chart leaves; where it cannot, it takes the text's place."""


class TintLegend(LinesWidget):
    """What the tints mean."""

    tint: Tint | None = None

    def draw(self, width: int, height: int) -> list[Row]:  # noqa: ARG002
        """The line."""
        return [legend(self.tint, width)]


class StreamPane(Vertical):
    """The tokens as they arrive, and how fast."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.figures = FiguresView(id="figures")
        self.text = TextView(id="text")
        self.prompt = PromptBar(id="prompt")
        self.editor: PromptEditor | None = None
        self.chart: ChartView | None = None
        self.legend = TintLegend(id="legend")
        self.legend.display = False
        self.search: SearchBar | None = None
        self.answer: AnswerView | None = None
        self._chart_refused = False
        self._endpoint: EndpointView | None = None
        self._titled: tuple[str, int] | None = None
        self._phase = "idle"

    def compose(self) -> ComposeResult:
        """Figures, text, prompt."""
        yield self.figures
        yield self.legend
        yield self.text
        yield self.prompt

    def on_mount(self) -> None:
        """Title and empty state are there from the first frame."""
        self._title()
        # Whatever is mounted, grows or is hidden here leaves the chart another room.
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda _: self._share_room())

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002
        """The title's fill and the empty state follow the width."""
        self._title()
        self.text.set_placeholder(self._placeholder())

    def set_endpoint(self, endpoint: EndpointView) -> None:
        """Show which model answers."""
        before, self._endpoint = self._endpoint, endpoint
        if before is not None and before.model != endpoint.model:
            self._phase = "idle"  # what the model before came to says nothing of this one
        self.prompt.embedded = endpoint.embedded
        self._title()
        self.text.set_placeholder(self._placeholder())

    def show_frame(self, frame: Frame) -> None:
        """Show what is new."""
        if frame.began:
            self._begin(frame)
        if frame.passages:
            self.text.write(frame.passages)
            if self.search is not None:
                self.search.text_grew(monotonic())
        self._empty(frame.stream.snapshot.phase)
        self.text.set_streaming(frame.running)
        self.figures.state = frame.stream
        if self.tinted:
            self._take_tint(frame.stream.snapshot.itl_p50_ms)
        if self.chart is not None:
            self.chart.show(frame.stream, final=not frame.running)

    def _empty(self, phase: str) -> None:
        """Another phase says other words while there is no text."""
        if phase != self._phase:
            self._phase = phase
            if not len(self.text.history):
                self.text.set_placeholder(self._placeholder())

    def _begin(self, frame: Frame) -> None:
        if self.answer is not None:
            self.call_next(self.close_answer)
        if frame.began == 1:
            self.text.clear()
            if self.chart is None and self.has_room and not self._chart_refused:
                self.call_next(self.show_chart, "rate")
        else:
            self.text.note(
                tr(
                    "── run {began} of {repeats} ──",
                    began=frame.began,
                    repeats=frame.stream.repeats,
                )
            )

    def retitle(self) -> None:
        """Title and empty state in another language."""
        self._titled = None
        self._title()
        self.text.set_placeholder(self._placeholder())

    def _title(self) -> None:
        view = self._endpoint
        parts = [] if view is None else [view.model or tr(view.label)]
        if view is not None and view.embedded and self.size.width >= 60 and view.model:
            parts.append(tr("embedded"))
        if view is not None and view.mark:
            parts.insert(0, view.mark)
        text = " · ".join(parts)
        key = (text, self.outer_size.width if text else 0)
        if key != self._titled:
            self._titled = key
            self.border_title = pane_title(1, "Stream", *key)

    def _placeholder(self) -> list[Row]:
        if self._endpoint is None:
            return []
        from kvtui.ui.draw.welcome import empty_rows

        width = max(10, self.text.scrollable_content_region.width)
        return empty_rows(self._endpoint, self._phase, width)

    # --- what takes a place when asked for --------------------------------------------------------

    async def open_editor(self, form: PromptForm, earlier: Callable[[], list[str]]) -> None:
        """Edit the prompt in its place; ``earlier`` are the prompts that were sent before."""
        from kvtui.ui.widgets.editor import PromptEditor

        if self.editor is not None:
            self.editor.focus_prompt()
            return
        self.editor = PromptEditor(form, earlier)
        self.prompt.display = False
        await self.mount(self.editor)
        self.editor.focus_prompt()

    async def close_editor(self) -> None:
        """Bring the prompt line back and the focus to the text."""
        if self.editor is not None:
            editor, self.editor = self.editor, None
            self.text.focus()  # first: no further key may reach a field that is going
            editor.display = False
            self.prompt.display = True
            await editor.remove()

    @property
    def has_room(self) -> bool:
        """The chart fits beside a good many lines of text: it is shown unasked."""
        return self.size.height >= 42

    async def next_chart(self) -> ChartKind | None:
        """The rate, then the gaps, then none; returns what is shown now."""
        from kvtui.ui.widgets.chart import KINDS

        kinds = [None, *KINDS]
        shown = None if self.chart is None else self.chart.kind
        following = kinds[(kinds.index(shown) + 1) % len(kinds)]
        await self.show_chart(following)
        return following

    async def show_chart(self, kind: ChartKind | None) -> None:
        """Show this chart between figures and text, or none."""
        from kvtui.ui.widgets.chart import ChartView

        if self.chart is not None:
            chart, self.chart = self.chart, None
            await chart.remove()
        self._chart_refused = kind is None
        if kind is not None:
            self.chart = ChartView(kind, id="chart")
            await self.mount(self.chart, after=self.figures)
            if self.figures.state is not None:
                self.chart.show(self.figures.state, final=True)
        self._share_room()

    def _share_room(self) -> None:
        """The text gives way to the chart where both would be too low to be read."""
        chart = self.chart
        places = (chart, self.text, self.answer)
        taken = sum(w.outer_size.height for w in self.displayed_children if w not in places)
        room = self.size.height - taken
        low = chart is not None and room < CHART_ROWS + LEAST_TEXT
        if chart is not None:
            chart.styles.height = "1fr" if low else CHART_ROWS
        shown = not low and self.answer is None
        if shown != self.text.display:
            self.text.display = shown
            if shown:
                self.text.focus()

    async def uncover_text(self) -> bool:
        """Take away what stands in the text's place; True where that was a chart."""
        await self.close_answer()
        if self.chart is None or self.text.display:
            return False
        await self.show_chart(None)
        return True

    # --- search, tints, rendered answer -----------------------------------------------------------

    async def open_search(self) -> None:
        """Ask for words; those typed before are there again."""
        from kvtui.ui.widgets.search_bar import SearchBar

        if self.search is None:
            self.search = SearchBar(self.text)
            await self.mount(self.search, after=self.text)
        self.search.input.focus()

    async def close_search(self) -> None:
        """No more marks, and the focus in the text."""
        if self.search is not None:
            search, self.search = self.search, None
            self.text.focus()
            self.text.find("")
            await search.remove()

    def find_next(self, direction: int) -> bool:
        """Go to the next match or the one before; False where nothing is searched for."""
        if self.search is None or not self.text.search.query:
            return False
        self.text.find_next(direction)
        self.search.show_counts()
        return True

    @property
    def tinted(self) -> bool:
        """Late tokens stand out."""
        return bool(self.legend.display)

    def toggle_tint(self) -> None:
        """Let late tokens stand out, or not."""
        self.legend.display = not self.legend.display
        state = self.figures.state
        if not self.tinted:
            self.text.set_tint(None)
        elif state is not None:
            self._take_tint(state.snapshot.itl_p50_ms)

    def _take_tint(self, median_ms: float | None) -> None:
        tint = tint_of(median_ms, self.text.tint)
        self.text.set_tint(tint)
        self.legend.tint = tint
        self.legend.redraw()

    async def open_answer(self) -> None:
        """Show the answer as rendered Markdown in the place of the text."""
        from kvtui.ui.widgets.answer_view import AnswerView

        if self.answer is None:
            self.answer = AnswerView(self.text.history.answer())
            self._share_room()
            await self.mount(self.answer, after=self.text)
            self.answer.focus()

    async def close_answer(self) -> None:
        """Bring the text back."""
        if self.answer is not None:
            answer, self.answer = self.answer, None
            await answer.remove()
            self._share_room()
