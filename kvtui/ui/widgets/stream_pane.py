"""Pane 1: figures, text, prompt; the editor and the chart take their place when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical

from kvtui.ui.widgets.panes import FiguresView, PromptBar, pane_title
from kvtui.ui.widgets.text_view import TextView

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from kvtui.ui.frame import Frame
    from kvtui.ui.rows import Row
    from kvtui.ui.state import EndpointView, PromptForm
    from kvtui.ui.widgets.chart import ChartView
    from kvtui.ui.widgets.editor import PromptEditor


class StreamPane(Vertical):
    """The tokens as they arrive, and how fast."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.figures = FiguresView(id="figures")
        self.text = TextView(id="text")
        self.prompt = PromptBar(id="prompt")
        self.editor: PromptEditor | None = None
        self.chart: ChartView | None = None
        self._chart_refused = False
        self._endpoint: EndpointView | None = None
        self._titled: tuple[str, int] | None = None

    def compose(self) -> ComposeResult:
        """Figures, text, prompt."""
        yield self.figures
        yield self.text
        yield self.prompt

    def on_mount(self) -> None:
        """Title and empty state are there from the first frame."""
        self._title()

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002
        """The title's fill and the empty state follow the width."""
        self._title()
        self.text.set_placeholder(self._placeholder())

    def set_endpoint(self, endpoint: EndpointView) -> None:
        """Show which model answers."""
        self._endpoint = endpoint
        self.prompt.embedded = endpoint.embedded
        self._title()
        self.text.set_placeholder(self._placeholder())

    def show_frame(self, frame: Frame) -> None:
        """Show what is new."""
        if frame.began:
            self._begin(frame)
        if frame.passages:
            self.text.write(frame.passages)
        self.text.set_streaming(frame.running)
        self.figures.state = frame.stream
        if self.chart is not None:
            self.chart.show(frame.stream.series, final=not frame.running)

    def _begin(self, frame: Frame) -> None:
        if frame.began == 1:
            self.text.clear()
            if self.chart is None and self.has_room and not self._chart_refused:
                self.call_next(self._mount_chart)
        else:
            self.text.note(f"── run {frame.began} of {frame.stream.repeats} ──")

    def _title(self) -> None:
        view = self._endpoint
        parts = [] if view is None else [view.model or view.label]
        if view is not None and view.embedded and self.size.width >= 60 and view.model:
            parts.append("embedded")
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
        from kvtui.ui.draw.welcome import welcome_rows

        return welcome_rows(self._endpoint, max(10, self.text.scrollable_content_region.width))

    # --- what takes a place when asked for --------------------------------------------------------

    async def open_editor(self, form: PromptForm) -> None:
        """Edit the prompt in its place."""
        from kvtui.ui.widgets.editor import PromptEditor

        if self.editor is not None:
            self.editor.focus_prompt()
            return
        self.editor = PromptEditor(form)
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

    async def toggle_chart(self) -> None:
        """Show the rate as a chart between figures and text, or take it away."""
        if self.chart is None:
            await self._mount_chart()
            return
        chart, self.chart = self.chart, None
        self._chart_refused = True
        await chart.remove()

    async def _mount_chart(self) -> None:
        from kvtui.ui.widgets.chart import ChartView

        if self.chart is None:
            self.chart = ChartView(id="chart")
            await self.mount(self.chart, after=self.figures)
            if self.figures.state is not None:
                self.chart.show(self.figures.state.series, final=True)
