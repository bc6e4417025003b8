"""The streamed text: Line API, strips cached, only the tail drawn again, follows the end."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from kvtui.ui.draw.text import gutter, text_row
from kvtui.ui.look.roles import Palette
from kvtui.ui.look.rows import BLANK, Row
from kvtui.ui.stream.history import History, Line
from kvtui.ui.stream.search import Search
from kvtui.ui.widgets.lines import bare_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from textual import events
    from textual.geometry import Offset
    from textual.selection import Selection

    from kvtui.ui.stream.frame import Passage
    from kvtui.ui.stream.tint import Tint


class TextView(ScrollView, can_focus=True):
    """Shows a ``History``; appends are cheap however long it is."""

    class Following(Message):
        """The view began or ceased to follow the end of the text."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.history = History()
        self.search = Search(self.history)
        self.tint: Tint | None = None
        """Late tokens stand out; None: all look the same."""
        self.following = True
        self.streaming = False
        self.placeholder: Sequence[Row] = ()
        """Shown while there is no text."""
        self._strips: LRUCache[int, Strip] = LRUCache(512)
        self._palette: Palette | None = None
        self._moving = False
        self._bar: tuple[int, int, int] | None = None

    # --- content --------------------------------------------------------------------------------

    def write(self, passages: Iterable[Passage]) -> None:
        """Append what came and show it, in one repaint.

        A server whose deltas repeat what came before them replaces the text so far.
        """
        history = self.history
        before, dropped, tail = len(history), history.dropped, history.tail
        for passage in passages:
            if passage.replaces:
                history.clear()
                self._strips.clear()
                before, dropped, tail = 0, 0, None
            history.append(passage.text, passage.kind, passage.marks)
        self._changed(before, dropped, tail)

    def note(self, text: str) -> None:
        """Append one quiet line of our own."""
        before, dropped = len(self.history), self.history.dropped
        self.history.note(text)
        self._changed(before, dropped, None)

    def clear(self) -> None:
        """Forget the text and follow again."""
        self.history.clear()
        self._strips.clear()
        self._resize_content()
        self.follow()
        self.refresh()

    def set_streaming(self, streaming: bool) -> None:
        """Show or hide the cursor at the end."""
        if streaming != self.streaming:
            self.streaming = streaming
            self._refresh_lines(max(0, len(self.history) - 1), max(1, len(self.history)))

    def set_placeholder(self, rows: Sequence[Row]) -> None:
        """What an empty view says."""
        if tuple(rows) != tuple(self.placeholder):
            self.placeholder = tuple(rows)
            if not len(self.history):
                self.refresh()

    def _changed(self, before: int, dropped: int, tail: Line | None) -> None:
        history = self.history
        gone = history.dropped - dropped
        if gone:
            # Line numbers moved; a reader who scrolled up keeps the lines he reads.
            self._strips.clear()
            if not self.following:
                self._move_to(max(0, self.scroll_offset.y - gone))
        self._resize_content()
        if self.following:
            self._move_to(self.max_scroll_y)
        self._show_bar()
        plain = self.tint is None and not self.search.query
        if tail is not None and len(history) == before and not gone and plain:
            # The last line grew: what stood there before (but for a mark that joins it) stays.
            start = max(0, cell_len(gutter(tail) + tail.text) - 2)
            self._refresh_lines(before - 1, before, start)
        elif before:
            self._refresh_lines(max(0, before - 1 - gone), len(history))
        else:  # the placeholder goes
            self.refresh()

    def _resize_content(self) -> None:
        """Tell the scrollbar of the new length.

        The reactive asks for a whole layout, which only a scrollbar that comes or goes needs: its
        column is kept free for it.
        """
        size = Size(self.scrollable_content_region.width, len(self.history))
        if (size.height > self.container_size.height) != self.show_vertical_scrollbar:
            self.virtual_size = size
            self.call_after_refresh(self._place_scrollbar)
            return
        self.set_reactive(TextView.virtual_size, size)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """One that comes with much text at once is placed when it is there, not before."""
        if shown:
            self.call_after_refresh(self._place_scrollbar)

    def _place_scrollbar(self) -> None:
        """A scrollbar that has just come knows nothing of where the text stands."""
        self._bar = None
        self._show_bar()

    def _show_bar(self) -> None:
        """Tell the scrollbar where the text stands, if that is another picture (in eighths)."""
        if not self.show_vertical_scrollbar:
            return
        height, lines, y = self.size.height, len(self.history), self.scroll_y
        thumb = max(1.0, height * height / max(1, lines))
        start = int(8 * (height - thumb) * y / max(1, lines - height))
        shown = (height, start, start + ceil(8 * thumb))
        if shown != self._bar:
            bar, before, self._bar = self.vertical_scrollbar, self._bar, shown
            if before is None or before[0] != height:
                bar.window_virtual_size, bar.position = lines, y
                return
            # The reactives would have all of the bar drawn again, for an edge that moved by a cell.
            bar.set_reactive(ScrollBar.window_virtual_size, lines)
            bar.set_reactive(ScrollBar.position, y)
            for edge in (1, 2):
                first, last = sorted((before[edge] // 8, shown[edge] // 8))
                if before[edge] != shown[edge]:
                    bar.refresh(Region(0, first, bar.size.width, last + 1 - first))

    def _refresh_lines(self, first: int, end: int, start: int = 0) -> None:
        """Repaint the visible ones of the lines from ``first`` up to ``end``, from a cell on."""
        top = max(0, first - self.scroll_offset.y)
        bottom = min(self.size.height, end - self.scroll_offset.y)
        if bottom > top:
            width = self.scrollable_content_region.width
            start = min(start, width - 1)
            self.refresh(Region(start, top, width - start, bottom - top))

    # --- what stands out --------------------------------------------------------------------------

    def set_tint(self, tint: Tint | None) -> None:
        """Let late tokens stand out by these limits, or (None) no more."""
        if tint != self.tint:
            self.tint = tint
            self._redraw_all()

    def find(self, query: str) -> None:
        """Search for this from the top of what is shown on; an empty query ends it."""
        top = self.scroll_offset.y
        self.search.look(query, self.history[top].start if top < len(self.history) else 0)
        self._show_match()

    def find_next(self, direction: int) -> None:
        """Go to the next match (1) or the one before (-1)."""
        self.search.step(direction)
        self._show_match()

    def _show_match(self) -> None:
        place, height = self.search.place, self.size.height
        if place is not None:
            index = self.history.line_at(place)
            if not self.scroll_offset.y <= index < self.scroll_offset.y + height:
                self._move_to(min(max(0, index - height // 3), self.max_scroll_y))
            self._set_following(self.scroll_offset.y >= self.max_scroll_y and not self.streaming)
        self._redraw_all()

    def _redraw_all(self) -> None:
        self._strips.clear()
        self.refresh()

    # --- following ------------------------------------------------------------------------------

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._move_to(self.max_scroll_y)
        self._set_following(True)

    def _move_to(self, y: int) -> None:
        self._moving = True
        try:
            self.scroll_to(y=y, animate=False, immediate=True, force=True)
        finally:
            self._moving = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Whoever scrolls up reads: the view stays put until the end is reached again."""
        if round(old_value) != round(new_value):
            width = self.scrollable_content_region.width
            self.refresh(Region(0, 0, width, self.size.height))  # without the scrollbar's column
        self._show_bar()
        if not self._moving:
            self._set_following(round(new_value) >= self.max_scroll_y)

    def _set_following(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self.post_message(self.Following(following))

    # --- drawing --------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002
        """Another width wraps the history again; the reader's place is kept in proportion."""
        history = self.history
        position = self.scroll_offset.y / max(1, len(history))
        if history.rewrap(self.scrollable_content_region.width - 1):  # apart from the scrollbar
            self._strips.clear()
        if not len(history):
            return
        self._resize_content()
        self._move_to(self.max_scroll_y if self.following else round(position * len(history)))
        self.refresh()

    def on_show(self) -> None:
        """What changed while it was hidden was repainted nowhere."""
        self.refresh()

    def notify_style_update(self) -> None:
        """A new theme needs new strips."""
        super().notify_style_update()
        self._palette = None
        self._strips.clear()

    @property
    def palette(self) -> Palette:
        """The styles of the theme in use."""
        if self._palette is None:
            self._palette = Palette(self.app.theme_variables, self.background_colors[1])
        return self._palette

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines themselves: the style sheet puts nothing around them."""
        width = self.size.width
        return bare_lines(self, crop, self._line_of(width), width)

    def render_line(self, y: int) -> Strip:
        """One visible line."""
        return self._line_of(self.size.width)(y)

    def _line_of(self, width: int) -> Callable[[int], Strip]:
        """What draws a visible line of this width; what all have in common is looked up once."""
        history, strips, selection = self.history, self._strips, self.text_selection
        count, top = len(history), self.scroll_offset.y

        def line_of(y: int) -> Strip:
            index = top + y
            last = index == count - 1
            if not count or index >= count:
                return self._empty_line(y, width)
            if last or selection is not None:
                return self._draw(history[index], index, width, cursor=last and self.streaming)
            strip = strips.get(index)
            if strip is None:
                strip = strips[index] = self._draw(history[index], index, width)
            return strip

        return line_of

    def _empty_line(self, y: int, width: int) -> Strip:
        history = self.history
        if not len(history):
            line = self.placeholder[y] if y < len(self.placeholder) else BLANK
            return self.palette.strip(line, width)
        return Strip.blank(width, self.palette.base)

    def _draw(self, line: Line, index: int, width: int, *, cursor: bool = False) -> Strip:
        tint, history = self.tint, self.history
        tints = (
            []
            if tint is None or line.kind == "note"
            else [(start, end, tint.role(gap)) for start, end, gap in history.gaps(line)]
        )
        matches = []
        if self.search.query:
            before = history[index - 1] if index else None
            after = history[index + 1] if index + 1 < len(history) else None
            matches = self.search.spans(before, line, after)
        parts = text_row(line, tints=tints, matches=matches, cursor=cursor)
        strip = self.palette.strip(parts, width)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(index)) is not None:
            text = gutter(line) + line.text
            start, end = (cell_len(text[:at]) if at >= 0 else width for at in span)
            style = self.screen.get_component_rich_style("screen--selection")
            left, chosen, right = strip.divide([start, max(start, end), width])[:3]
            marked = Strip(Segment.apply_style(chosen, post_style=style), chosen.cell_length)
            strip = Strip.join([left, marked, right])
        return strip.apply_offsets(0, index)

    @property
    def allow_select(self) -> bool:
        """Text can be marked with the mouse and copied."""
        return True

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The marked text as it came: without the breaks and the gutter of this width."""
        history = self.history
        if not len(history):
            return None
        start = history.first if selection.start is None else self._place(selection.start)
        end = history.end if selection.end is None else self._place(selection.end)
        return history.slice(start, end), "\n"

    def _place(self, offset: Offset) -> int:
        """The place in the text of a character on a line."""
        line = self.history[max(0, min(offset.y, len(self.history) - 1))]
        return line.start + max(0, min(offset.x - len(gutter(line)), len(line.text)))

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002
        """Marked lines look different."""
        self._redraw_all()
