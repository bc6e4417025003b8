"""The endpoint: shown, prepared again, left for another."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kvtui.ui.endpoint.typed import TypedEndpoint
    from kvtui.ui.screens.main.dialogs import Dialogs
    from kvtui.ui.screens.main.memory_choices import MemoryChoices
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.presenting import Presenter
    from kvtui.ui.screens.main.shell import Say

_STOP_S = 3.0
"""A stream that is stopped ends within a tenth of this; the bound is for what hangs."""


class Endpoints:
    """Who answers, and how that is changed."""

    def __init__(
        self,
        opened: Opened,
        memory: MemoryChoices,
        presenter: Presenter,
        dialogs: Dialogs,
        say: Say,
        options: Mapping[str, Any],
        *,
        show: Callable[[], None],
        tick: Callable[[], None],
    ) -> None:
        """Nobody answers yet.

        Args:
            opened: Holds the session and what is known of the endpoint.
            memory: Shows the model that answers.
            presenter: Hides hosts from an audience.
            dialogs: The list of endpoints.
            say: Says why nothing can be changed now.
            options: The command line's, which the start went by.
            show: Draws what is known of the endpoint.
            tick: Shows how far a stream is that is being stopped.
        """
        self._opened = opened
        self._memory = memory
        self._presenter = presenter
        self._dialogs = dialogs
        self._say = say
        self._options = options
        self.show = show
        self._tick = tick
        self.chosen = ""
        """What was chosen here; empty is what the start said."""
        self.typed: tuple[TypedEndpoint, ...] = ()
        """What was typed since the start."""

    def ask_models(self, *, run: bool) -> None:
        """Ask the server for its models, again or for the first time; with ``run`` then send."""
        self._prepare(run=run)
        self._memory.show()

    def restart_engine(self) -> None:
        """The engine's process is gone: start another, off this thread."""
        self._say(tr("The embedded engine is gone; it is being started again."), "warning")
        self._prepare(run=False)  # a run asked for meanwhile waits for it

    def _prepare(self, *, run: bool) -> None:
        conductor, sessions = self._opened.conductor, self._opened.sessions
        if conductor is not None and sessions is not None and conductor.session is not None:
            conductor.prepare_again(run=run)
            self.show()
            sessions.prepare(conductor.session)

    def choose(self) -> None:
        """Choose the endpoint among the profiles, or type its URL."""
        conductor = self._opened.conductor
        if conductor is None or conductor.session is None:
            self._say(tr("One moment: kvtui is still starting."))
            return
        from kvtui.ui.endpoint.choices import endpoint_choices
        from kvtui.ui.opening.settings import read_settings
        from kvtui.ui.screens.endpoint_picker import EndpointPicker

        settings, problem = read_settings()
        if problem:
            self._say(problem, "warning")
        hidden = self._presenter.presenting
        choices = endpoint_choices(settings, self._options, self.typed, hidden=hidden)
        self._dialogs.open(EndpointPicker(choices, self.chosen), self._picked)

    async def _picked(self, choice: str | None) -> None:
        from kvtui.ui.endpoint.choices import USE

        if choice is None:
            return
        if choice.startswith(USE):
            self._ask(choice.removeprefix(USE))
        else:
            await self.take(choice)

    def _ask(self, url: str) -> None:
        """Have the rest of an endpoint typed; without a URL the present one is changed."""
        from kvtui.ui.opening.settings import read_settings
        from kvtui.ui.screens.endpoint_form import EndpointForm

        conductor = self._opened.conductor
        prepared = None if conductor is None else conductor.prepared
        model = ""
        if not url and prepared is not None and not prepared.endpoint.embedded:
            url, model = prepared.endpoint.base_url, prepared.model or ""
        self._dialogs.open(EndpointForm(read_settings()[0], url, model), self._take_typed)

    async def _take_typed(self, typed: tuple[TypedEndpoint, str] | None) -> None:
        """Use what was typed; what was kept as a profile is one."""
        from kvtui.ui.endpoint.choices import TYPED, with_typed

        if typed is None:
            return
        endpoint, said = typed
        if said:
            self._say(said)
        if endpoint.keep_as and not endpoint.api_key:
            await self.take(endpoint.keep_as)
            return
        self.typed, at = with_typed(self.typed, endpoint)
        await self.take(f"{TYPED}{at}")

    async def leave_replay(self) -> bool:
        """From a recorded run back to the endpoint before it; False where there is none to leave.

        A start for a replay alone has had no endpoint: E chooses one.
        """
        conductor = self._opened.conductor
        if conductor is None or not conductor.mark or self._options.get("replay") is not None:
            return False
        await self.take(self.chosen)
        return True

    async def take(self, choice: str) -> None:
        """Stop what runs, leave the endpoint and prepare the one chosen."""
        conductor, sessions = self._opened.conductor, self._opened.sessions
        if conductor is None or sessions is None:
            return
        if self._opened.experimenting:
            self._say(tr("An experiment is running on this endpoint: x shows it, esc stops it."))
            return
        conductor.stop()
        for _ in range(int(_STOP_S / 0.02)):
            if not conductor.running:
                break
            await asyncio.sleep(0.02)
            self._tick()
        self.chosen = choice
        self._opened.leave_endpoint()
        sessions.change(choice, self.typed)
        self.show()
        self._memory.show()
