"""The settings screen opened, and what was written there taken up."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.config import Settings
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.screens.main.dialogs import Dialogs
    from kvtui.ui.screens.main.memory_choices import MemoryChoices
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.prompts import Prompts
    from kvtui.ui.screens.main.requests import Requests
    from kvtui.ui.screens.main.shell import Say, Shell


class SettingsTaker:
    """Opens the screen of settings, and lets what is written there hold from then on."""

    def __init__(
        self,
        opened: Opened,
        shell: Shell,
        memory: MemoryChoices,
        requests: Requests,
        prompts: Prompts,
        dialogs: Dialogs,
        say: Say,
        *,
        set_fps: Callable[[int], None],
    ) -> None:
        """The settings of the start are taken up elsewhere.

        Args:
            opened: Holds the choices that settings preset.
            shell: Options, theme, and what is remembered of it.
            memory: Shows the choices.
            requests: Take the prompt's settings.
            prompts: Are kept, or not.
            dialogs: Show the screen.
            say: Says what is wrong with the file or a value.
            set_fps: Takes another number of frames a second.
        """
        self._opened = opened
        self._shell = shell
        self._memory = memory
        self._requests = requests
        self._prompts = prompts
        self._dialogs = dialogs
        self._say = say
        self._set_fps = set_fps

    def open(self) -> None:
        """Every setting, to see and to change."""
        if self._opened.conductor is None:
            self._say(tr("One moment: kvtui is still starting."))
            return
        from kvtui.bench.records.record import runs_path
        from kvtui.config import ConfigError, load_settings
        from kvtui.places import config_path, state_path, themes_path
        from kvtui.ui.screens.settings import SettingsScreen

        try:
            settings = load_settings()
        except ConfigError as error:  # written over a damaged file, all else in it would be lost
            self._say(tr("{error} Mend the file first.", error=error), "error")
            return
        places = (
            ("config", str(config_path())),
            ("state", str(state_path())),
            ("runs", str(runs_path())),
            ("themes", str(themes_path())),
        )
        remembered = self._shell.remembered.get("theme", str)
        screen = SettingsScreen(settings, self._shell.options, remembered, places)
        self._dialogs.open(screen, self._take)

    def _take(self, written: tuple[Settings, frozenset[str]] | None) -> None:
        if written is None:
            return
        settings, keys = written
        for key in keys:
            section, _, name = key.partition(".")
            if section == "defaults" and not self._ruled(name):
                self._take_default(name, settings)
        memory = self._opened.memory
        if memory is not None and any(key.startswith("cards.") for key in keys):
            from kvtui.ui.memory import own_cards

            memory.own_cards = tuple(own_cards(settings.cards))
        self._memory.show()

    def _ruled(self, name: str) -> bool:
        """A flag or a variable decides this one until the next start."""
        from kvtui.ui.settings import VARIABLES

        if self._shell.options.get(name) not in (None, ""):
            return True
        return bool(os.environ.get(VARIABLES.get(name, "")))

    def _take_default(self, name: str, settings: Settings) -> None:
        """Let one of the defaults hold from now on, where that needs no new start."""
        value = getattr(settings.defaults, name)
        conductor, memory = self._opened.conductor, self._opened.memory
        if name in ("prompt", "max_tokens", "temperature") and conductor is not None:
            if name != "prompt" or value:
                self._requests.take_form(replace(conductor.form, **{name: value}))
        elif name == "theme":
            self._shell.remembered.put("theme", None)
            self._shell.theme = value or self._shell.usual_theme
        elif name == "fps":
            self._set_fps(value)
        elif name == "prompt_history":
            self._prompts.let_be_kept(value)
        elif memory is not None:
            self._take_memory_default(memory, name, value)

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
            self._say(str(error), "warning")
