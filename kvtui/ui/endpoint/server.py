"""What the server says of its own KV cache: a poller off the UI thread, and the figure it gives."""

from __future__ import annotations

import threading
from math import inf
from typing import TYPE_CHECKING

from kvtui.text import one_line
from kvtui.ui.state import ServerKV

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.config import Endpoint
    from kvtui.telemetry.poller import TelemetryPoller
    from kvtui.telemetry.status import ServerStatus

IDLE_S = 5.0
"""Between two looks while nothing runs; ``wake`` makes it one second while something does."""
RUNNING_S = 1.0


class ServerWatch:
    """Polls one endpoint at a time, from a thread of its own; no method blocks."""

    def __init__(self, tell: Callable[[ServerStatus], object]) -> None:
        """Nothing is contacted before ``watch``.

        Args:
            tell: Called with each status, on the poller's thread.
        """
        self._tell = tell
        self._lock = threading.Lock()
        self._endpoint: Endpoint | None = None
        self._poller: TelemetryPoller | None = None
        self._woken = -inf

    def watch(self, endpoint: Endpoint) -> None:
        """Poll this endpoint from now on, and no other; a second call for it does nothing."""
        with self._lock:
            if endpoint == self._endpoint:
                return
            self._endpoint = endpoint
        self._end()
        threading.Thread(
            target=self._begin, args=(endpoint,), name="kvtui-server", daemon=True
        ).start()

    def wake(self, now: float, *, soon: bool = False) -> None:
        """Something runs, or (``soon``) has just ended: look again, at most once a second.

        Args:
            now: Seconds.
            soon: Whenever the last call was; the poller itself keeps to once a second.
        """
        poller = self._poller
        if poller is not None and (soon or now - self._woken >= RUNNING_S):
            self._woken = now
            poller.wake()

    def stop(self) -> None:
        """Poll no more."""
        with self._lock:
            self._endpoint = None
        self._end()

    def _begin(self, endpoint: Endpoint) -> None:
        from kvtui.telemetry.poller import TelemetryPoller  # with its client: not on the UI thread

        def told(status: ServerStatus) -> None:
            if self._endpoint is endpoint:
                self._tell(status)

        try:
            poller = TelemetryPoller(
                endpoint.base_url,
                endpoint.api_key,
                endpoint.headers,
                embedded=endpoint.embedded,
                period_s=IDLE_S,
                on_status=told,
            )
        except ValueError:
            return  # the URL is wrong: the request says so better
        with self._lock:
            if self._endpoint is not endpoint:
                return
            self._poller = poller
        poller.start()

    def _end(self) -> None:
        with self._lock:
            poller, self._poller = self._poller, None
        if poller is not None:
            poller.stop()


def may_ask_unbidden(endpoint: Endpoint) -> bool:
    """Whether the server is on this machine: no other is contacted before a key press."""
    from kvtui.telemetry.places import is_loopback

    return endpoint.embedded or is_loopback(endpoint.base_url)


def server_kv(status: ServerStatus) -> ServerKV | None:
    """The server's own KV figure; None where it gives none."""
    if not status.answered:
        return None
    known = (status.kv_usage, status.kv_tokens_used, status.kv_bytes_used)
    if all(value is None for value in known):
        return None
    names = ("kv_bytes_used", "kv_usage", "kv_tokens_used")
    source = next((status.sources[name].metric for name in names if name in status.sources), "")
    return ServerKV(
        share=status.kv_usage,
        tokens_used=status.kv_tokens_used,
        tokens_total=status.kv_tokens_total,
        bytes_used=status.kv_bytes_used,
        running=status.running,
        waiting=status.waiting,
        source=one_line(source, 80),
    )
