"""What is slow takes turns, so that the sockets are looked at in between."""

from __future__ import annotations

import asyncio

from kvtui.stream.turns import Turns


async def test_one_goes_on_in_each_turn_of_the_loop() -> None:
    turns = Turns()
    loop_turns = 0
    seen: list[int] = []

    async def count() -> None:
        nonlocal loop_turns
        while True:
            loop_turns += 1
            await asyncio.sleep(0)

    async def work() -> None:
        await turns.take()
        seen.append(loop_turns)

    counter = asyncio.create_task(count())
    await asyncio.gather(*(work() for _ in range(8)))
    counter.cancel()
    assert len(set(seen)) == 8
