"""A request: asked for, edited, sent, stopped, held."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvtui.language import tr

if TYPE_CHECKING:
    from kvtui.ui.screens.main.dialogs import Dialogs
    from kvtui.ui.screens.main.endpoints import Endpoints
    from kvtui.ui.screens.main.frames import Frames
    from kvtui.ui.screens.main.memory_choices import MemoryChoices
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.prompts import Prompts
    from kvtui.ui.screens.main.shell import Say
    from kvtui.ui.state import PromptForm
    from kvtui.ui.widgets.stream_pane import StreamPane


class Requests:
    """What is sent next, and what runs."""

    def __init__(
        self,
        opened: Opened,
        pane: StreamPane,
        frames: Frames,
        endpoints: Endpoints,
        memory: MemoryChoices,
        prompts: Prompts,
        dialogs: Dialogs,
        say: Say,
    ) -> None:
        """Nothing is sent yet.

        Args:
            opened: Holds the conductor, which sends.
            pane: Shows the prompt, and the editor in its place.
            frames: Begin with a run.
            endpoints: Ask for models where none is known yet.
            memory: Shows what the model chosen costs.
            prompts: Keep what was sent.
            dialogs: The list of models.
            say: Says why nothing was sent.
        """
        self._opened = opened
        self._pane = pane
        self._frames = frames
        self._endpoints = endpoints
        self._memory = memory
        self._prompts = prompts
        self._dialogs = dialogs
        self._say = say

    def run(self) -> None:
        """Send the prompt, unless an experiment would measure it too."""
        conductor = self._opened.conductor
        if self._opened.experimenting:
            self._say(
                tr("An experiment is running and would measure this too: x shows it."), "warning"
            )
            return
        if conductor is None:
            self._say(tr("One moment: kvtui is still starting."))
            return
        if conductor.unprepared:
            self._endpoints.ask_models(run=True)
            return
        problem = conductor.start()
        if conductor.waiting:  # said in its place, so that no notice outlives the waiting
            self._endpoints.show()
            return
        if problem:
            self._say(problem, "warning")
            return
        if not conductor.mark:  # what was asked then is not what the user asks
            self._prompts.keep(conductor.form.prompt)
        self._frames.begin()

    def endpoint_ready(self, *, asked: bool) -> None:
        """Who answers is known: run what waited for it, once a model is chosen.

        Args:
            asked: A run was asked for before.
        """
        conductor = self._opened.conductor
        if conductor is None or conductor.prepared is None:
            return
        if conductor.endpoint.ready and not conductor.model and conductor.prepared.models:
            self.choose_model()
        elif conductor.waiting:
            self.run()
        elif asked and conductor.endpoint.ready:
            self._say(tr("The server names no models: give one with --model."), "warning")

    def stop(self) -> None:
        """Stop the stream."""
        conductor = self._opened.conductor
        if conductor is None:
            return
        if conductor.stop():
            self._frames.tick()
        else:
            self._endpoints.show()  # a run that only waited is called off

    def stop_if_any(self) -> bool:
        """Stop what runs or waits; False where there is nothing."""
        conductor = self._opened.conductor
        there = conductor is not None and (conductor.running or conductor.waiting)
        if there:
            self.stop()
        return there

    def hold(self) -> None:
        """Hold a replay, or let it go on."""
        conductor = self._opened.conductor
        if conductor is not None and conductor.hold():
            self._endpoints.show()
        else:
            self._say(tr("Only a replay can be held; esc stops a stream."))

    async def edit(self) -> None:
        """Edit the prompt in place."""
        if self._opened.conductor is not None:
            await self._pane.open_editor(
                self._opened.conductor.form, lambda: self._prompts.history.entries
            )

    def take_form(self, form: PromptForm) -> None:
        """What is sent next, as edited."""
        if self._opened.conductor is not None:
            self._opened.conductor.form = form
        self._pane.prompt.form = form

    def cache(self) -> None:
        """Switch the embedded engine's cache."""
        conductor = self._opened.conductor
        if conductor is None:
            return
        if not conductor.endpoint.embedded:
            self._say(tr("Only the embedded engine's cache can be switched off."), "warning")
            return
        self.take_form(replace(conductor.form, kv_cache=not conductor.form.kv_cache))
        self._memory.show()
        if conductor.running:
            self._say(tr("The next run takes it; the running one keeps its cache."))

    def choose_model(self) -> None:
        """Choose among the served models."""
        conductor = self._opened.conductor
        if conductor is None:
            return
        if conductor.unprepared:
            self._endpoints.ask_models(run=False)
            return
        names = conductor.endpoint.models
        if not names:
            self._say(tr("The server has named no models to choose from."), "warning")
            return
        from kvtui.text import one_line, redact

        key = self._opened.api_key
        choices = [(name, one_line(redact(name, key), 80), "") for name in names]
        self._dialogs.pick(tr("Model of the endpoint"), choices, conductor.model, self.take_model)

    def take_model(self, name: str) -> None:
        """Ask for this one of the server's models from now on."""
        conductor = self._opened.conductor
        if conductor is None:
            return
        conductor.choose_model(name)
        if not conductor.endpoint.embedded:
            self._memory.recognise(name)
        self._endpoints.show()
