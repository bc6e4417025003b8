"""The three panes and the two borders between them, which keys and the mouse move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message

from kvtui.ui.layout.splits import STEP, Place, Room, SizeClass, Splits

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.widget import Widget

_WIDTHS = ("w-80", "w-120", "w-200")
_HEIGHTS = ("h-24", "h-40", "h-50")


class SplitPanes(Horizontal):
    """Stream left; Memory over Errors right.

    The borders are where the style sheet puts them until they are moved; in a zoom and among tabs
    there are none to move.
    """

    class Moved(Message):
        """The user moved a border."""

    class Zoomed(Message):
        """A pane was clicked twice."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, stream: Widget, memory: Widget, errors: Widget) -> None:
        super().__init__(id="panes")
        self.splits = Splits()
        self._stream = stream
        self._memory = memory
        self._errors = errors
        self._side = Vertical(id="side")
        self._placed: tuple[int | None, int | None] = (None, None)
        """What the panes were given; None is what the style sheet says."""
        self._dragged: Literal["", "side", "memory"] = ""
        self._grip = 0
        """Where the border was taken hold of: cells from the far pane's edge."""

    def compose(self) -> ComposeResult:
        """The panes."""
        yield self._stream
        with self._side:
            yield self._memory
            yield self._errors

    # --- where the borders are ------------------------------------------------------------------

    @property
    def size_class(self) -> SizeClass | None:
        """The layout in force; None where panes are not side by side."""
        screen = self.screen
        width = next((name for name in _WIDTHS if screen.has_class(f"-{name}")), None)
        height = next((name for name in _HEIGHTS if screen.has_class(f"-{name}")), None)
        zoomed = any(screen.has_class(f"-zoom-{number}") for number in (1, 2, 3))
        return None if width is None or height is None or zoomed else SizeClass(width, height)

    @property
    def room(self) -> Room:
        """What the panes share; before the first layout the terminal's size has to tell."""
        width, height = self.size
        if not width or not height:
            width, height = self.app.size
            height -= 2  # header and footer
        return Room(width, max(1, height))

    @property
    def now(self) -> Place:
        """Where the borders are, or will be with the next layout."""
        side, memory = self._placed
        return Place(
            self._side.outer_size.width if side is None else side,
            self._memory.outer_size.height if memory is None else memory,
        )

    def place(self) -> None:
        """Give the panes their sizes; the style sheet's where nothing was moved."""
        size = self.size_class
        side, memory = (None, None) if size is None else self.splits.place(size, self.room)
        for widget, rule, cells in (
            (self._side, "width", side),
            (self._memory, "height", memory),
            (self._errors, "height", None if memory is None else "1fr"),
        ):
            setattr(widget.styles, rule, cells)  # None is the style sheet's
        self._placed = side, memory

    def step(self, columns: int, rows: int) -> None:
        """Move the borders by steps: to the right, down."""
        self._move(Place(self.now.side - columns * STEP, self.now.memory + rows))

    def _move(self, wanted: Place) -> None:
        size = self.size_class
        if size is not None and self.splits.move(size, self.room, wanted, self.now):
            self.place()
            self.post_message(self.Moved())

    def reset(self) -> None:
        """The style sheet's places again."""
        self.splits.reset()
        self.place()
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        """Another room, perhaps another size class."""
        self.place()

    # --- the mouse ------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of a border."""
        if event.button != 1 or self.size_class is None:
            return
        edge, below = self._side.region.x, self._errors.region.y
        at_x, at_y = int(event.screen_x), int(event.screen_y)
        if at_x in (edge - 1, edge):
            self._dragged, self._grip = "side", at_x - edge
        elif at_x > edge and at_y in (below - 1, below):
            self._dragged, self._grip = "memory", at_y - below
        else:
            return
        event.stop()
        self.add_class(f"-drag-{self._dragged}")
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The border follows the pointer."""
        if not self._dragged:
            return
        event.stop()
        now = self.now
        if self._dragged == "side":
            self._move(now._replace(side=self.region.right - int(event.screen_x) + self._grip))
        else:
            self._move(now._replace(memory=int(event.screen_y) - self.region.y - self._grip))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go."""
        if self._dragged:
            event.stop()
            self._let_go()

    def on_mouse_release(self, event: events.MouseRelease) -> None:  # noqa: ARG002
        """The mouse was taken away: let go."""
        self._let_go()

    def _let_go(self) -> None:
        if self._dragged:
            self.remove_class(f"-drag-{self._dragged}")
            self._dragged = ""
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        """A click on a pane's title zooms it, as its digit does, and a double click anywhere in it.

        One on a button presses only that.
        """
        on_title = self._on_title(event)
        if event.chain != (1 if on_title else 2) or event.widget is None:
            return
        if "@click" in event.style.meta:
            return
        around = [each for each in event.widget.ancestors_with_self if each is not self]
        if any(each.has_class("-no-zoom") for each in around):
            return
        panes = (self._stream, self._memory, self._errors)
        number = next((n for n, pane in enumerate(panes, 1) if pane in around), 0)
        if number:
            self.screen.clear_selection()  # a double click on text selects all of it
            self.post_message(self.Zoomed(number))

    @staticmethod
    def _on_title(event: events.Click) -> bool:
        """Whether a pane's number or name was clicked, in its border."""
        pane, title = event.widget, None if event.widget is None else event.widget.border_title
        if pane is None or title is None or int(event.screen_y) != pane.region.y:
            return False
        name = Content.from_markup(title).plain.partition(" ─")[0]
        return 0 <= int(event.screen_x) - pane.region.x - 2 <= cell_len(name)
