"""A poller on a thread of its own: asks a server at most once a second, beside a timed stream.

The owner starts it, and only after a key press or on an endpoint of this machine
(``places.is_loopback``): no paid endpoint is contacted before a key press.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress

import aiohttp

from kvtui.telemetry.look import TIMEOUT_S, Look
from kvtui.telemetry.status import ServerStatus, with_rates

LEAST_PERIOD_S = 1.0
QUIET_S = 60.0
"""Between two tries where nothing is published or nothing answers."""

SLOW_S = 10.0
"""Between two looks at a page whose figures hardly move (Ollama, LM Studio)."""

EMBEDDED_RETRY_S = 5.0
HITS_WINDOW_S = 60.0
"""The prefix cache's hit share is taken over at most this long."""


class TelemetryPoller:
    """Polls one endpoint. All methods may be called from any thread; none of them blocks.

    Its session, loop and thread are its own, so that it shares neither the pool nor the loop of
    the stream that is timed. The first look happens at once after ``start``.
    """

    def __init__(
        self,
        endpoint_base_url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        embedded: bool = False,
        *,
        period_s: float = LEAST_PERIOD_S,
        timeout_s: float = TIMEOUT_S,
        on_status: Callable[[ServerStatus], None] | None = None,
    ) -> None:
        """Remember the endpoint; nothing is sent before ``start``.

        Args:
            endpoint_base_url: The endpoint's base URL, with or without ``/v1``.
            api_key: Sent to this endpoint's own host only.
            headers: The endpoint's further headers, sent likewise.
            embedded: The endpoint is the embedded engine: it is retried sooner.
            period_s: Seconds between two looks, at least one.
            timeout_s: Seconds that one page may take.
            on_status: Called with each status, on the poller's thread.

        Raises:
            ValueError: The base URL is no http(s) URL; one sentence.
        """
        self._look = Look(
            endpoint_base_url, api_key, headers, embedded=embedded, timeout_s=timeout_s
        )
        self._embedded = embedded
        self._period_s = max(LEAST_PERIOD_S, period_s)
        self._on_status = on_status
        self._latest: ServerStatus | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake: asyncio.Event | None = None
        self._stopped = False

    def start(self) -> TelemetryPoller:
        """Begin to poll; a second call does nothing. A stopped poller stays stopped."""
        with self._lock:
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(
                    target=self._run, name="kvtui-telemetry", daemon=True
                )
                self._thread.start()
        return self

    def latest(self) -> ServerStatus | None:
        """The newest status; None before the first look has ended."""
        return self._latest

    def wake(self) -> None:
        """Look before the pause ends, though not twice a second: the user ran something."""
        with self._lock:
            if self._loop is not None and self._wake is not None:
                self._loop.call_soon_threadsafe(self._wake.set)

    def stop(self) -> None:
        """End it, in the middle of a request if need be; returns at once."""
        with self._lock:
            self._stopped = True
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait for the thread's end after ``stop``; False where it still runs."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        return thread is None or not thread.is_alive()

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(self._main())

    async def _main(self) -> None:
        with self._lock:
            if self._stopped:
                return
            self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
            self._task = asyncio.current_task()
        try:
            async with self._look.client.session() as session:
                await self._poll(session, self._wake)
        finally:
            with self._lock:
                self._loop = self._task = self._wake = None

    async def _poll(self, session: aiohttp.ClientSession, wake: asyncio.Event) -> None:
        seen: deque[ServerStatus] = deque(maxlen=128)
        failures = 0
        while True:
            status = await self._look.once(session)
            failures = 0 if status.answered else failures + 1
            while seen and (seen[0].kind != status.kind or status.at - seen[0].at > HITS_WINDOW_S):
                seen.popleft()
            if seen:
                self._latest = with_rates(status, seen[-1], seen[0])
            else:
                self._latest = status
            if status.answered:
                seen.append(status)
            if self._on_status is not None:
                self._on_status(self._latest)
            wake.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), self._pause(status, failures))
            early = status.at + LEAST_PERIOD_S - time.monotonic()
            if early > 0:  # woken: still no more than one look a second
                await asyncio.sleep(early)

    def _pause(self, status: ServerStatus, failures: int) -> float:
        return pause_s(
            status,
            failures,
            quiet=self._look.quiet,
            period_s=self._period_s,
            longest_s=EMBEDDED_RETRY_S if self._embedded else QUIET_S,
        )


def pause_s(
    status: ServerStatus, failures: int, *, quiet: bool, period_s: float, longest_s: float
) -> float:
    """Seconds until the next look.

    Args:
        status: The look just taken.
        failures: Looks in a row without an answer, this one included.
        quiet: Nothing is published.
        period_s: The usual pause.
        longest_s: The longest pause after failures, which doubles from one second on.
    """
    if not status.answered:
        return float(min(longest_s, 2.0 ** min(failures - 1, 10)))
    if quiet:
        return QUIET_S
    return max(period_s, SLOW_S) if status.kind in ("ollama", "lmstudio") else period_s
