"""Many requests at once on one loop: what is slow takes turns, so that reading never waits for it.

The SDK takes about a millisecond to build a request and half of one to take in a response. Done for
64 requests in one turn of the loop, that would stand between the sockets and their stamps.
"""

from __future__ import annotations

import asyncio

_MOST_S = 0.5
"""How long a built request waits for those that are still being built."""


class Turns:
    """One for all requests of a loop."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._building = 0
        self._built = asyncio.Event()
        self._built.set()

    async def take(self) -> None:
        """Go on alone in this turn of the loop: the sockets were looked at just before."""
        async with self._lock:
            await asyncio.sleep(0)

    def begin(self) -> None:
        """A request is going to be built."""
        self._building += 1
        self._built.clear()

    def end(self) -> None:
        """It was built, or never will be."""
        self._building -= 1
        if self._building <= 0:
            self._building = 0
            self._built.set()

    async def all_built(self) -> None:
        """Wait until no request is being built: those begun together are sent together."""
        if self._built.is_set():
            return
        try:
            async with asyncio.timeout(_MOST_S):
                await self._built.wait()
        except TimeoutError:
            return
