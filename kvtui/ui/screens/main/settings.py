"""The settings screen opened, and what was written there taken up: a mixin of the main screen."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from kvtui.config import Settings
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.widgets.stream_pane import StreamPane


class SettingsActions:
    """One action, and what follows from it."""

    if TYPE_CHECKING:
        # Of the screen's other parts:
        # ruff: noqa: D102
        conductor: Conductor | None
        memory: MemoryView | None
        stream: StreamPane

        @property
        def app(self) -> Any: ...
        def say(self, sentence: str, severity: Any = "information") -> None: ...
        def show_memory(self) -> None: ...
        def set_fps(self, fps: int) -> None: ...
        def let_prompts_be_kept(self, kept: bool) -> None: ...

    def action_settings(self) -> None:
        """Every setting, to see and to change."""
        if self.conductor is None:
            self.say(tr("One moment: kvtui is still starting."))
            return
        from kvtui.bench.records.record import runs_path
        from kvtui.config import ConfigError, load_settings
        from kvtui.places import config_path, state_path, themes_path
        from kvtui.ui.screens.settings import SettingsScreen

        try:
            settings = load_settings()
        except ConfigError as error:  # written over a damaged file, all else in it would be lost
            self.say(tr("{error} Mend the file first.", error=error), "error")
            return
        places = (
            ("config", str(config_path())),
            ("state", str(state_path())),
            ("runs", str(runs_path())),
            ("themes", str(themes_path())),
        )
        remembered = self.app.remembered.get("theme", str)
        screen = SettingsScreen(settings, self.app.options, remembered, places)
        self.app.push_screen(screen, self._take_settings)

    def _take_settings(self, written: tuple[Settings, frozenset[str]] | None) -> None:
        if written is None:
            return
        from kvtui.ui.settings import VARIABLES

        settings, keys = written
        for key in keys:
            section, _, name = key.partition(".")
            ruled = self.app.options.get(name) not in (None, "") or os.environ.get(
                VARIABLES.get(name, "")
            )
            if section == "defaults" and not ruled:
                self._take_default(name, settings)
        if self.memory is not None and any(key.startswith("cards.") for key in keys):
            from kvtui.ui.memory import own_cards

            self.memory.own_cards = tuple(own_cards(settings.cards))
        self.show_memory()

    def _take_default(self, name: str, settings: Settings) -> None:
        """Let one of the defaults hold from now on, where that needs no new start."""
        value = getattr(settings.defaults, name)
        if name in ("prompt", "max_tokens", "temperature") and self.conductor is not None:
            if name != "prompt" or value:
                self.conductor.form = replace(self.conductor.form, **{name: value})
                self.stream.prompt.form = self.conductor.form
        elif name == "theme":
            self.app.remembered.put("theme", None)
            self.app.theme = value or self.app.usual_theme
        elif name == "fps":
            self.set_fps(value)
        elif name == "prompt_history":
            self.let_prompts_be_kept(value)
        elif self.memory is not None:
            self._take_memory_default(self.memory, name, value)

    def _take_memory_default(self, memory: MemoryView, name: str, value: Any) -> None:
        try:
            if name == "gpu":
                memory.choose_card(value)
            elif name == "arch" and value:
                memory.choose_model(value)
            elif name == "kv_dtype":
                memory.choose_precision(value)
            elif name == "context":
                memory.context = value
            elif name == "concurrency":
                memory.users = value
        except ValueError as error:
            self.say(str(error), "warning")
