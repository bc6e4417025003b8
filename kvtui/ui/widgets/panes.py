"""The three panes, the header and the footer: each shows one frozen state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.reactive import var

from kvtui.ui.commands import footer_commands, shown_key
from kvtui.ui.draw import errors as draw_errors
from kvtui.ui.draw import memory as draw_memory
from kvtui.ui.draw import prompt as draw_prompt
from kvtui.ui.draw import stream as draw_stream
from kvtui.ui.rows import Row, Span, between, clip, row, width_of
from kvtui.ui.state import (
    EndpointView,
    ErrorsState,
    MemoryState,
    PromptForm,
    StreamState,
)
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence


def pane_title(number: int, name: str, right_side: str, width: int) -> Content:
    """``1 Stream ───── kvtui-tiny``: the number and name left, what it shows right.

    Args:
        number: the digit that zooms the pane.
        name: the pane's name.
        right_side: sanitised text for the right corner; may be empty.
        width: cells of the whole widget, border included.
    """
    head = f"{number} {name}"
    room = width - 6 - len(head)
    tail = clip(right_side, max(0, room - 3))
    if not tail or room < 8:
        return Content.assemble((head, "bold"))
    from rich.cells import cell_len

    fill = "─" * (room - cell_len(tail) - 2)
    return Content.assemble(
        (head, "bold"), (f" {fill} ", "$border-blurred"), (tail, "$foreground-muted")
    )


class HeaderBar(LinesWidget):
    """Endpoint, model, key origin, phase: one line."""

    endpoint: var[EndpointView] = var(EndpointView(), init=False)
    phase: var[str] = var("idle", init=False)

    _PHASES = {  # noqa: RUF012
        "idle": ("○", "ready", "muted"),
        "connecting": ("◌", "connecting", "accent"),
        "sending": ("◌", "sending", "accent"),
        "prefill": ("◉", "prefill", "accent"),
        "decode": ("◉", "decode", "accent"),
        "done": ("●", "done", "good"),
        "stopped": ("■", "stopped", "warn"),
        "failed": ("▲", "failed", "bad"),
    }

    def watch_endpoint(self) -> None:
        """Draw the new endpoint."""
        self.redraw()

    def watch_phase(self) -> None:
        """Draw the new phase."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The line."""
        view = self.endpoint
        glyph, word, role = self._PHASES.get(self.phase, ("○", self.phase, "muted"))
        if self.phase == "idle" and not view.ready:
            glyph, word, role = (
                ("▲", "not ready", "warn") if view.problem else ("◌", "starting", "muted")
            )
        wide = width >= 100
        end = row((view.key, "muted"), "  ", (f"{glyph} ", role), (f"{word:<10}", role))
        note = f"  ({view.note})" if wide and view.note else ""
        start = row(
            (" kvtui ", "badge-accent"),
            "  ",
            (view.label, "text"),
            (" ▸ " if view.model else "", "muted"),
            Span(view.model, "strong", "screen.endpoint_model"),
            (note, "muted"),
        )
        return [between(start, end, width, gap=2)]


class FooterBar(LinesWidget):
    """Keys from the table of commands, as many as fit, the last ones always."""

    embedded: var[bool] = var(True, init=False)

    def watch_embedded(self) -> None:
        """Another endpoint offers other keys."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The line."""
        commands = footer_commands(embedded=self.embedded)
        always = [command for command in commands if command.footer >= 20]
        entries = [
            self._entry(command.name, command.keys[0], command.label) for command in commands
        ]
        tail: Row = tuple(
            span
            for command in always
            for span in self._entry(command.name, command.keys[0], command.label)
        )
        room = width - 1 - width_of(tail)
        head: list[Span] = [Span(" ")]
        for command, entry in zip(commands, entries, strict=True):
            size = width_of(entry)
            if command.footer >= 20 or size > room:
                break
            head += entry
            room -= size
        return [(*head, *tail)]

    @staticmethod
    def _entry(name: str, key: str, label: str) -> Row:
        action = f"screen.{name}"
        return row(Span(shown_key(key), "key", action), Span(f" {label}  ", "muted", action))


class TabsBar(LinesWidget):
    """The panes' names where only one of them fits."""

    shown: var[int] = var(1, init=False)

    def watch_shown(self) -> None:
        """Another pane is shown."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The line."""
        spans: list[Span] = []
        for number, name in enumerate(("Stream", "Memory", "Errors"), 1):
            role = "badge-accent" if number == self.shown else "muted"
            spans += [Span(f" {number} {name} ", role, f"screen.zoom({number})"), Span(" ")]
        return [tuple(spans)]


class FiguresView(LinesWidget):
    """The Stream pane above its text."""

    state: var[StreamState] = var(StreamState(), init=False)

    def watch_state(self) -> None:
        """Draw the new state."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """Phase, rate, figures, sparkline."""
        return draw_stream.figures(self.state, width, height)


class PromptBar(LinesWidget):
    """What Enter sends."""

    form: var[PromptForm] = var(PromptForm(), init=False)
    embedded: var[bool] = var(True, init=False)
    paused: var[bool] = var(False, init=False)

    def watch_form(self) -> None:
        """Draw the new form."""
        self.redraw()

    def watch_embedded(self) -> None:
        """The cache switch comes or goes."""
        self.redraw()

    def watch_paused(self) -> None:
        """The text is or is not followed."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """Rule, prompt, parameters."""
        return draw_prompt.prompt_rows(self.form, width, embedded=self.embedded, paused=self.paused)


class MemoryPane(LinesWidget):
    """Pane 2."""

    state: var[MemoryState] = var(MemoryState(), init=False)

    def watch_state(self) -> None:
        """Draw the new state."""
        self._title()
        self.redraw()

    def on_mount(self) -> None:
        """The title is there from the first frame."""
        self._title()

    def _title(self) -> None:
        size = f" {self.state.card_bytes / (1 << 30):,.2f} GiB" if self.state.card_bytes else ""
        wide = self.size.width >= draw_memory.WIDE
        key = (self.state.card + (size if wide else ""), self.outer_size.width)
        if key != getattr(self, "_titled", None):
            self._titled = key
            self.border_title = pane_title(2, "Memory", key[0], key[1])

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """Bars and what fits."""
        self._title()
        return draw_memory.memory_rows(self.state, width, height)


class ErrorsPane(LinesWidget):
    """Pane 3."""

    state: var[ErrorsState] = var(ErrorsState(), init=False)

    def watch_state(self) -> None:
        """Draw the new state."""
        self._title()
        self.redraw()

    def on_mount(self) -> None:
        """The title is there from the first frame."""
        self._title()

    def _title(self) -> None:
        failed = sum(number for name, number in self.state.counts if name != "ok")
        text = f"{failed} of {self.state.requests}" if self.state.requests else ""
        key = (text, self.outer_size.width)
        if key != getattr(self, "_titled", None):
            self._titled = key
            self.border_title = pane_title(3, "Errors", *key)

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The latest failure, hints, history."""
        self._title()
        return draw_errors.errors_rows(self.state, width, height)
