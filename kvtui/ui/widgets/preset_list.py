"""The presets, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from kvtui.language import tr
from kvtui.ui.draw.experiments import preset_rows
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.bench.running.presets import Preset
    from kvtui.ui.look.rows import Row


class PresetList(LinesWidget, can_focus=True):
    """Arrows choose, a click too."""

    class Chosen(Message):
        """Another preset is marked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, presets: Sequence[Preset], chosen: str) -> None:
        super().__init__(id="presets")
        self.presets = tuple(presets)
        self.chosen = chosen
        self.border_title = tr("experiments")
        self.styles.height = len(self.presets) + 2

    def move(self, by: int) -> None:
        """Mark another."""
        names = [preset.name for preset in self.presets]
        at = names.index(self.chosen) + by
        self.choose(names[max(0, min(len(names) - 1, at))])

    def choose(self, name: str) -> None:
        """Mark this one."""
        if name != self.chosen:
            self.chosen = name
            self._mark_more()
            self.redraw()
            self.post_message(self.Chosen(name))

    def on_focus(self) -> None:
        """The name is brighter."""
        self.redraw()

    def on_blur(self) -> None:
        """And not so bright."""
        self.redraw()

    def on_resize(self) -> None:
        """More or fewer of them fit."""
        self._mark_more()

    def _first(self, height: int) -> int:
        """The first that is shown."""
        at = next(i for i, preset in enumerate(self.presets) if preset.name == self.chosen)
        return max(0, min(at - height // 2, len(self.presets) - height))

    def _mark_more(self) -> None:
        """The border tells how many there are above and below those that fit."""
        height = self.size.height
        above = self._first(height)
        below = max(0, len(self.presets) - above - height)
        parts = [f"▴ {above}"] * bool(above) + [f"▾ {below}"] * bool(below)
        self.border_subtitle = " ".join(parts) if height else ""

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The lines around the marked one."""
        lines = preset_rows(self.presets, self.chosen, width, focused=self.has_focus)
        first = self._first(height)
        return lines[first : first + height]
