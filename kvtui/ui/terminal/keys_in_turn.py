"""Keys in turn: none is looked at before what the key before it did is done.

Textual looks up which widget a key goes to when it comes from the terminal, and carries out what
it does later, when it has gone through the queues of that widget and of all around it. A key
pressed at the heels of one that opens a screen so goes to the screen before, or to one that has
no focus yet: it is lost, or does what nobody asked for. Here it waits its turn.

A key alone is passed on at once. When it is done with is told by a message that is sent after it
through each queue.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from textual.events import Key, Paste

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from textual.app import App
    from textual.events import Event
    from textual.message_pump import MessagePump

PATIENCE_S = 0.3
"""For a queue that does not empty: its widget is gone, and the next key need not wait for it."""
OPENING_S = 3.0
"""For a screen that does not come up."""


class KeysInTurn:
    """Hands the keys of an app on, one after the other."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._held: deque[Event] = deque()
        self._next: Event | None = None
        self._task: asyncio.Task[None] | None = None
        self.busy = False
        """A key is being done with."""

    def is_turn(self, event: Event) -> bool:
        """Whether an event may be looked at now; a key that may not comes again in its turn."""
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            return True
        if self.busy and event is not self._next:
            self._held.append(event)
            return False
        self.busy, self._next = True, None
        app = self._app
        target = app.focused or app.screen
        around = [node for node in target.ancestors_with_self if node is not app]
        self._task = asyncio.get_running_loop().create_task(self._follow(around))
        return True

    async def _follow(self, around: Iterable[MessagePump]) -> None:
        """Wait until a key has come through, from the inmost widget to the app."""
        for pump in around:
            await _through(pump)
        self._app.call_later(self._done)

    def _done(self) -> None:
        """The key is done with, but what it opened may not be there yet."""
        screen = self._app.screen
        if screen._mounted_event.is_set() and not screen.message_queue_size:
            self._pass_on()
        else:
            self._task = asyncio.get_running_loop().create_task(self._open(screen))

    async def _open(self, screen: MessagePump) -> None:
        await _bounded(screen._mounted_event.wait(), OPENING_S)
        await _through(screen)
        self._app.call_later(self._pass_on)  # behind the focus, which goes the same way

    def _pass_on(self) -> None:
        self.busy = bool(self._held)
        if self._held:
            self._next = self._held.popleft()
            self._app.post_message(self._next)


async def _through(pump: MessagePump) -> None:
    """Wait until all that a widget has been told is done with."""
    reached = asyncio.Event()
    if pump.call_later(reached.set):
        await _bounded(reached.wait(), PATIENCE_S)


async def _bounded(work: Awaitable[object], seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(work, seconds)
