"""The prompts that were sent are kept: what the main screen does about it, as a mixin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.language import tr

if TYPE_CHECKING:
    from kvtui.ui.messages import FileWanted
    from kvtui.ui.prompt.history import PromptHistory
    from kvtui.ui.stream.conductor import Conductor


class PromptActions:
    """The history of prompts, on the screen and in the state file."""

    if TYPE_CHECKING:
        # Of the screen's other parts:
        # ruff: noqa: D102
        conductor: Conductor | None

        @property
        def app(self) -> Any: ...
        def say(self, sentence: str, severity: Any = "information") -> None: ...

    keeps_prompts = True
    """The configuration lets prompts be remembered."""
    _prompts: PromptHistory | None = None

    @property
    def prompts(self) -> PromptHistory:
        """What was asked before."""
        if self._prompts is None:
            from kvtui.ui.prompt.history import PromptHistory

            self._prompts = PromptHistory(self.app.remembered.get("prompts", list) or ())
        return self._prompts

    def on_paste(self) -> None:
        """Text pasted where no field is: it is no row of keys."""
        self.say(tr("Pasted text goes into a field: e edits the prompt, ^o there reads a file."))

    def on_file_wanted(self, message: FileWanted) -> None:
        """A file is chosen over the screen, and its text goes to whoever asked."""
        from kvtui.ui.screens.file_picker import FilePickerScreen

        self.app.push_screen(FilePickerScreen("Prompt from a file"), message.take)

    def keep_prompt(self) -> None:
        """Remember what has just been sent; without leave to, only until the end."""
        conductor = self.conductor
        if conductor is None or conductor.prepared is None:
            return
        key = conductor.prepared.endpoint.api_key
        if self.prompts.add(conductor.form.prompt, key) and self.keeps_prompts:
            self.app.remembered.put("prompts", list(self.prompts.entries))

    def let_prompts_be_kept(self, kept: bool) -> None:
        """As the configuration says; what was kept against its wish is forgotten."""
        self.keeps_prompts = kept
        if not kept and self.app.remembered.get("prompts", list):
            self.app.remembered.put("prompts", None)
            self._prompts = None
