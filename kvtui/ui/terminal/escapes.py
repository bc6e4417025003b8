"""Esc with a key at its heels is Esc, then that key, as a terminal sends Alt with it.

Textual's parser makes ``alt+t`` of it, which a field takes for a letter; loses the Esc before a
sign; and types a ``^`` for it where an arrow follows. Nobody typed any of these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from textual.message import Message

ESC = "\x1b"
_APART = re.compile(r"(\x1b)(?=[^\x00-\x1f\x7f\[OPX\]^_])")
"""Esc before a character that begins no sequence of a terminal's."""


def escapes_apart(data: str) -> list[str]:
    """What a terminal sent, in parts: each Esc that a character follows is one of its own."""
    if ESC not in data:
        return [data]
    from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

    parts, begun = [], 0
    for found in _APART.finditer(data):
        at = found.start()
        if data[at : at + 2] not in ANSI_SEQUENCES_KEYS:  # else a key, as of a word's width
            parts += [data[begun:at], ESC]
            begun = at + 1
    return [part for part in (*parts, data[begun:]) if part] or [data]


def escape() -> Message:
    """The key Esc."""
    from textual.events import Key

    return Key("escape", ESC)


def escapes_back(parsed: Iterable[Message], part: str = "") -> Iterator[Message]:
    """The messages that a part was parsed to, with Esc for what stands there for it."""
    from textual.events import Key
    from textual.keys import _character_to_key

    for message in parsed:
        if not isinstance(message, Key):
            yield message
        elif message.character == "^" and "^" not in part:
            yield escape()
        elif message.key.startswith("alt+") and message.is_printable:
            assert message.character is not None
            yield escape()
            yield Key(_character_to_key(message.character), message.character)
        else:
            yield message
