"""From the engine's thread to the event loop, with one wake-up for all that has come."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from kvtui.engine.generate import Token

Delivery = Callable[[Token], None]


class Mailbox:
    """Hands tokens to the loop in which it was made.

    `call_soon_threadsafe` writes to a pipe each time; with several sequences a step, the loop's
    thread and the engine's would take the interpreter from one another at each of their tokens.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._waiting: list[tuple[Delivery, Token]] = []

    def put(self, deliver: Delivery, token: Token) -> None:
        """Have `deliver(token)` called in the loop; from any thread."""
        with self._lock:
            self._waiting.append((deliver, token))
            if len(self._waiting) > 1:
                return
        with suppress(RuntimeError):  # the loop has closed: nobody is left to tell
            self._loop.call_soon_threadsafe(self._empty)

    def _empty(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for deliver, token in waiting:
            deliver(token)
