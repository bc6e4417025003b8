"""How long a question beside the timed streams may take, and what it was waiting for then."""

from __future__ import annotations

import asyncio
from time import perf_counter

from kvtui.failure import ExceptionFact
from kvtui.failure.evidence import Phase, WaitingFor
from kvtui.proxy import Proxy
from kvtui.stream.request import Timeouts
from kvtui.stream.sending import Flight

LIST_S = 15.0
"""What a list of models may take at most."""


class Patience:
    """Time limits of one short question: the connection's own, then one for the answer.

    Ask within ``limit`` and with ``flight`` as the current one; where ``TimeoutError`` is raised
    the rest says what to put into the evidence.
    """

    def __init__(self, proxy: Proxy | None, timeouts: Timeouts) -> None:
        """Make it inside the running loop, right before the question."""
        self._timeouts = timeouts
        self._begun = perf_counter()
        self._armed = self._begun
        self.flight = Flight(proxy, connected=self._connected)
        self.limit = asyncio.timeout(min(timeouts.connect, LIST_S))

    def _connected(self, t: float, seconds: float, reused: bool) -> None:  # noqa: ARG002
        self._armed = perf_counter()
        rest = min(self._timeouts.headers, LIST_S)
        self.limit.reschedule(asyncio.get_running_loop().time() + rest)

    @property
    def phase(self) -> Phase:
        """How far the question came."""
        return "headers" if self.waiting_for == "headers" else "connect"

    @property
    def waiting_for(self) -> WaitingFor:
        """What it waits for."""
        return self.flight.awaiting

    @property
    def waited_s(self) -> float:
        """Seconds that it has waited for this."""
        return perf_counter() - self._armed

    def fact(self) -> ExceptionFact:
        """What ran out, as a link of an exception chain."""
        seconds = f"within {self.waited_s:.3g} s"
        if self.phase == "connect":
            missing = "no TLS handshake" if self.waiting_for == "tls" else "no connection"
            return ExceptionFact("ConnectTimeout", f"{missing} {seconds}")
        return ExceptionFact("ReadTimeout", f"no model list {seconds}")
