"""A widget with a picture drawn by plotext, whose import takes longer than any key may wait."""

from __future__ import annotations

from threading import Thread

from kvtui.ui.widgets.lines import LinesWidget


class Plotted(LinesWidget):
    """Draws no picture before plotext has been imported, on a thread; then asks to be drawn."""

    can_plot = False
    """plotext is there. For all such widgets from the first import on."""

    def on_mount(self) -> None:
        """The first picture waits for plotext, the screen does not."""
        if not self.can_plot:
            Thread(target=self._import, name="kvtui-plotext", daemon=True).start()

    def _import(self) -> None:
        import plotext  # noqa: F401

        Plotted.can_plot = True
        self.call_later(self.redraw)  # from another thread too
