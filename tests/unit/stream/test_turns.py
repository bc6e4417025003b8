"""What is slow takes turns, and requests begun together are sent together."""

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


async def test_built_requests_wait_for_those_being_built() -> None:
    turns = Turns()
    sent: list[str] = []

    async def send(name: str) -> None:
        await turns.all_built()
        sent.append(name)

    turns.begin()
    turns.begin()
    turns.end()
    early = asyncio.create_task(send("early"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert sent == []
    turns.end()
    await early
    await asyncio.wait_for(send("late"), 1)
    assert sent == ["early", "late"]
