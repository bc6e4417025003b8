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
            self.redraw()
            self.post_message(self.Chosen(name))

    def on_focus(self) -> None:
        """The name is brighter."""
        self.redraw()

    def on_blur(self) -> None:
        """And not so bright."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The lines around the marked one."""
        lines = preset_rows(self.presets, self.chosen, width, focused=self.has_focus)
        at = next(i for i, preset in enumerate(self.presets) if preset.name == self.chosen)
        first = max(0, min(at - height // 2, len(lines) - height))
        return lines[first : first + height]
