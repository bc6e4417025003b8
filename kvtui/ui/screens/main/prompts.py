"""The prompts that were sent: kept on the screen and, with leave, in the state file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtui.ui.prompt.history import PromptHistory
    from kvtui.ui.remembered import Remembered
    from kvtui.ui.screens.main.opened import Opened


class Prompts:
    """The history of prompts."""

    def __init__(self, opened: Opened, remembered: Remembered) -> None:
        """The file's content is taken when it is first asked for.

        Args:
            opened: Holds the endpoint's key, which is taken out of what is kept.
            remembered: The state file.
        """
        self._opened = opened
        self._remembered = remembered
        self._history: PromptHistory | None = None
        self.kept = True
        """The configuration lets prompts be remembered."""

    @property
    def history(self) -> PromptHistory:
        """What was asked before."""
        if self._history is None:
            from kvtui.ui.prompt.history import PromptHistory

            self._history = PromptHistory(self._remembered.get("prompts", list) or ())
        return self._history

    def keep(self, prompt: str) -> None:
        """Remember what has just been sent; without leave to, only until the end."""
        if self._opened.prepared is None:
            return
        if self.history.add(prompt, self._opened.api_key) and self.kept:
            self._remembered.put("prompts", list(self.history.entries))

    def let_be_kept(self, kept: bool) -> None:
        """As the configuration says; what was kept against its wish is forgotten."""
        self.kept = kept
        remembered = self._remembered.get("prompts", list)
        if remembered and not kept:
            self._remembered.put("prompts", None)
            self._history = None
