"""The planner: what fits on which card, asked field by field and answered at every key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Input

from kvtui.language import tr
from kvtui.memory.errors import PlanError
from kvtui.ui.draw.planner_side import whole_text
from kvtui.ui.layout.sizes import HEIGHTS, WIDTHS, take_size
from kvtui.ui.look.rows import left
from kvtui.ui.planner import lists
from kvtui.ui.planner.answer import Planner
from kvtui.ui.planner.curve import Axis, draw_curve, fit_grid
from kvtui.ui.planner.form import ENGINE_NAMES, FIELDS, Known
from kvtui.ui.planner.keys import KEYS
from kvtui.ui.planner.pane import form_of, hand_back, known_of
from kvtui.ui.planner.presets import PRESETS
from kvtui.ui.screens.picker import PickerScreen
from kvtui.ui.widgets.planner_fields import PlannerFields
from kvtui.ui.widgets.planner_panes import AnswerPane, ExamplesPane, GridPane, PlannerBar
from kvtui.ui.widgets.planner_plot import PlotPane
from kvtui.ui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.timer import Timer

    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.picker import Choice

REDRAW_S = 0.3
"""The plot follows the fields at most this often."""


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
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
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

    def __init__(self, view: MemoryView, stop: Callable[[], None]) -> None:
        """Open with the Memory pane's choices; nothing of it changes before `take_over`.

        Args:
            view: Those choices.
            stop: Stops the stream behind.
        """
        super().__init__()
        self._stop = stop
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
        take_size(self)
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
        self.fields.border_title = tr("Question")
        self.fields.inputs["model"].focus()
        self._show()
        self.call_after_refresh(self._draw_plot)

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
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not self._dirty:
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
            tr(FIELDS[name].label), items, lists.current(name, self.state, self.known), typed
        )
        self.app.push_screen(picker, chosen)

    def action_presets(self) -> None:
        """Take one of the worked examples."""
        items = [(str(at), tr(preset.title), preset.figure) for at, preset in enumerate(PRESETS)]

        def chosen(value: str | None) -> None:
            if value is not None:
                self.action_preset(int(value))

        self.app.push_screen(PickerScreen(tr("Worked examples"), items), chosen)

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

        self.app.push_screen(BodyScreen(tr("The whole answer"), whole_text(self.state)))

    def action_copy_flags(self, number: int) -> None:
        """Copy an engine's flags."""
        if number >= len(self.state.flags):
            self._say(tr("There are no flags yet."), "warning")
            return
        item = self.state.flags[number]
        name = ENGINE_NAMES[item.engine]
        if not item.text:
            self._say(f"{name}: {item.reason}", "warning")
            return
        self.app.copy_to_clipboard(item.text)
        note = f" {item.note}" if item.note else ""
        self._say(
            tr("Copied {name}'s flags.{note}", name=name, note=note),
            "information" if item.fits else "warning",
        )

    def action_take_over(self) -> None:
        """Hand the choices to the Memory pane and go back."""
        told = self.state.told
        if told is None or self.state.stale:
            self._say(tr("A field is wrong: nothing was handed over."), "warning")
            return
        try:
            self.dismiss(hand_back(self.view, told))
        except PlanError as error:
            self._say(str(error), "warning")

    def action_stop(self) -> None:
        """Stop the stream behind."""
        self._stop()

    def action_leave(self) -> None:
        """Back."""
        self.dismiss(None)

    def action_help(self) -> None:
        """Every key of this screen."""
        from kvtui.ui.commands import Command
        from kvtui.ui.screens.help import HelpScreen

        commands = [
            Command(name, (key,), label, text, "Memory") for name, key, _, label, text in KEYS
        ]
        self.app.push_screen(HelpScreen(commands=commands))

    def action_palette(self) -> None:
        """Find one of these by typing."""
        items = [
            (action, f"{left(tr(label), 12)} {tr(text)}", shown)
            for action, _, shown, label, text in KEYS
            if action != "palette"
        ]

        async def chosen(value: str | None) -> None:
            if value is not None:
                await self.app.run_action(f"screen.{value}")

        self.app.push_screen(PickerScreen(tr("planner"), items), chosen)

    def _say(self, sentence: str, severity: Any = "information") -> None:
        self.notify(sentence, severity=severity, markup=False, timeout=6)
