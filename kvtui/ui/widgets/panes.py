"""The panes' drawn parts: each shows one frozen state, and nothing before it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import var

from kvtui.language import tr
from kvtui.ui.look.rows import clip
from kvtui.ui.widgets.explained import Explained
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.ui.look.rows import Row
    from kvtui.ui.look.veil import Veil
    from kvtui.ui.state import ErrorsState, MemoryState, PromptForm, StreamState


def pane_title(number: int, name: str, right_side: str, width: int) -> Content:
    """``1 Stream ───── kvtui-tiny``: the number and name left, what it shows right.

    Args:
        number: the digit that zooms the pane.
        name: the pane's name.
        right_side: sanitised text for the right corner; may be empty.
        width: cells of the whole widget, border included.
    """
    head = f"{number} {tr(name)}"
    room = width - 6 - cell_len(head)
    tail = clip(right_side, max(0, room - 3))
    if not tail or room < 8:
        return Content.assemble((head, "bold"))
    fill = "─" * (room - cell_len(tail) - 2)
    return Content.assemble(
        (head, "bold"), (f" {fill} ", "$border-blurred"), (tail, "$foreground-muted")
    )


class TitledLines(LinesWidget):
    """A pane of rows with a title in its border."""

    _titled: tuple[str, int] | None = None

    def set_title(self, number: int, name: str, right_side: str) -> None:
        """Set the border's title where it differs from the one shown."""
        key = (right_side, self.outer_size.width if right_side else 0)
        if key != self._titled:
            self._titled = key
            self.border_title = pane_title(number, name, *key)


class FiguresView(Explained):
    """The Stream pane above its text."""

    GLOSSARY = "FIGURES"

    state: var[StreamState | None] = var(None, init=False)
    presenter: var[bool] = var(False, init=False)
    """Drawn for an audience: large."""

    def watch_state(self) -> None:
        """Draw the new state."""
        self.redraw()

    def watch_presenter(self) -> None:
        """Draw it larger, or as always."""
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """Phase, rate, figures, sparkline."""
        if self.state is None:
            return ()
        if self.presenter:
            from kvtui.ui.draw.presenter import presenter_rows

            return presenter_rows(self.state, width, height)
        from kvtui.ui.draw.stream import figures

        return figures(self.state, width, height)


class PromptBar(LinesWidget):
    """What Enter sends."""

    form: var[PromptForm | None] = var(None, init=False)
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

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """Rule, prompt, parameters."""
        if self.form is None:
            return ()
        from kvtui.ui.draw.prompt import prompt_rows

        return prompt_rows(self.form, width, embedded=self.embedded, paused=self.paused)


class StatePane(TitledLines):
    """A pane whose title follows its ``state``, which subclasses declare."""

    heading = ""
    number = 0
    """The digit that zooms it."""

    def watch_state(self) -> None:
        """Draw the new state."""
        self._title()
        self.redraw()

    def on_mount(self) -> None:
        """The title is there from the first frame."""
        self._title()

    def on_resize(self) -> None:
        """The title's line follows the width."""
        self._title()

    def retitle(self) -> None:
        """The title in another language."""
        self._titled = None
        self._title()

    def _title(self) -> None:
        self.set_title(self.number, self.heading, self.right_side())

    def right_side(self) -> str:
        """What the title's right corner says of the state; may be empty."""
        raise NotImplementedError


class MemoryPane(Explained, StatePane):
    """Pane 2."""

    GLOSSARY = "MEMORY"
    number = 2
    heading = "Memory"

    state: var[MemoryState | None] = var(None, init=False)

    def right_side(self) -> str:
        """The card, and its size where there is room."""
        state = self.state
        if state is None or not state.card:
            return ""
        wide = self.size.width >= 36
        return state.card + (f" {state.card_bytes / (1 << 30):,.2f} GiB" if wide else "")

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """Bars and what fits."""
        if self.state is None:
            return ()
        from kvtui.ui.draw.memory import memory_rows

        return memory_rows(self.state, width, height)


class ErrorsPane(StatePane):
    """Pane 3."""

    number = 3
    heading = "Errors"

    state: var[ErrorsState | None] = var(None, init=False)
    veil: var[Veil | None] = var(None, init=False)
    """Hides hosts and key names while one presents."""

    def watch_veil(self) -> None:
        """Draw with the names, or without."""
        self.redraw()

    def right_side(self) -> str:
        """How many of the requests failed."""
        state = self.state
        if state is None or not state.requests:
            return ""
        return tr("{failed} of {requests} failed", failed=state.failed, requests=state.requests)

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The latest failure, hints, history."""
        if self.state is None:
            return ()
        from kvtui.ui.draw.errors import errors_rows

        state = self.state if self.veil is None else self.veil.errors(self.state)
        return errors_rows(state, width, height)
