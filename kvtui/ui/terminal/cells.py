"""What goes to the terminal when little changed: the cells that did, and nothing beside them.

Textual's own partial update renders every widget that the box around all changes touches, and each
changed line from the start of its widget. With figures, text and gauges changing in three corners
ten times a second, that box is the whole screen. Here each change is rendered by the one widget
that shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual._compositor import Compositor, CompositorUpdate
from textual.geometry import Region

if TYPE_CHECKING:
    from rich.console import Console
    from textual.strip import Strip
    from textual.widget import Widget

NEEDED = ("_dirty_regions", "_regions_to_spans", "render_partial_update", "visible_widgets")
"""What of Textual's compositor is used here: private, so a later version may have it no more."""


class CellsUpdate(CompositorUpdate):
    """Strips, and the cells where they begin."""

    def __init__(self, strips: list[tuple[int, int, Strip]]) -> None:
        self.strips = strips

    def render_segments(self, console: Console) -> str:
        """The update as the terminal reads it."""
        return "".join(
            f"\x1b[{y + 1};{x + 1}H{strip.render(console)}" for x, y, strip in self.strips
        )


class CellsCompositor(Compositor):
    """Textual's compositor, with partial updates that cost what changed."""

    def render_partial_update(self) -> CompositorUpdate | None:  # type: ignore[override]
        """Render what changed since the last update; None where nothing did."""
        screen = self.size.region
        owned: dict[Widget, list[Region]] = {}
        for dirty in self._dirty_regions:
            self._share_out(dirty.intersection(screen), owned)
        self._dirty_regions.clear()
        strips: list[tuple[int, int, Strip]] = []
        for widget, regions in owned.items():
            place, _ = self.visible_widgets[widget]
            # One cell more at each side shows whether a wide character lies across an edge.
            left = max(place.x, min(region.x for region in regions) - 1)
            right = min(place.right, max(region.right for region in regions) + 1)
            lines = _lines_of(widget, place, regions, left, right)
            for y, start, stop in self._regions_to_spans(regions):
                line = lines[y]
                # A terminal blanks the half of a wide character whose other half is written over.
                if _halved(line, start - left) and self._shows(widget, start - 1, y):
                    start -= 1
                if _halved(line, stop - left) and self._shows(widget, stop, y):
                    stop += 1
                strips.append((start, y, line.crop(start - left, stop - left)))
        return CellsUpdate(strips) if strips else None

    def _shows(self, widget: Widget, x: int, y: int) -> bool:
        """Whether the widget is the one in front in that cell."""
        front = (
            each
            for each, (place, clip) in self.visible_widgets.items()
            if place.contains(x, y) and clip.contains(x, y)
        )
        return next(front, None) is widget

    def _share_out(self, region: Region, owned: dict[Widget, list[Region]]) -> None:
        """Give each part of the region to the widget that is in front there."""
        if not region:
            return
        for widget, (place, clip) in self.visible_widgets.items():  # the front first
            part = place.intersection(clip).intersection(region)
            if part:
                owned.setdefault(widget, []).append(part)
                if part != region:
                    for rest in _around(part, region):
                        self._share_out(rest, owned)
                return


def _lines_of(
    widget: Widget, place: Region, regions: list[Region], left: int, right: int
) -> dict[int, Strip]:
    """The widget's lines in the rows of the regions, and of no rows between them."""
    x, width = left - place.x, right - left
    lines: dict[int, Strip] = {}
    rows = sorted({y for region in regions for y in region.line_range})
    while rows:
        top = rows[0]
        height = next((at for at, y in enumerate(rows) if y != top + at), len(rows))
        drawn = widget.render_lines(Region(x, top - place.y, width, height))
        lines.update(zip(rows, drawn, strict=False))
        rows = rows[height:]
    return lines


def _halved(line: Strip, at: int) -> bool:
    """Whether a border before column ``at`` goes through a wide character."""
    if not 0 < at < line.cell_length:
        return False
    for segment in line:
        size = segment.cell_length
        if at <= size:
            if at == size or segment.text.isascii():
                return False
            before, after = segment.split_cells(at)
            return before.text + after.text != segment.text
        at -= size
    return False


def _around(part: Region, whole: Region) -> tuple[Region, ...]:
    """What is left of ``whole`` above, below, left and right of ``part``."""
    return (
        Region(whole.x, whole.y, whole.width, part.y - whole.y),
        Region(whole.x, part.bottom, whole.width, whole.bottom - part.bottom),
        Region(whole.x, part.y, part.x - whole.x, part.height),
        Region(part.right, part.y, whole.right - part.right, part.height),
    )
