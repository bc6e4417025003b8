"""The planner's fields: labels, inputs, and what is wrong while you type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from kvtui.language import tr
from kvtui.ui.draw.planner_side import note_rows
from kvtui.ui.look.rows import Row, Span, left
from kvtui.ui.planner.form import FIELDS, ROWS, Field, PlannerForm
from kvtui.ui.widgets.field_label import FieldLabel
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from kvtui.ui.planner.answer import PlannerState

FIRST_LABEL = 9


class PlannerLabel(FieldLabel):
    """A field's name; a click opens its list."""

    def __init__(self, field: Field, *, first: bool) -> None:
        super().__init__(id=f"label-{field.name}")
        self._field = field
        self._cells = FIRST_LABEL if first else cell_len(tr(field.label)) + 2
        self.styles.width = self._cells

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """One row."""
        glyph = "▲" if self.wrong and self._cells == FIRST_LABEL else ""
        pad = "" if self._cells == FIRST_LABEL else " "
        text = left(f"{pad}{glyph}{tr(self._field.label)}", self._cells)
        return [(Span(text, self.role, f"screen.choose('{self._field.name}')"),)]


class FieldNote(LinesWidget):
    """What is wrong, or what the focused field means."""

    def __init__(self) -> None:
        super().__init__(id="plan-note")
        self._shown: tuple[PlannerState, str, tuple[str, ...]] | None = None

    def show(self, state: PlannerState, focused: str, matches: tuple[str, ...]) -> None:
        """Draw the note for a state and the field with the cursor."""
        self._shown = (state, focused, matches)
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The rows."""
        if self._shown is None:
            return ()
        state, focused, matches = self._shown
        hint = tr(FIELDS[focused].hint) if focused in FIELDS else ""
        return note_rows(state, focused, hint, matches, width, height)


class PlannerFields(Vertical):
    """All fields; posts the form whenever one of them changes."""

    class Changed(Message):
        """A key changed a field."""

        def __init__(self, form: PlannerForm) -> None:
            super().__init__()
            self.form = form

    class Entered(Message):
        """Another field has the cursor."""

    def __init__(self, form: PlannerForm) -> None:
        super().__init__(id="plan-form")
        self._form = form
        self._labels = {
            field.name: PlannerLabel(field, first=not at)
            for line in ROWS
            for at, field in enumerate(line)
        }
        self.inputs = {
            name: Input(
                getattr(form, name),
                placeholder=tr(field.empty),
                id=f"plan-{name}",
                compact=True,
            )
            for name, field in FIELDS.items()
        }
        self.note = FieldNote()

    def compose(self) -> ComposeResult:
        """A row for each tuple of the table, then the note."""
        for line in ROWS:
            with Horizontal(classes="plan-row"):
                for field in line:
                    yield self._labels[field.name]
                    yield self.inputs[field.name]
        yield self.note

    @property
    def focused_name(self) -> str:
        """The field with the cursor, or none."""
        return next((name for name, field in self.inputs.items() if field.has_focus), "")

    def form(self) -> PlannerForm:
        """The fields as typed."""
        return PlannerForm(**{name: field.value for name, field in self.inputs.items()})

    def fill(self, form: PlannerForm) -> None:
        """Put other texts into the fields; the change is posted once."""
        with self.prevent(Input.Changed):
            for name, field in self.inputs.items():
                field.value = getattr(form, name)
                field.cursor_position = len(field.value)
        self.post_message(self.Changed(form))

    def set(self, name: str, text: str) -> None:
        """Put a text into one field."""
        self.inputs[name].value = text
        self.inputs[name].cursor_position = len(text)

    def show(self, state: PlannerState, matches: tuple[str, ...]) -> None:
        """Mark what is wrong and draw the note."""
        focused = self.focused_name
        for name, label in self._labels.items():
            label.mark(wrong=bool(state.problem(name)), focused=name == focused)
        self.note.show(state, focused, matches)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Each key asks anew."""
        event.stop()
        self.post_message(self.Changed(self.form()))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:  # noqa: ARG002
        """Another hint."""
        self.post_message(self.Entered())
