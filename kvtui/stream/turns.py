"""Many requests at once on one loop: what is slow takes turns, so that reading never waits for it.

The SDK takes about a millisecond to build a request and half of one to take in a response. Done for
64 requests in one turn of the loop, that would stand between the sockets and their stamps.
"""

from __future__ import annotations

import asyncio


class Turns:
    """One for all requests of a loop.

    Each request goes out as soon as it is built: requests that wait for each other reach a server
    all at once, and it reads the last of them late.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def take(self) -> None:
        """Go on alone in this turn of the loop: the sockets were looked at just before."""
        async with self._lock:
            await asyncio.sleep(0)
