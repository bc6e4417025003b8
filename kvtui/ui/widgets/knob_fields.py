"""The settings of an experiment: a field for each knob that its preset takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Horizontal, ItemGrid
from textual.message import Message
from textual.widgets import Input

from kvtui.language import tr
from kvtui.ui.experiments.knobs import KNOBS, Knob
from kvtui.ui.look.rows import Row, clip, left, row
from kvtui.ui.widgets.field_label import FieldLabel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual import events
    from textual.app import ComposeResult

    from kvtui.ui.experiments.form import Asked, Fields

LABEL = 11


class KnobLabel(FieldLabel):
    """A knob's name."""

    def __init__(self, knob: Knob) -> None:
        super().__init__(classes="knob-label")
        self._knob = knob

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """One row."""
        return [row((left(("▲" if self.wrong else "") + tr(self._knob.label), width), self.role))]


class KnobInput(Input):
    """A field that says with … where the default it shows goes on."""

    default = ""

    def show_default(self, text: str) -> None:
        """What an empty field stands for."""
        self.default = text
        self._fit()

    def on_resize(self) -> None:
        """Another width cuts it elsewhere."""
        self._fit()

    def _fit(self) -> None:
        room = self.scrollable_content_region.width - 1  # a cell is the cursor's
        self.placeholder = clip(self.default, room) if room > 0 else self.default


class KnobFields(ItemGrid):
    """All knobs as cells of a grid; those that the preset does not take are not there."""

    class Changed(Message):
        """A key changed a field, or another field has the cursor."""

    def __init__(self) -> None:
        super().__init__(id="knobs", min_column_width=25, regular=False)
        self._labels = {knob.name: KnobLabel(knob) for knob in KNOBS}
        self.inputs = {knob.name: KnobInput(id=f"knob-{knob.name}", compact=True) for knob in KNOBS}
        self._cells = {
            name: Horizontal(self._labels[name], self.inputs[name], classes="knob")
            for name in self.inputs
        }

    def compose(self) -> ComposeResult:
        """A cell for each."""
        yield from self._cells.values()

    @property
    def focused(self) -> Knob | None:
        """The knob whose field has the cursor."""
        return next((knob for knob in KNOBS if self.inputs[knob.name].has_focus), None)

    def texts(self) -> dict[str, str]:
        """The fields as typed."""
        return {name: field.value for name, field in self.inputs.items() if field.value}

    def fill(self, fields: Fields, texts: Mapping[str, str]) -> None:
        """Another preset's fields, with what was typed into them before."""
        taken = {knob.name for knob in fields.knobs}
        with self.prevent(Input.Changed):
            for name, field in self.inputs.items():
                field.value = texts.get(name, "")
                field.cursor_position = len(field.value)
                field.show_default(fields.defaults.get(name, ""))
                self._cells[name].display = name in taken

    def show(self, asked: Asked) -> None:
        """Mark what is wrong."""
        here = self.focused
        for name, label in self._labels.items():
            label.mark(
                wrong=bool(asked.problem(name)), focused=here is not None and here.name == name
            )

    def on_input_changed(self, event: Input.Changed) -> None:
        """Each key asks anew."""
        event.stop()
        self.post_message(self.Changed())

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:  # noqa: ARG002
        """Another hint."""
        self.post_message(self.Changed())

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:  # noqa: ARG002
        """No hint."""
        self.post_message(self.Changed())
