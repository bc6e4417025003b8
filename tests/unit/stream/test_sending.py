"""t_send: the last byte of the request is handed to the socket."""

from __future__ import annotations

import asyncio
import socket
import time
from time import perf_counter
from typing import Any, cast

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_writer import StreamWriter

from kvtui.stream.sending import Flight, SentBody


class SlowCall(asyncio.Transport):
    """Takes everything at once; then the system lets another process run for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0.0

    def write(self, data: Any) -> None:
        self.taken = perf_counter()
        time.sleep(0.02)

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0


async def sent_over(transport: asyncio.Transport, protocol: BaseProtocol, size: int) -> float:
    protocol.transport = cast("Any", transport)
    stamps: list[float] = []
    body = SentBody(b"x" * size, Flight(sent=stamps.append))
    writer = StreamWriter(protocol, asyncio.get_running_loop())
    await body.write_with_length(cast("Any", writer), size)
    (stamp,) = stamps
    return stamp


def test_what_is_taken_at_once_is_sent_when_it_is_taken() -> None:
    async def send() -> None:
        transport = SlowCall()
        begun = perf_counter()
        stamp = await sent_over(transport, BaseProtocol(asyncio.get_running_loop()), 200_000)
        assert begun < stamp <= transport.taken

    asyncio.run(send())


def test_what_the_socket_takes_bit_by_bit_is_sent_with_its_last_byte() -> None:
    """The other side stops half-way: what does not fit waits, and is not sent yet."""
    size = 8 << 20
    half_read: list[float] = []

    async def send() -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        protocol = BaseProtocol(loop)
        transport, _ = await loop.create_connection(lambda: protocol, sock=ours)

        def read(left: int) -> None:
            while left > 0 and (data := theirs.recv(1 << 16)):
                left -= len(data)

        def read_all() -> None:
            read(size // 2)
            half_read.append(perf_counter())
            time.sleep(0.1)  # it is seen meanwhile that bytes are left
            read(size // 2)

        reading = asyncio.create_task(asyncio.to_thread(read_all))
        stamp = await sent_over(transport, protocol, size)
        assert stamp > half_read[0]
        transport.close()
        await reading
        theirs.close()

    asyncio.run(send())
