"""The prompts that were sent, newest last: bounded, each once, never with a key in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.text import redact, sanitise
from kvtui.ui.terminal.paste import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 200
"""Prompts kept."""
MOST_CHARACTERS = 1 << 18
"""Of all together: the state file is read before the first frame."""


class PromptHistory:
    """What was asked before, to be asked again."""

    def __init__(self, kept: Iterable[object] = ()) -> None:
        """Take what was kept; what is no prompt is left out."""
        self.entries: list[str] = []
        for each in kept:
            if isinstance(each, str):
                self._put(sanitise(each))

    def add(self, prompt: str, key: str | None = None) -> bool:
        """Remember a prompt as the newest; False where nothing changes.

        Args:
            prompt: As it was sent. One too long for the editor is not kept.
            key: The key in use: neither it nor anything like a key is kept.
        """
        before = list(self.entries)
        if len(prompt) <= LONGEST:
            self._put(redact(prompt, key))
        return self.entries != before

    def _put(self, prompt: str) -> None:
        if not prompt.strip() or len(prompt) > LONGEST:
            return
        if prompt in self.entries:
            self.entries.remove(prompt)
        self.entries.append(prompt)
        del self.entries[:-MOST]
        size = sum(map(len, self.entries))
        while size > MOST_CHARACTERS:
            size -= len(self.entries.pop(0))


class Browsing:
    """One walk through the history from a draft, which is where it ends again."""

    def __init__(self, entries: list[str], draft: str) -> None:
        """Begin at the draft; a newest entry that is the draft is no step away from it."""
        self._entries = list(entries)
        if self._entries and self._entries[-1] == draft:
            self._entries.pop()
        self._draft = draft
        self.at = 0
        """How many entries back; 0 is the draft."""

    def __len__(self) -> int:
        """Entries that can be walked to."""
        return len(self._entries)

    def step(self, back: int) -> str | None:
        """The text so many entries further back (or forth); None where there is none."""
        at = self.at + back
        if not 0 <= at <= len(self._entries):
            return None
        self.at = at
        return self._entries[-at] if at else self._draft
