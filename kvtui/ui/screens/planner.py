"""The planner: what fits on which card, asked field by field and answered at every key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Input

from kvtui.memory.errors import PlanError
from kvtui.ui.draw.planner import answer_rows, grid_rows, preset_rows, title_of, whole_text
from kvtui.ui.planner import lists
from kvtui.ui.planner.answer import Planner, PlannerState
from kvtui.ui.planner.curve import Axis, draw_curve, fit_grid
from kvtui.ui.planner.form import ENGINE_NAMES, FIELDS, Known
from kvtui.ui.planner.pane import form_of, hand_back, known_of
from kvtui.ui.planner.presets import PRESETS
from kvtui.ui.rows import Row, Span, between, row
from kvtui.ui.screens.main import MainScreen
from kvtui.ui.screens.picker import PickerScreen
from kvtui.ui.widgets.lines import LinesWidget
from kvtui.ui.widgets.planner_fields import PlannerFields
from kvtui.ui.widgets.planner_plot import PlotPane
from kvtui.ui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.timer import Timer

    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.picker import Choice

REDRAW_S = 0.3
"""The plot follows the fields at most this often."""

#: (action, key, as shown, label, help): the planner's own keys, for footer and palette.
KEYS: tuple[tuple[str, str, str, str, str], ...] = (
    ("choose", "enter", "⏎", "list", "The list of the field with the cursor; typing filters it."),
    ("presets", "ctrl+o", "^o", "examples", "Worked examples, taken into the fields."),
    ("axis", "ctrl+t", "^t", "axis", "Plot memory against context, or against users."),
    ("large", "ctrl+g", "^g", "plot", "Make the plot large, or bring the answer back."),
    ("whole", "ctrl+n", "^n", "all", "Everything of the answer, to read and to copy."),
    (
        "copy_flags(0)",
        "ctrl+y",
        "^y",
        "copy flags",
        "Copy the engine's flags (vLLM's for formula).",
    ),
    ("copy_flags(1)", "ctrl+l", "^l", "other flags", "Copy the other engine's flags."),
    ("take_over", "ctrl+r", "^r", "to pane 2", "Give model, card and lengths to the Memory pane."),
    ("stop", "ctrl+s", "^s", "stop", "Stop the stream that runs behind the planner."),
    ("leave", "escape", "esc", "back", "Back to the main screen; the fields are forgotten."),
    ("palette", "ctrl+p", "^p", "more", "Find a command by typing."),
)
_FOOTER = (
    "choose",
    "presets",
    "axis",
    "large",
    "copy_flags(0)",
    "take_over",
    "whole",
    "leave",
    "palette",
)


class PlannerBar(LinesWidget):
    """One line over or under everything."""

    def __init__(self, *, id: str, foot: bool) -> None:
        super().__init__(id=id)
        self._foot = foot

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The line."""
        if not self._foot:
            start = row(
                (" kvtui ", "badge-accent"), "  planner", ("  what fits on the card", "muted")
            )
            return [between(start, row(("GiB are 2^30 bytes ", "muted")), width)]
        spans: list[Span] = [Span(" ")]
        room = width - 1
        tail = [item for item in KEYS if item[0] in _FOOTER[-2:]]
        rest = sum(len(shown) + len(label) + 3 for _, _, shown, label, _ in tail)
        head = [item for item in KEYS if item[0] in _FOOTER[:-2]]
        for action, _, shown, label, _ in (*head, *tail):
            size = len(shown) + len(label) + 3
            last = action in _FOOTER[-2:]
            if not last and size > room - rest:
                continue
            room -= size if not last else 0
            spans += [
                Span(shown, "key", f"screen.{action}"),
                Span(f" {label}  ", "muted", f"screen.{action}"),
            ]
        return [tuple(spans)]


class AnswerPane(LinesWidget):
    """The answer to the fields."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.state: PlannerState | None = None

    def show(self, state: PlannerState) -> None:
        """Draw a state."""
        self.state = state
        self._title()
        self.redraw()

    def on_resize(self) -> None:
        """The title's room follows the width."""
        self._title()

    def _title(self) -> None:
        if self.state is not None:
            self.border_title = title_of(self.state, max(10, self.outer_size.width - 6))

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The rows."""
        return () if self.state is None else answer_rows(self.state, width, height)


class GridPane(LinesWidget):
    """What fits of some contexts and numbers of users."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.state: PlannerState | None = None
        self.fits: tuple[tuple[bool, ...], ...] = ()
        self.border_title = "context × users that fit"

    def show(self, state: PlannerState, fits: tuple[tuple[bool, ...], ...]) -> None:
        """Draw a grid."""
        self.state, self.fits = state, fits
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The rows."""
        return () if self.state is None else grid_rows(self.state, self.fits, width)


class ExamplesPane(LinesWidget):
    """The worked examples."""

    def on_mount(self) -> None:
        """The key that lists them stands in the title."""
        self.border_title = "examples (^o)"

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The rows."""
        return preset_rows(width)


class FieldPicker(PickerScreen):
    """A field's list; what was typed into the field already filters it."""

    def __init__(
        self, title: str, choices: Sequence[Choice], current: str = "", query: str = ""
    ) -> None:
        super().__init__(title, choices, current)
        self._query = query

    def on_mount(self) -> None:
        """Filter by what was typed (the list itself is set up by the class above)."""
        if self._query:
            field = self.query_one(Input)
            field.value = self._query
            field.cursor_position = len(self._query)


class PlannerScreen(Screen[str | None]):
    """Fields left, the answer and its plot right; returns what the Memory pane took, if it did."""

    CSS_PATH = "../planner.tcss"
    HORIZONTAL_BREAKPOINTS = MainScreen.HORIZONTAL_BREAKPOINTS
    VERTICAL_BREAKPOINTS = MainScreen.VERTICAL_BREAKPOINTS
    BINDINGS = [  # noqa: RUF012
        *(
            Binding(key, action, text, show=False, priority=action != "choose")
            for action, key, _, _, text in KEYS
            if action != "choose"  # Enter is the field's own
        ),
        # With priority, so that keys typed at once go to the field that these lead to.
        Binding("down,tab", "app.focus_next", "Next field", show=False, priority=True),
        Binding("up,shift+tab", "app.focus_previous", "Field before", show=False, priority=True),
    ]

    def __init__(self, view: MemoryView) -> None:
        """Open with the Memory pane's choices; nothing of it changes before `take_over`."""
        super().__init__()
        self.view = view
        self.known: Known = known_of(view)
        self.planner = Planner(self.known)
        self.axis: Axis = "context"
        self._dirty = True
        self._timer: Timer | None = None
        self.fields = PlannerFields(form_of(view))
        self.answer = AnswerPane(id="plan-answer")
        self.plot = PlotPane(id="plan-plot")
        self.grid = GridPane(id="plan-grid")
        self.examples = ExamplesPane(id="plan-examples")
        self.state = self.planner.update(self.fields.form())

    def compose(self) -> ComposeResult:
        """Head, fields beside answer and plot, foot."""
        # The classes of this size at once: the first layout is then the last.
        size = self.app.size
        for name in (
            *self._get_breakpoint_classes(size.width, self.HORIZONTAL_BREAKPOINTS),
            *self._get_breakpoint_classes(size.height, self.VERTICAL_BREAKPOINTS),
        ):
            self.add_class(name)
        yield PlannerBar(id="plan-head", foot=False)
        with Horizontal(id="plan-body"):
            with Vertical(id="plan-left"):
                yield self.fields
                yield self.grid
                yield self.examples
            with Vertical(id="plan-right"):
                yield self.answer
                yield self.plot
        yield PlannerBar(id="plan-foot", foot=True)
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        """The cursor is in the first field; the plot comes when its library is there."""
        self.fields.border_title = "Question"
        self.fields.inputs["model"].focus()
        self._show()
        self.run_worker(_import_plotext, thread=True, exit_on_error=False)

    def on_worker_state_changed(self) -> None:
        """The library is there: draw."""
        self._draw_plot()

    # --- the fields -----------------------------------------------------------------------------

    def on_planner_fields_changed(self, message: PlannerFields.Changed) -> None:
        """A key was typed: answer at once, the plot a moment later."""
        if message.form != self.state.form:  # fields say so when they are first shown, too
            self.state = self.planner.update(message.form)
            self._show()

    def on_planner_fields_entered(self) -> None:
        """Another field, another hint."""
        self._show_fields()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in a field opens its list."""
        event.stop()
        self.action_choose()

    def _show_fields(self) -> None:
        name = self.fields.focused_name
        self.fields.show(self.state, lists.matches(name, self.state, self.known))

    def _show(self) -> None:
        self.answer.show(self.state)
        self._show_fields()
        self._dirty = True
        if self._timer is None and self.is_mounted:
            self._timer = self.set_timer(REDRAW_S, self._draw_plot)

    def _draw_plot(self) -> None:
        import sys

        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not self._dirty or "plotext" not in sys.modules:
            return
        self._dirty = False
        told = self.state.told
        if told is not None:
            self.plot.show(draw_curve(told, self.axis))
            self.grid.show(self.state, fit_grid(told))

    # --- commands -------------------------------------------------------------------------------

    def action_choose(self, name: str = "") -> None:
        """Open a field's list."""
        name = name or self.fields.focused_name
        if name not in FIELDS:
            return
        self.fields.inputs[name].focus()
        wrong = self.state.problem(name) and name in ("model", "card")
        typed = getattr(self.state.form, name).strip() if wrong else ""
        items = lists.choices(name, self.state, self.known)
        if typed and not any(typed.casefold() in f"{a} {b}".casefold() for a, b, _ in items):
            typed = ""

        def chosen(value: str | None) -> None:
            if value is not None:
                self.fields.set(name, value)

        picker = FieldPicker(
            FIELDS[name].label, items, lists.current(name, self.state, self.known), typed
        )
        self.app.push_screen(picker, chosen)

    def action_presets(self) -> None:
        """Take one of the worked examples."""
        items = [(str(at), preset.title, preset.figure) for at, preset in enumerate(PRESETS)]

        def chosen(value: str | None) -> None:
            if value is not None:
                self.action_preset(int(value))

        self.app.push_screen(PickerScreen("Worked examples", items), chosen)

    def action_preset(self, number: int) -> None:
        """Put an example into the fields."""
        self.fields.fill(PRESETS[number].form)

    def action_lengths(self, context: int, users: int) -> None:
        """Take a cell of the grid."""
        form = replace(self.fields.form(), context=str(context), users=str(users))
        self.fields.fill(form)

    def action_axis(self) -> None:
        """Context or users along x."""
        self.axis = "users" if self.axis == "context" else "context"
        self._dirty = True
        self._draw_plot()

    def action_large(self) -> None:
        """The plot in place of the answer, or both."""
        self.toggle_class("-large")
        self.plot.set_large(self.has_class("-large"))

    def action_whole(self) -> None:
        """All of the answer as text."""
        from kvtui.ui.screens.body import BodyScreen

        self.app.push_screen(BodyScreen("The whole answer", whole_text(self.state)))

    def action_copy_flags(self, number: int) -> None:
        """Copy an engine's flags."""
        if number >= len(self.state.flags):
            self._say("There are no flags yet.", "warning")
            return
        item = self.state.flags[number]
        name = ENGINE_NAMES[item.engine]
        if not item.text:
            self._say(f"{name}: {item.reason}", "warning")
            return
        self.app.copy_to_clipboard(item.text)
        note = "" if item.fits else " They do not fit: see the answer."
        self._say(f"Copied {name}'s flags.{note}", "information" if item.fits else "warning")

    def action_take_over(self) -> None:
        """Hand the choices to the Memory pane and go back."""
        told = self.state.told
        if told is None or self.state.stale:
            self._say("A field is wrong: nothing was handed over.", "warning")
            return
        try:
            self.dismiss(hand_back(self.view, told))
        except PlanError as error:
            self._say(str(error), "warning")

    def action_stop(self) -> None:
        """Stop the stream behind."""
        stop = getattr(getattr(self.app, "main", None), "action_stop", None)
        if stop is not None:
            stop()

    def action_leave(self) -> None:
        """Back."""
        self.dismiss(None)

    def action_palette(self) -> None:
        """Find one of these by typing."""
        items = [
            (action, f"{label:<12} {text}", shown)
            for action, _, shown, label, text in KEYS
            if action != "palette"
        ]

        async def chosen(value: str | None) -> None:
            if value is not None:
                await self.app.run_action(f"screen.{value}")

        self.app.push_screen(PickerScreen("Planner", items), chosen)

    def _say(self, sentence: str, severity: Any = "information") -> None:
        self.notify(sentence, severity=severity, markup=False, timeout=6)


def _import_plotext() -> None:
    import plotext  # noqa: F401 - half a second, off the UI thread
