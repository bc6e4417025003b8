"""What an experiment would send: presets, the chosen one's settings, what they come to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.containers import Vertical

from kvtui.bench.running.presets import PRESETS
from kvtui.language import tr
from kvtui.ui.draw.experiments import asked_rows
from kvtui.ui.draw.runs import recent_rows
from kvtui.ui.widgets.bench_panes import RowsText
from kvtui.ui.widgets.knob_fields import KnobFields
from kvtui.ui.widgets.preset_list import PresetList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from kvtui.bench.records.entries import Entry
    from kvtui.ui.experiments.form import Asked
    from kvtui.ui.experiments.knobs import Knob
    from kvtui.ui.experiments.lab import Lab
    from kvtui.ui.look.rows import Row

LEAST_ROWS = 3
"""Of the box that says what is sent, before the layout has given it its own."""


class ExperimentForm(Vertical):
    """Asks the lab anew with each key; the latest runs stand under it."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(id="form-view")
        self._lab = lab
        self.asked: Asked = lab.ask()
        self.recent: tuple[Entry, ...] = ()
        self.presets = PresetList(list(PRESETS.values()), lab.preset)
        self.knobs = KnobFields()
        self.told = RowsText(lambda _: ())
        self.listed = RowsText(lambda _: ())
        self._knobs_box = Vertical(self.knobs, id="knobs-box")
        self._asked_box = Vertical(self.told, id="asked")
        self._recent_box = Vertical(self.listed, id="recent")

    def compose(self) -> ComposeResult:
        """Presets, settings, what they come to, the latest runs."""
        self._knobs_box.border_title = tr("settings")
        self._asked_box.border_title = tr("what Enter sends")
        self._recent_box.border_title = tr("latest runs")
        yield self.presets
        yield self._knobs_box
        yield self._asked_box
        yield self._recent_box

    def fill(self) -> None:
        """Another preset or another endpoint: other fields, other defaults."""
        self.asked = self._lab.ask()
        self.knobs.fill(self.asked.fields, self._lab.texts.get(self._lab.preset, {}))

    def show(self) -> None:
        """Draw what the fields come to."""
        self.knobs.show(self.asked)
        room = max(LEAST_ROWS, self._asked_box.size.height)
        work = self.asked.workload
        where = self._lab.where if work is None else self._lab.places(work)
        self.told.show(partial(_asked_rows, self.asked, self.knobs.focused, where, room))
        self._knobs_box.border_title = tr("settings of {preset}", preset=self._lab.preset)
        self.listed.show(partial(recent_rows, self.recent))

    def show_recent(self, entries: Sequence[Entry]) -> None:
        """The latest runs stand under the form."""
        self.recent = tuple(entries)
        self.show()

    def choose(self, preset: str) -> None:
        """Another preset, and the cursor in the list of them."""
        self.presets.choose(preset)
        self.presets.focus()

    def on_preset_list_chosen(self, message: PresetList.Chosen) -> None:
        """Another preset: its fields."""
        message.stop()
        self._lab.preset = message.name
        self.fill()
        self.show()

    def on_knob_fields_changed(self, message: KnobFields.Changed) -> None:
        """A key was typed: said at once what it comes to."""
        message.stop()
        self._lab.texts[self._lab.preset] = self.knobs.texts()
        self.asked = self._lab.ask()
        self.show()

    def on_resize(self) -> None:
        """Notes have another room."""
        self.call_after_refresh(self.show)


def _asked_rows(
    asked: Asked, knob: Knob | None, where: str, height: int, width: int
) -> Sequence[Row]:
    return asked_rows(asked, knob, where, width, height)
