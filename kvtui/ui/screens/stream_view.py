"""One stream of an experiment, live: its figures and its text, as the main screen shows its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from kvtui.language import tr
from kvtui.ui.state import StreamState
from kvtui.ui.stream.frame import Backlog, passages
from kvtui.ui.widgets.panes import FiguresView
from kvtui.ui.widgets.text_view import TextView

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kvtui.bench.requests.run import Run
    from kvtui.ui.experiments.experiment import Experiment

POINTS = 240
FRAME_S = 0.1


class StreamScreen(ModalScreen[None]):
    """Follows one lane: the request on it now, and the next one when that has ended."""

    CSS_PATH = "../experiments.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape,q,x", "leave", "Close", show=False),
        Binding("left,up", "lane(-1)", "Stream before", show=False),
        Binding("right,down", "lane(1)", "Next stream", show=False),
    ]

    def __init__(self, experiment: Experiment, lane: int) -> None:
        super().__init__()
        self.experiment = experiment
        self.lane = lane
        self.figures = FiguresView(id="figures")
        self.text = TextView(id="text")
        self._run: Run | None = None
        self._backlog = Backlog()

    def compose(self) -> ComposeResult:
        """Figures over the text."""
        with Vertical(id="stream-view") as box:
            box.border_subtitle = tr("esc close · ← → other streams")
            yield self.figures
            yield self.text

    def on_mount(self) -> None:
        """Look at once, and then ten times a second."""
        self.text.focus()
        self.tick()
        self.set_interval(FRAME_S, self.tick)

    def tick(self) -> None:
        """What is new."""
        run = self.experiment.run_on(self.lane)
        if run is not None and run is not self._run and (self._run is None or self._ended):
            self._begin(run)
        if self._run is None:
            self.query_one("#stream-view").border_title = tr(
                "stream {lane}: between requests", lane=self.lane
            )
            return
        self.text.write(self._backlog.take(passages(self._run.drain())))
        snapshot = self._run.snapshot()
        self.text.set_streaming(not self._ended)
        self.figures.state = StreamState(
            snapshot=snapshot,
            series=tuple((sample.tokens, sample.tps) for sample in self._run.samples(POINTS)),
            max_tokens=self._run.request.max_tokens,
            kv_cache=self._run.request.kv_cache is not False,
            failed=snapshot.phase == "failed",
        )

    @property
    def _ended(self) -> bool:
        return self._run is not None and self._run.done.is_set()

    def _begin(self, run: Run) -> None:
        run.follow()
        self._run = run
        self._backlog.clear()
        self.text.clear()
        title = tr("stream {lane} · {level}", lane=self.lane, level=self.experiment.level)
        self.query_one("#stream-view").border_title = title

    def action_lane(self, by: int) -> None:
        """Look at another stream."""
        count = len(self.experiment.lanes.look())
        self.lane = max(1, min(count or 1, self.lane + by))
        self._run = None
        self._backlog.clear()
        self.text.clear()
        self.tick()

    def action_leave(self) -> None:
        """Back to all of them."""
        self.dismiss(None)
