"""An asyncio server in a thread of its own, so that a test may block."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator


@contextlib.contextmanager
def in_thread(start: Callable[[], Awaitable[asyncio.Server]]) -> Iterator[int]:
    """Run the server that ``start`` makes; gives its port, ends it afterwards."""
    loop = asyncio.new_event_loop()
    ports: list[int] = []
    ready = threading.Event()

    async def main(stop: asyncio.Event) -> None:
        server = await start()
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await stop.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(main(stop)), daemon=True)
    thread.start()
    assert ready.wait(10), "the test's server did not start"
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
