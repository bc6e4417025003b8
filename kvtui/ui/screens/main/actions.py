"""What the commands of the table do, as a mixin of the main screen."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.picker import Choice
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.widgets.stream_pane import StreamPane


class MainActions:
    """Actions; each is one command."""

    if TYPE_CHECKING:
        app: App[Any]
        conductor: Conductor | None
        memory: MemoryView | None
        stream: StreamPane

        # Of the screen's other half:
        # ruff: noqa: D102
        def say(self, sentence: str, severity: Any = "information") -> None: ...
        def show_memory(self) -> None: ...
        def show_endpoint(self) -> None: ...
        def ask_models(self, *, run: bool) -> None: ...
        def keep_prompt(self) -> None: ...
        def begin_frames(self) -> None: ...
        def tick(self) -> None: ...
        def action_zoom(self, number: int) -> None: ...

        zoomed: int

    # --- run ------------------------------------------------------------------------------------

    def action_run(self) -> None:
        """Send the prompt."""
        if self.conductor is None:
            self.say(tr("One moment: kvtui is still starting."))
            return
        if self.conductor.unprepared:
            self.ask_models(run=True)
            return
        problem = self.conductor.start()
        if self.conductor.waiting:  # said in its place, so that no notice outlives the waiting
            self.show_endpoint()
            return
        if problem:
            self.say(problem, "warning")
            return
        self.keep_prompt()
        self.begin_frames()

    def action_stop(self) -> None:
        """Stop the stream."""
        if self.conductor is None:
            return
        if self.conductor.stop():
            self.tick()
        else:
            self.show_endpoint()  # a run that only waited is called off

    def action_hold(self) -> None:
        """Hold a replay, or let it go on."""
        if self.conductor is not None and self.conductor.hold():
            self.show_endpoint()
        else:
            self.say(tr("Only a replay can be held; esc stops a stream."))

    async def action_back(self) -> None:
        """Esc: the first that applies. Dialogs are screens of their own and close themselves."""
        if self.stream.editor is not None:
            self.stream.editor.submit(run=False)
        elif self.stream.search is not None:
            await self.stream.close_search()
        elif self.stream.answer is not None:
            await self.stream.close_answer()
        elif self.conductor is not None and (self.conductor.running or self.conductor.waiting):
            self.action_stop()
        elif self.zoomed:
            self.action_zoom(self.zoomed)

    async def action_edit(self) -> None:
        """Edit the prompt in place."""
        if self.conductor is None:
            return
        if self.zoomed > 1:
            self.action_zoom(1)
        await self.stream.open_editor(self.conductor.form)

    def action_cache(self) -> None:
        """Switch the embedded engine's cache."""
        if self.conductor is None:
            return
        if not self.conductor.endpoint.embedded:
            self.say(tr("Only the embedded engine's cache can be switched off."), "warning")
            return
        from dataclasses import replace

        form = self.conductor.form
        self.conductor.form = replace(form, kv_cache=not form.kv_cache)
        self.stream.prompt.form = self.conductor.form
        self.show_memory()
        if self.conductor.running:
            self.say(tr("The next run takes it; the running one keeps its cache."))

    def action_endpoint_model(self) -> None:
        """Choose among the served models."""
        if self.conductor is None:
            return
        from kvtui.text import one_line, redact

        names = self.conductor.endpoint.models
        if self.conductor.unprepared:
            self.ask_models(run=False)
            return
        if not names:
            self.say(tr("The server has named no models to choose from."), "warning")
            return
        prepared = self.conductor.prepared
        key = None if prepared is None else prepared.endpoint.api_key
        choices = [(name, one_line(redact(name, key), 80), "") for name in names]
        self._pick(tr("Model of the endpoint"), choices, self.conductor.model, self._take_served)

    def _take_served(self, name: str) -> None:
        if self.conductor is None:
            return
        self.conductor.choose_model(name)
        if self.memory is not None and not self.conductor.endpoint.embedded:
            self.memory.recognise(name)
            self.show_memory()
        self.show_endpoint()

    # --- memory ---------------------------------------------------------------------------------

    def action_card(self) -> None:
        """Choose the card."""
        if self.memory is not None:
            from kvtui.ui.memory import card_choices

            self._pick(
                tr("Card"),
                card_choices(self.memory.own_cards),
                self.memory.card.id,
                self._take_card,
            )

    def _take_card(self, name: str) -> None:
        if self.memory is not None:
            self._answer(lambda memory: memory.choose_card(name))

    def action_model(self) -> None:
        """Choose the model whose memory is shown."""
        if self.memory is None:
            return
        from kvtui.ui.memory import model_choices

        choices = model_choices()
        current = self.memory.catalogue_model.id
        if self.memory.own is not None:
            choices.insert(0, ("", self.memory.own.name, tr("the engine's own")))
            current = current if self.memory.as_if else ""
        self._pick(tr("Model in memory"), choices, current, self._take_model)

    def _take_model(self, name: str) -> None:
        if name:
            self._answer(lambda memory: memory.choose_model(name))
        elif self.memory is not None and self.memory.as_if:
            self._answer(lambda memory: memory.toggle_as_if())

    def action_precision(self) -> None:
        """The next precision."""
        self._answer(lambda memory: memory.next_precision())

    def action_weights(self) -> None:
        """The next precision of the weights."""
        if self.memory is not None and self.memory.shows_own:
            self.say(tr("The engine's own weights are what they are: w shows a catalogue model."))
            return
        self._answer(lambda memory: memory.next_weights())

    def action_context(self) -> None:
        """The next context."""
        self._answer(lambda memory: memory.next_context())

    def action_users(self) -> None:
        """The next number of sequences, of the model shown."""
        self._answer(lambda memory: memory.next_users())

    def action_as_if(self) -> None:
        """The same tokens as if on a catalogue model."""
        if self.memory is None:
            return
        if not self.memory.toggle_as_if():
            self.say(tr("The model shown is the catalogue's already: m chooses, b sets the users."))
        self.show_memory()

    def action_planner(self) -> None:
        """What fits on which card, field by field."""
        if self.memory is None:
            self.say(tr("One moment: the catalogue is still being read."))
            return
        from kvtui.ui.screens.planner import PlannerScreen

        self.app.push_screen(PlannerScreen(self.memory), self._planned)

    def _planned(self, taken: str | None) -> None:
        if taken:
            self.show_memory()
            self.say(taken)

    def _answer(self, change: Callable[[MemoryView], Any]) -> None:
        """Change a choice; what is wrong is said, and the choice before stays."""
        if self.memory is None:
            return
        try:
            change(self.memory)
        except ValueError as error:
            self.say(str(error), "warning")
        self.show_memory()

    # --- view -----------------------------------------------------------------------------------

    def action_theme(self) -> None:
        """Choose the colours."""
        choose = getattr(self.app, "choose_theme", None)
        names = sorted(self.app.available_themes, key=lambda name: not name.startswith("kvtui"))
        themes = self.app.available_themes
        choices = [(name, name, "dark" if themes[name].dark else "light") for name in names]
        if choose is not None:
            self._pick(tr("Theme"), choices, self.app.theme, choose, self._show_theme)

    def _show_theme(self, name: str) -> None:
        """How it would look; nothing is remembered yet."""
        self.app.theme = name

    def action_help(self) -> None:
        """Every key."""
        from kvtui.ui.screens.help import HelpScreen

        embedded = self.conductor is None or self.conductor.endpoint.embedded
        self.app.push_screen(HelpScreen(embedded=embedded))

    async def action_tour(self) -> None:
        """The tour, which is a screen of its own."""
        await self.app.run_action("app.tour")

    def may_tour(self) -> bool:
        """Whether the tour may run requests now; why not is said."""
        if self.conductor is None or self.memory is None:
            self.say(tr("One moment: kvtui is still starting."))
            return False
        if self.conductor.running:
            self.say(tr("A stream is running, and the tour would disturb it: esc stops it."))
            return False
        return True

    def action_palette(self) -> None:
        """Find a command by typing."""
        from kvtui.language import tr
        from kvtui.ui.commands import offered, shown_key
        from kvtui.ui.look.rows import left

        embedded = self.conductor is None or self.conductor.endpoint.embedded
        choices = [
            (
                command.name,
                f"{left(tr(command.label), 13)} {tr(command.help)}",
                shown_key(command.keys[0]),
            )
            for command in offered(embedded=embedded)
            if command.name != "palette"
        ]
        self._pick(tr("Commands"), choices, "", self._run_command)

    async def _run_command(self, name: str) -> None:
        await self.app.run_action(f"screen.{name}")

    def action_suspend(self) -> None:
        """Back to the shell, where there is one."""
        self.app.action_suspend_process()

    def action_quit(self) -> None:
        """Leave."""
        self.app.exit(0)

    def _pick(
        self,
        title: str,
        choices: list[Choice],
        current: str,
        then: Callable[[str], Any],
        preview: Callable[[str], Any] | None = None,
    ) -> None:
        from kvtui.ui.screens.picker import PickerScreen

        async def chosen(value: str | None) -> None:
            if value is not None:
                done = then(value)
                if isawaitable(done):
                    await done

        self.app.push_screen(PickerScreen(title, choices, current, preview), chosen)
