"""Header, footer and tabs: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.reactive import var

from kvtui.language import tr
from kvtui.ui.commands import footer_commands, presenter_commands, shown_key
from kvtui.ui.look.rows import Row, Span, between, left, row, width_of
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.ui.commands import Command
    from kvtui.ui.state import EndpointView


class HeaderBar(LinesWidget):
    """Endpoint, model, key origin, phase: one line."""

    endpoint: var[EndpointView | None] = var(None, init=False)
    phase: var[str] = var("idle", init=False)
    experiment: var[str] = var("", init=False)
    """An experiment that runs meanwhile, in a word or two."""

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

    def watch_experiment(self) -> None:
        """Draw how far it is."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The line."""
        view = self.endpoint
        if view is None:
            return [row((" kvtui ", "badge-accent"), (f"  {tr('starting')}", "muted"))]
        glyph, word, role = self._PHASES.get(self.phase, ("○", self.phase, "muted"))
        resting = self.phase in ("done", "stopped", "failed") and not view.problem
        if not view.ready and (self.phase == "idle" or resting):
            glyph, word, role = (
                ("▲", "not ready", "warn")
                if view.problem
                else ("◌", "run waits", "accent")
                if view.waiting
                else ("◌", "starting", "muted")
            )
        wide = width >= 100
        mark = Span(
            f"◉ {self.experiment}  " if self.experiment else "", "accent", "screen.experiments"
        )
        # Of a recorded run the key that leads back is told: it sends nothing, with no key.
        key = tr("E leaves") if view.mark else tr(view.key)
        end = row(mark, (key, "muted"), "  ", (f"{glyph} ", role), (left(tr(word), 10), role))
        note = f"  ({tr(view.note)})" if wide and view.note else ""
        start = row(
            (" kvtui ", "badge-accent"),
            "  ",
            *([Span(f"{view.mark}  ", "accent", "screen.profile")] if view.mark else []),
            Span(tr(view.label), "text", "screen.profile"),
            (" ▸ " if view.model else "", "muted"),
            Span(view.model, "strong", "screen.endpoint_model"),
            (note, "muted"),
        )
        return [between(start, end, width, gap=2)]


class FooterBar(LinesWidget):
    """Keys from the table of commands, as many as fit, the last ones always."""

    embedded: var[bool] = var(True, init=False)
    presenter: var[bool] = var(False, init=False)
    """An audience needs few keys."""
    typing: var[bool] = var(False, init=False)
    """A field has the cursor: a letter or a sign is typed there, F1 is not."""

    def watch_embedded(self) -> None:
        """Another endpoint offers other keys."""
        self.redraw()

    def watch_presenter(self) -> None:
        """Fewer keys, or all again."""
        self.redraw()

    def watch_typing(self) -> None:
        """Help is another key."""
        self.redraw()

    def commands(self) -> Sequence[Command]:
        """The commands by rank: from 20 on they are there at any width."""
        return footer_commands(embedded=self.embedded)

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The line."""
        if self.presenter:
            quiet = presenter_commands()
            return [
                (
                    Span(" "),
                    *(span for c in quiet for span in self._entry(c.name, c.keys[0], c.label)),
                )
            ]
        commands = self.commands()
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

    def _entry(self, name: str, key: str, label: str) -> Row:
        action = f"screen.{name}"
        if key == "question_mark" and self.typing:
            key = "F1"
        return row(Span(shown_key(key), "key", action), Span(f" {tr(label)}  ", "muted", action))


class TabsBar(LinesWidget):
    """The panes' names where only one of them fits."""

    shown: var[int] = var(1, init=False)

    def watch_shown(self) -> None:
        """Another pane is shown."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The line."""
        spans: list[Span] = []
        for number, name in enumerate(("Stream", "Memory", "Errors"), 1):
            role = "badge-accent" if number == self.shown else "muted"
            spans += [Span(f" {number} {tr(name)} ", role, f"screen.zoom({number})"), Span(" ")]
        return [tuple(spans)]
