"""Pane 2: what is asked of the card, one key for each choice, and the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.main.dialogs import Dialogs
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.shell import Say
    from kvtui.ui.widgets.panes import MemoryPane


class MemoryChoices:
    """Changes the choices and draws the pane from them and the live tokens."""

    def __init__(
        self,
        opened: Opened,
        pane: MemoryPane,
        dialogs: Dialogs,
        say: Say,
        *,
        chosen: Callable[[], None],
    ) -> None:
        """Nothing is shown before the catalogue is there.

        Args:
            opened: Holds the choices.
            pane: Shows the answer.
            dialogs: Lists to choose from.
            say: Says what is wrong with a choice.
            chosen: Told when the answer may have changed, once it is known who answers.
        """
        self._opened = opened
        self._pane = pane
        self._dialogs = dialogs
        self._say = say
        self._chosen = chosen
        self.live_tokens = 0

    def show(self) -> None:
        """Draw the pane."""
        opened = self._opened
        if opened.memory is None:
            return
        conductor = opened.conductor
        state = opened.memory.state(
            self.live_tokens,
            cached=conductor is None or conductor.cached,
            kept=conductor is None or conductor.kept,
        )
        if not opened.endpoint_known:  # no figure of a model that may not be the one
            from kvtui.ui.state import MemoryState

            state = MemoryState(card=state.card, card_bytes=state.card_bytes)
        if opened.server_kv is not None and (opened.memory.own is None or opened.memory.shows_own):
            state = replace(state, server=opened.server_kv)
        self._pane.state = state
        if opened.endpoint_known:
            self._chosen()

    def show_tokens(self, live_tokens: int) -> None:
        """The stream holds so many now."""
        if live_tokens != self.live_tokens:
            self.live_tokens = live_tokens
            self.show()

    def introduce_model(self) -> None:
        """Tell the choices which model answers, once both are known."""
        prepared = self._opened.prepared
        if self._opened.memory is not None and prepared is not None:
            self._opened.memory.introduce(prepared)

    def recognise(self, model_id: str) -> None:
        """Another of the server's models answers."""
        if self._opened.memory is not None:
            self._opened.memory.recognise(model_id)
            self.show()

    # --- commands -------------------------------------------------------------------------------

    def card(self) -> None:
        """Choose the card."""
        memory = self._opened.memory
        if memory is None:
            return
        from kvtui.ui.memory import card_choices

        choices = card_choices(memory.own_cards)
        self._dialogs.pick(tr("Card"), choices, memory.card.id, self._take_card)

    def _take_card(self, name: str) -> None:
        self._change(lambda memory: memory.choose_card(name))

    def model(self) -> None:
        """Choose the model whose memory is shown."""
        memory = self._opened.memory
        if memory is None:
            return
        from kvtui.ui.memory import model_choices

        choices = model_choices()
        current = memory.catalogue_model.id
        if memory.own is not None:
            choices.insert(0, ("", memory.own.name, tr("the engine's own")))
            current = current if memory.as_if else ""
        self._dialogs.pick(tr("Model in memory"), choices, current, self._take_model)

    def _take_model(self, name: str) -> None:
        if name:
            self._change(lambda memory: memory.choose_model(name))
        elif self._opened.memory is not None and self._opened.memory.as_if:
            self._change(lambda memory: memory.toggle_as_if())

    def precision(self) -> None:
        """The next precision."""
        self._change(lambda memory: memory.next_precision())

    def weights(self) -> None:
        """The next precision of the weights."""
        memory = self._opened.memory
        if memory is not None and memory.shows_own:
            self._say(tr("The engine's own weights are what they are: w shows a catalogue model."))
            return
        self._change(lambda memory: memory.next_weights())

    def context(self) -> None:
        """The next context; where none is longer, that is said."""
        memory = self._opened.memory
        limit = None if memory is None else memory.next_context()
        if limit is not None:
            self._say(
                tr(
                    "{limit} tokens are the model's limit: from the shortest again.",
                    limit=f"{limit:,}",
                )
            )
        self.show()

    def users(self) -> None:
        """The next number of sequences, of the model shown."""
        self._change(lambda memory: memory.next_users())

    def as_if(self) -> None:
        """The same tokens as if on a catalogue model."""
        if self._opened.memory is None:
            return
        if not self._opened.memory.toggle_as_if():
            self._say(
                tr("The model shown is the catalogue's already: m chooses, b sets the users.")
            )
        self.show()

    def _change(self, change: Callable[[MemoryView], Any]) -> None:
        """Change a choice; what is wrong is said, and the choice before stays."""
        if self._opened.memory is None:
            return
        try:
            change(self._opened.memory)
        except ValueError as error:
            self._say(str(error), "warning")
        self.show()

    def planner(self, stop: Callable[[], None]) -> None:
        """What fits on which card, field by field; ``stop`` stops a stream from there."""
        if self._opened.memory is None:
            self._say(tr("One moment: the catalogue is still being read."))
            return
        from kvtui.ui.screens.planner import PlannerScreen

        self._dialogs.open(PlannerScreen(self._opened.memory, stop), self._planned)

    def _planned(self, taken: str | None) -> None:
        if taken:
            self.show()
            self._say(taken)
