"""The prompt and its parameters, edited in their place; says what is wrong while you type."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Label, Static, TextArea

from kvtui.language import tr
from kvtui.text import one_line, sanitise
from kvtui.ui.messages import FileWanted, FormSubmitted
from kvtui.ui.prompt.form import FormError, parse_form
from kvtui.ui.terminal.paste import LONGEST
from kvtui.ui.widgets.while_styled import WhileStyled

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult

    from kvtui.ui.prompt.history import Browsing
    from kvtui.ui.state import PromptForm


SHOWN = 4096
"""Characters of a prompt that is too long to edit which the editor shows."""


class PromptArea(WhileStyled, TextArea):
    """Several lines; Enter sends, Ctrl+J breaks the line, Tab goes on to the parameters."""

    BINDINGS = [Binding("ctrl+j", "newline", "New line", show=False)]  # noqa: RUF012

    def action_newline(self) -> None:
        """Break the line."""
        self.insert("\n")

    def action_paste(self) -> None:
        """Take the clipboard's text."""
        self._take(self.app.clipboard)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._take(event.text)

    def _take(self, text: str) -> None:
        """Insert as much as there is room for; say where the rest can come from."""
        if self.read_only:
            return
        room = max(0, LONGEST - len(self.text) + len(self.selected_text))
        taken = sanitise(text[: LONGEST + 1])
        if len(taken) > room:
            self.app.notify(
                tr(
                    "The editor holds {longest:,} characters: the rest was not taken."
                    " --prompt-file sends a longer prompt.",
                    longest=LONGEST,
                ),
                severity="warning",
                markup=False,
                timeout=8,
            )
        self.move_cursor(self.replace(taken[:room], *self.selection).end_location)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.screen.query_one(PromptEditor).submit(run=True)
            return
        if self.read_only and event.is_printable:
            event.stop()  # a letter is no command here, also where it cannot be typed
            return
        await super()._on_key(event)


class Field(WhileStyled, Input):
    """One line."""


class PromptEditor(Vertical):
    """Prompt, system text, most tokens, temperature, repeats. Enter runs, Esc keeps and leaves."""

    DEFAULT_CSS = """
    PromptEditor {
        height: auto;
        .rule { height: 1; color: $border-blurred; overflow: hidden; text-wrap: nowrap; }
        PromptArea {
            height: auto; min-height: 2; max-height: 8; padding: 0 0 0 2; background: $panel;
        }
        .fields { height: 1; }
        Label { width: auto; padding: 0 1 0 2; color: $foreground-muted; }
        Input { background: $panel; width: 1fr; }
        Input:focus { background: $panel; }
        #field-note { height: 1; color: $foreground-muted; padding-left: 2; }
        #field-note.wrong { color: $error; }
    }
    .-h-24 PromptArea { max-height: 4; }
    """

    BINDINGS = [  # noqa: RUF012
        Binding("ctrl+up", "history(1)", "Earlier prompt", show=False),
        Binding("ctrl+down", "history(-1)", "Later prompt", show=False),
        Binding("ctrl+o", "file", "From a file", show=False),
    ]

    def __init__(self, form: PromptForm, earlier: Callable[[], list[str]]) -> None:
        """Show a form.

        Args:
            form: What is edited.
            earlier: The prompts that were sent before, the latest last.
        """
        super().__init__(classes="-no-zoom")  # a double click marks a word here
        self._form = form
        self._earlier = earlier
        self._browsing: Browsing | None = None
        self._browsed = ""
        self._too_long = len(form.prompt) > LONGEST

    def compose(self) -> ComposeResult:
        """The fields."""
        form = self._form
        area = PromptArea(
            sanitise(form.prompt[:SHOWN]) + "…" if self._too_long else form.prompt,
            id="field-prompt",
            tab_behavior="focus",
            compact=True,
            read_only=self._too_long,
        )
        yield Static("─" * 300, classes="rule", markup=False)
        yield area
        with Horizontal(classes="fields"):
            yield Label(tr("system"), markup=False)
            yield Field(form.system, id="field-system", compact=True, placeholder=tr("none"))
        with Horizontal(classes="fields"):
            yield Label(tr("  max ").strip(), markup=False)
            yield Field(_number(form.max_tokens), id="field-max", compact=True, placeholder="auto")
            yield Label(tr("temp"), markup=False)
            yield Field(
                _number(form.temperature),
                id="field-temperature",
                compact=True,
                placeholder="auto",
            )
            yield Label("×", markup=False)
            yield Field(str(form.repeats), id="field-repeats", compact=True)
        yield Static("", id="field-note", markup=False)

    def on_mount(self) -> None:
        """Say the keys; notices make room."""
        self.screen.add_class("-editing")
        self._check()

    def on_unmount(self) -> None:
        """Notices take their place again."""
        self.screen.remove_class("-editing")

    def focus_prompt(self) -> None:
        """Put the cursor behind the prompt."""
        area = self.query_one(PromptArea)
        area.focus()
        area.move_cursor(area.document.end)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in a parameter runs too."""
        event.stop()
        self.submit(run=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what is wrong while it is typed."""
        event.stop()
        self._check()

    # --- prompts from elsewhere -----------------------------------------------------------------

    def action_history(self, back: int) -> None:
        """An earlier prompt, or a later one; the draft is where it ends again."""
        area = self.query_one(PromptArea)
        if self._browsing is None or self._browsed != area.text:
            from kvtui.ui.prompt.history import Browsing

            self._browsing = Browsing(self._earlier(), area.text)
        text = self._browsing.step(back)
        if text is not None:
            self.set_prompt(text)
        elif not len(self._browsing):
            self.app.notify(tr("No other prompt was sent yet."), markup=False)
        self._browsed = area.text
        self._check()

    def action_file(self) -> None:
        """The prompt from a file."""
        self.post_message(FileWanted(self.take_file))

    def take_file(self, path: str | None) -> None:
        """The text of that file as the prompt; None where none was chosen."""
        if path is None:
            return
        from kvtui.ui.prompt.files import read_file

        try:
            self.set_prompt(read_file(Path(path)))
        except ValueError as error:
            self.app.notify(one_line(str(error), 300), severity="warning", markup=False, timeout=8)
        self._check()

    def set_prompt(self, text: str) -> None:
        """Another prompt in the place of this one; undo brings the one before back."""
        area = self.query_one(PromptArea)
        self._too_long = len(text) > LONGEST
        if self._too_long or area.read_only:
            self._form = replace(self._form, prompt=text)
            area.read_only = self._too_long
            area.load_text(sanitise(text[:SHOWN]) + "…" if self._too_long else sanitise(text))
        else:
            area.replace(sanitise(text), (0, 0), area.document.end)
        area.move_cursor(area.document.end)
        area.focus()

    def form(self) -> PromptForm:
        """The form as edited.

        Raises:
            FormError: a field that makes no sense, with its sentence.
        """
        return parse_form(
            self._form,
            prompt=self._form.prompt if self._too_long else self.query_one(PromptArea).text,
            system=self.query_one("#field-system", Input).value,
            max_tokens=self.query_one("#field-max", Input).value,
            temperature=self.query_one("#field-temperature", Input).value,
            repeats=self.query_one("#field-repeats", Input).value,
        )

    def _check(self) -> bool:
        note = self.query_one("#field-note", Static)
        try:
            self.form()
        except FormError as error:
            note.update(f"▲ {error}")
            note.set_class(True, "wrong")
            return False
        note.update(self._said())
        note.set_class(False, "wrong")
        return True

    def _said(self) -> str:
        """The keys, as many as there is room for, or what the prompt is."""
        if self._too_long:
            size = tr(
                "{prompt:,} characters, sent whole, are too many to edit here",
                prompt=len(self._form.prompt),
            )
            return tr("⏎ run · esc keep · {size}", size=size)
        browsing = self._browsing
        if browsing is not None and browsing.at:
            return tr(
                "⏎ run · {at} of {browsing} earlier prompts · ^↑ ^↓",
                at=browsing.at,
                browsing=len(browsing),
            )
        keys = (
            tr("⏎ run"),
            tr("esc keep"),
            tr("^↑ earlier"),
            tr("^o file"),
            tr("^j new line"),
            tr("tab next"),
            tr("^z undo"),
        )
        room = max(20, self.size.width - 2)
        lines = [" · ".join(keys[:count]) for count in range(len(keys), 0, -1)]
        return next((line for line in lines if cell_len(line) <= room), keys[0])

    def on_resize(self) -> None:
        """As many keys as there is room for."""
        self._check()

    def submit(self, *, run: bool) -> None:
        """Hand the form over; a field that is wrong keeps the editor open, with its sentence."""
        try:
            form = self.form()
        except FormError as error:
            if run:
                self._check()
                self.query_one(f"#{error.field}").focus()
                return
            # Leaving keeps what was right, and says what was not.
            self.post_message(FormSubmitted(error.kept, run=False, problem=str(error)))
            return
        self.post_message(FormSubmitted(form, run=run))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
