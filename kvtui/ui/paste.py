"""Pasted text is text: an escape in it is no key, and there is only so much of it.

Textual's parser reads escape sequences inside a bracketed paste too, and hands those that it does
not know on as keys, one event for each character: a pasted log would be typed, Esc included.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.message import Message

LONGEST = 1 << 15
"""Characters that the editor holds: as many stay fluent, whatever they are."""

_START, _END = "\x1b[200~", "\x1b[201~"


class PasteParser(XTermParser):
    """Textual's parser behind a gate that lets no escape and no flood of a paste through."""

    _pasting = False
    _held = ""
    """The end of what came: a part of a bracket may be completed by what comes next."""
    _room = 0

    def feed(self, data: str) -> Iterable[Message]:
        """Parse what the terminal sent; an empty text is its end."""
        tamed = self._tame(data) if data else ""
        return super().feed(tamed) if tamed or not data else ()

    def _tame(self, data: str) -> str:
        out: list[str] = []
        while data:
            held, self._held = self._held, ""
            if self._pasting:
                body, bracket, data = (held + data).partition(_END)
                if bracket:
                    self._pasting = False
                else:
                    self._held = _begun(body, _END)
                    body = body[: len(body) - len(self._held)]
                out += (body[: self._room].replace("\x1b", "␛"), bracket)
                self._room = max(0, self._room - len(body))
                continue
            # What is held was passed on already: a lone Esc must not wait for what follows it.
            before, bracket, rest = (held + data).partition(_START)
            if not bracket:
                self._held = _begun(before, _START)
                out.append(data)
                break
            out.append(data[: len(data) - len(rest)])
            self._pasting, self._room, data = True, LONGEST + 1, rest
        return "".join(out)


def _begun(text: str, bracket: str) -> str:
    """The end of ``text`` with which ``bracket`` begins; empty where there is none."""
    for size in range(min(len(text), len(bracket) - 1), 0, -1):
        if text.endswith(bracket[:size]):
            return bracket[:size]
    return ""


def guard_pastes() -> None:
    """Have the terminal's driver (imported already) read with ``PasteParser``."""
    for name in ("textual.drivers.linux_driver", "textual.drivers.win32"):
        module = sys.modules.get(name)
        if module is not None:
            setattr(module, "XTermParser", PasteParser)  # noqa: B010 - not exported by its stub
