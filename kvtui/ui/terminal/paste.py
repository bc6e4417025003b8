"""Pasted text is text: an escape in it is no key, and there is only so much of it.

Textual's parser reads escape sequences inside a bracketed paste too, and hands those that it does
not know on as keys, one event for each character: a pasted log would be typed, Esc included.

Some terminals put no brackets around a paste. It is told from typing by its pace: many characters
in one read, and what follows at its heels. Else a text with a ``q`` in it would leave the app.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from kvtui.ui.terminal.escapes import ESC, escape, escapes_apart, escapes_back

if TYPE_CHECKING:
    from textual.message import Message

BURST = 10
"""Characters in one read that nobody types, not even where a busy machine lets keys wait."""
BURST_KINDS = 4
"""So many of them differ: a key that is held down comes in a burst too."""
HEELS_S = 0.25
"""What comes within this time of a burst is its continuation."""
LONGEST = 1 << 15
"""Characters that the editor holds: as many stay fluent, whatever they are."""

_START, _END = "\x1b[200~", "\x1b[201~"


class PasteGate:
    """Lets no escape and no flood of a paste through: text in, tamed text out."""

    _pasting = False
    _held = ""
    """The end of what came: a part of a bracket may be completed by what comes next."""
    _room = 0
    _burst_until = -inf
    _burst_room = 0

    def tamed(self, data: str) -> str:
        """What may go on of what the terminal sent; empty where nothing may."""
        return self._tame(self._bracketed(data)) if data else ""

    def _bracketed(self, data: str) -> str:
        """A paste that came without brackets, with them; all else as it is."""
        if self._pasting or self._held or not _is_text(data):
            return data
        now = monotonic()
        burst = len(data) >= BURST and len(set(data)) >= BURST_KINDS
        if now > self._burst_until:
            if not burst:
                return data
            self._burst_room = LONGEST + 1
        self._burst_until = now + HEELS_S
        text = data.replace("\r\n", "\n").replace("\r", "\n")[: self._burst_room]
        self._burst_room -= len(text)
        return f"{_START}{text}{_END}" if text else ""

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


def _is_text(data: str) -> bool:
    """Nothing in it is a key's sequence or a control key; line ends and tabs are text."""
    return data.isprintable() or all(each.isprintable() or each in "\r\n\t" for each in data)


def _begun(text: str, bracket: str) -> str:
    """The end of ``text`` with which ``bracket`` begins; empty where there is none."""
    for size in range(min(len(text), len(bracket) - 1), 0, -1):
        if text.endswith(bracket[:size]):
            return bracket[:size]
    return ""


def gated(stock: type[Any]) -> type[Any]:
    """A terminal's parser that reads behind a ``PasteGate``, and takes Esc for Esc."""

    class PasteParser(stock):  # type: ignore[misc]  # a class only known when the driver is
        """The parser, and the gate before it."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.paste_gate = PasteGate()

        def feed(self, data: str) -> Iterable[Message]:
            """Parse what the terminal sent; an empty text is its end."""
            tamed = self.paste_gate.tamed(data)
            if not tamed and data:
                return
            *before, last = escapes_apart(tamed)
            for part in before:
                # Not fed: the parser would wait for what follows, and take it for one with it.
                yield from (escape(),) if part == ESC else escapes_back(super().feed(part), part)
            yield from escapes_back(super().feed(last), last)

        def tick(self) -> Iterable[Message]:
            """Go on where nothing more came."""
            yield from escapes_back(super().tick())

    return PasteParser


def guard_pastes() -> None:
    """Have the terminal's driver (imported already) read behind a gate.

    Textual has no public way to do so. Where a later version has the parser elsewhere or fed in
    another way, pastes are taken as Textual takes them.
    """
    for name in ("textual.drivers.linux_driver", "textual.drivers.win32"):
        module = sys.modules.get(name)
        stock = getattr(module, "XTermParser", None)
        if not isinstance(stock, type) or not callable(getattr(stock, "feed", None)):
            continue
        if stock.__name__ != "PasteParser":  # not a second time, for a second app
            setattr(module, "XTermParser", gated(stock))  # noqa: B010 - not exported by its stub
