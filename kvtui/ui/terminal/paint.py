"""Painting no more than what changed and is seen, where the Textual in use can be told to.

What is overridden is private to Textual. Each part asks for what it needs first: under a version
without it the screen is painted as Textual paints it, which costs more and looks the same.
"""

from __future__ import annotations

from typing import Any

from textual.screen import Screen, ScreenResultType

_FRAME = ("_layout_required", "_scroll_required", "_repaint_required", "_compositor")


def paint_cells(screen: Screen[Any]) -> bool:
    """Have the screen's partial updates cost what changed; False where Textual's own stay.

    To be called before the screen's first layout.
    """
    stock = getattr(screen, "_compositor", None)
    try:
        from textual._compositor import Compositor

        from kvtui.ui.terminal.cells import NEEDED, CellsCompositor
    except ImportError:
        return False
    if type(stock) is not Compositor or not all(hasattr(stock, name) for name in NEEDED):
        return False
    screen._compositor = CellsCompositor()
    return True


class PaintedWhereSeen(Screen[ScreenResultType]):
    """A screen that costs no more than what is seen of it while another lies over it.

    Textual paints the screen below anew with each message to it, whole, and the one above with it,
    even where that one hides all of it.
    """

    @property
    def is_current(self) -> bool:
        """Something of it is seen: it is on top, or what is on top lets it shine through."""
        current = super().is_current
        return current and (self.app.screen is self or self.app.screen.styles.background.a < 1)

    def _compositor_refresh(self) -> None:
        # Called by Textual alone: one that knows it no more does not come here.
        super()._compositor_refresh()
        if self.app.screen is not self:
            self._repaint_required = False  # what changed has been handed on

    def paint_now(self) -> None:
        """Paint what has changed at once: a frame need not go the round of every widget first.

        What has to be laid out as well waits for Textual's own update, as does everything under a
        Textual that does not have what is needed here.
        """
        if self.app.screen is not self or not all(hasattr(self, name) for name in _FRAME):
            return
        if self._layout_required or self._scroll_required or self.app._batch_count:
            return
        changed = {each for each in self._compositor.visible_widgets if each._repaint_required}
        for each in changed:
            each._repaint_required = False
        if changed:
            self._compositor.update_widgets(changed)
            self._compositor_refresh()
