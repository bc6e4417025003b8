"""One request under way: its state now, its text, its figures when it is done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING

from kvtui.bench.requests.curl import Sent
from kvtui.measure.figures import LivePhase, RunFigures, Snapshot
from kvtui.measure.gaps import Gaps
from kvtui.measure.meter import Kept, Meter, Piece, Stamps
from kvtui.measure.rate import Sample
from kvtui.stream.quirks import Quirks
from kvtui.stream.request import Request

if TYPE_CHECKING:
    from kvtui.stream.exchange import Exchange


class Run:
    """One request under way; what a caller asks of it may be asked from any thread."""

    def __init__(self, meter: Meter, loop: asyncio.AbstractEventLoop, request: Request) -> None:
        self.request = request
        """What is asked, a repeat's prefix included."""
        self.quirks = Quirks()
        """How it was asked in the end, when it is done."""
        self._meter = meter
        self._loop = loop
        self._exchange: Exchange | None = None
        self._stopped = False
        self._future: Future[RunFigures] = Future()
        self.done = threading.Event()
        self.notes: tuple[str, ...] = ()
        """What was changed on the way; complete when it is done."""
        self.base_url = ""
        """The base URL in use when it is done."""

    def snapshot(self) -> Snapshot:
        """The state now."""
        return self._meter.snapshot()

    def drain(self) -> list[Piece]:
        """The text since the last call."""
        return self._meter.drain()

    def follow(self) -> None:
        """Keep the text for ``drain`` from now on, what came before included."""
        self._meter.follow()

    def glance(self) -> tuple[LivePhase, int]:
        """Phase and tokens so far, cheaper than a snapshot."""
        return self._meter.glance()

    def flows(self, seconds: float) -> bool:
        """Tokens have come for at least so long."""
        return self._meter.flows(seconds)

    def samples(self, n: int) -> list[Sample]:
        """At most ``n`` points of the running rate, oldest first."""
        return self._meter.series(n)

    def gaps(self) -> Gaps:
        """The gaps between chunks so far."""
        return self._meter.gaps()

    def add_gaps(self, total: Gaps) -> None:
        """Count the gaps between its chunks in a total of many requests."""
        self._meter.add_gaps(total)

    def stamps(self) -> Stamps:
        """When its parts happened."""
        return self._meter.stamps()

    def kept(self) -> Kept | None:
        """Its events, where the session was told to keep them; whole when it is done."""
        return self._meter.kept()

    def sent(self) -> Sent:
        """What was asked, as it went out in the end; complete when it is done."""
        endpoint = self.request.endpoint
        return Sent(endpoint, self.base_url or endpoint.base_url, self.request, self.quirks)

    def stop(self) -> None:
        """Cancel the request; ``done`` is set when its connection is closed."""
        self._stopped = True
        with suppress(RuntimeError):  # the session is closed: the request has ended anyway
            self._loop.call_soon_threadsafe(self.stop_here)

    def result(self, timeout: float | None = None) -> RunFigures:
        """Wait for the figures.

        Raises:
            TimeoutError: They did not come in ``timeout`` seconds; the request goes on.
        """
        return self._future.result(timeout)

    def on_done(self, callback: Callable[[RunFigures], None]) -> None:
        """Call ``callback`` with the figures, on the session's thread, when they are there."""
        self._future.add_done_callback(
            lambda future: None if future.cancelled() else callback(future.result())
        )

    # --- for the session, on its thread -----------------------------------------------------------

    def began(self, exchange: Exchange) -> None:
        """Its exchange is about to run; one that was stopped before is stopped at once."""
        self._exchange = exchange
        if self._stopped:
            exchange.stop()

    def stop_here(self) -> None:
        """As ``stop``, already on the session's thread."""
        if self._exchange is not None:
            self._exchange.stop()

    def ended(self, figures: RunFigures, exchange: Exchange) -> None:
        """The exchange came to an end; what it taught stays, then whoever waits is told."""
        self.quirks = exchange.quirks
        self.notes = tuple(exchange.notes)
        self.base_url = exchange.base_url
        self._future.set_result(figures)

    def failed(self, error: BaseException) -> None:
        """The exchange was cut short: there will be no figures."""
        if isinstance(error, asyncio.CancelledError):
            self._future.cancel()
        else:
            self._future.set_exception(error)

    def abandon(self) -> None:
        """The session is closed, or its thread is broken: nothing will come any more."""
        if not self._future.done():
            self._future.cancel()
        self.done.set()
