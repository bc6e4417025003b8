"""The server's own figure of its KV cache: when it is asked for, and that it is shown."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.state import ServerKV

LOOKS = 5
LOOK_S = 1.1
"""After a run: a server is asked at most once a second."""


class ServerFigures:
    """Asks while something runs, and after it until the server says that nothing does."""

    def __init__(
        self,
        opened: Opened,
        *,
        later: Callable[[float, Callable[[], Any]], Any],
        changed: Callable[[], None],
    ) -> None:
        """Nothing is asked yet.

        Args:
            opened: Holds what asks, and the figure.
            later: Calls something after so many seconds.
            changed: Shows the figure.
        """
        self._opened = opened
        self._later = later
        self._changed = changed

    def said(self, kv: ServerKV | None) -> None:
        """The server's own figure stands beside ours."""
        if kv != self._opened.server_kv:
            self._opened.server_kv = kv
            self._changed()

    def watch(self) -> None:
        """Ask the server of the endpoint in use from now on: a key was pressed."""
        server, prepared = self._opened.server, self._opened.prepared
        if server is not None and prepared is not None:
            server.watch(prepared.endpoint)

    def watch_unbidden(self) -> None:
        """A server of this machine is asked at once, any other at the first run."""
        server, conductor = self._opened.server, self._opened.conductor
        if server is None:
            return
        from kvtui.ui.endpoint.server import may_ask_unbidden

        if conductor is None or not conductor.endpoint.ready:
            server.stop()
        elif conductor.prepared is not None and may_ask_unbidden(conductor.prepared.endpoint):
            server.watch(conductor.prepared.endpoint)

    def wake(self, *, soon: bool = False) -> None:
        """Something runs, or (``soon``) has just ended: look again."""
        server, conductor = self._opened.server, self._opened.conductor
        if server is not None and conductor is not None:
            server.wake(conductor.clock(), soon=soon)

    def run_ended(self) -> None:
        """The figure is of before: look again soon, not at the next idle look."""
        opened = self._opened
        if opened.server is not None and opened.server_kv is not None:
            opened.server_kv = replace(opened.server_kv, stale=True)
        self._changed()
        self.look_again(LOOKS)

    def look_again(self, left: int) -> None:
        """Ask the server anew, at most so many times, until it says that nothing runs."""
        opened = self._opened
        said = opened.server_kv
        idle = said is None or (not said.running and not said.stale)
        busy = opened.conductor is None or opened.running
        if opened.server is None or busy or not left or (idle and left < LOOKS):
            return
        self.wake(soon=True)
        self._later(LOOK_S, partial(self.look_again, left - 1))

    def stop(self) -> None:
        """The server is asked no more."""
        if self._opened.server is not None:
            self._opened.server.stop()
