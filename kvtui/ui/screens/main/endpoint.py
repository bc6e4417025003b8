"""Another endpoint while the screen is open: what the main screen does about it, as a mixin."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.ui.endpoint.server import ServerWatch
    from kvtui.ui.experiments.lab import Lab
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.picker import Choice
    from kvtui.ui.state import ServerKV
    from kvtui.ui.stream.conductor import Conductor

_STOP_S = 3.0
"""A stream that is stopped ends within a tenth of this; the bound is for what hangs."""


class EndpointActions:
    """One action: choose the endpoint."""

    if TYPE_CHECKING:
        # Of the screen's other parts:
        # ruff: noqa: D102
        conductor: Conductor | None
        memory: MemoryView | None
        server: ServerWatch | None
        server_kv: ServerKV | None
        endpoint_known: bool
        presenting: bool
        lab: Lab | None

        @property
        def app(self) -> Any: ...
        def say(self, sentence: str, severity: Any = "information") -> None: ...
        def show_endpoint(self) -> None: ...
        def show_memory(self) -> None: ...
        def tick(self) -> None: ...
        def _pick(
            self,
            title: str,
            choices: list[Choice],
            current: str,
            then: Callable[[str], Any],
        ) -> None: ...

    chosen_endpoint = ""
    """What was chosen here; empty is what the start said."""

    def action_profile(self) -> None:
        """Choose the endpoint among the profiles."""
        if self.conductor is None or self.conductor.session is None:
            self.say(tr("One moment: kvtui is still starting."))
            return
        from kvtui.ui.endpoint.choices import endpoint_choices
        from kvtui.ui.opening import read_settings

        settings, problem = read_settings()
        if problem:
            self.say(problem, "warning")
        choices = endpoint_choices(settings, self.app.options, hidden=self.presenting)
        self._pick(tr("Endpoint"), choices, self.chosen_endpoint, self.take_endpoint)

    async def take_endpoint(self, choice: str) -> None:
        """Stop what runs, leave the endpoint and prepare the one chosen."""
        from kvtui.ui.opening import change_session

        conductor = self.conductor
        if conductor is None:
            return
        if self.lab is not None and self.lab.running:
            self.say(tr("An experiment runs: stop it first (x)."), "warning")
            return
        conductor.stop()
        for _ in range(int(_STOP_S / 0.02)):
            if not conductor.running:
                break
            await asyncio.sleep(0.02)
            self.tick()
        self.chosen_endpoint = choice
        self.endpoint_known = False
        self.server_kv = None
        if self.server is not None:
            self.server.stop()
        if self.memory is not None:
            self.memory.forget_endpoint()
        change_session(self.app, choice)
        self.show_endpoint()
        self.show_memory()
