"""The real thing without a terminal: the screen, its session and the embedded engine's process."""

from __future__ import annotations

import asyncio
import math
import os
import re
import signal
import time
import urllib.request
from typing import Any

import pytest
from test_screen import ready, shown, until

from kvtui.doctor.steps import TITLES
from kvtui.ui.app import KvtuiApp
from kvtui.ui.screens.doctor import DoctorScreen

pytestmark = pytest.mark.timeout(120)

READY_S = 60.0


async def start(pilot: Any) -> Any:
    main = pilot.app.main
    await until(
        pilot,
        lambda: main.conductor is not None and main.conductor.endpoint.ready,
        seconds=READY_S,
    )
    return await ready(pilot)


def gauge(main: Any, name: str) -> int:
    """A figure of the engine's own /metrics."""
    url = main.conductor.prepared.endpoint.base_url.removesuffix("/v1") + "/metrics"
    with urllib.request.urlopen(url, timeout=10) as answer:  # loopback
        text = answer.read().decode()
    found = re.search(rf"^{re.escape(name)}(?:{{[^}}]*}})? ([\d.e+]+)$", text, re.MULTILINE)
    assert found, text
    return round(float(found[1]))


def in_use(main: Any) -> Any:
    """What the Memory pane shows in a frame drawn now."""
    main.conductor._measured = -math.inf  # this frame measures, whatever the time
    main.parts.frames.tick()
    return main.memory_pane.state


LONG = {"max_tokens": 1_900, "extra_body": {"ignore_eos": True}}
"""A stream that goes on while the test looks, however quick the machine is."""


async def test_in_use_is_what_the_engine_holds_to_one_token() -> None:
    app = KvtuiApp(LONG)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await start(pilot)
        loop = asyncio.get_running_loop()
        per_token = main.conductor.prepared.engine_geometry.kv_bytes_per_token
        assert main.memory_pane.state.bytes_per_token == per_token
        await pilot.press("enter")
        await until(pilot, lambda: main.parts.memory.live_tokens > 20, seconds=30)
        for _ in range(3):
            before = await loop.run_in_executor(None, gauge, main, "kvtui:kv_cache_tokens_in_use")
            # What the engine held then has reached the pane soon, and never is more than it holds.
            await until(pilot, lambda: in_use(main).live_tokens >= before - 1)  # noqa: B023
            shown_now = in_use(main)
            after = await loop.run_in_executor(None, gauge, main, "kvtui:kv_cache_tokens_in_use")
            assert shown_now.live_tokens <= after + 1
            assert shown_now.used_bytes == shown_now.live_tokens * per_token
        await pilot.press("escape")
        await until(pilot, lambda: not main.conductor.running)


async def test_the_servers_own_bytes_are_the_panes_own() -> None:
    app = KvtuiApp(LONG)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await start(pilot)
        per_token = main.conductor.prepared.engine_geometry.kv_bytes_per_token
        await pilot.press("enter")
        looks = []
        for _ in range(2):
            before = main.opened.server_kv
            await until(
                pilot,
                lambda before=before: (
                    ((kv := main.opened.server_kv) is not before and bool(kv.tokens_used))
                    or not main.conductor.running
                ),
                seconds=30,
            )
            if not main.conductor.running:
                break
            looks.append(main.opened.server_kv)
        await pilot.press("escape")
        await until(pilot, lambda: not main.conductor.running)
    assert looks
    for kv in looks:
        # What the pane shows for as many tokens is what the engine's arrays hold, to the byte.
        assert kv.bytes_used == main.memory.state(kv.tokens_used).used_bytes
        assert kv.bytes_used == kv.tokens_used * per_token
        assert kv.source == "kvtui:kv_cache_bytes_in_use"
        assert kv.running == 1


async def test_the_doctor_finds_the_engine_well() -> None:
    app = KvtuiApp({})
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot)
        await pilot.press("D")
        screen = app.screen
        assert isinstance(screen, DoctorScreen)
        await until(pilot, lambda: screen.over, seconds=60)
        assert [step.name for step in screen.steps] == list(TITLES)
        assert not any(step.state == "failed" for step in screen.steps)
        assert screen.steps[-2].state == "ok"


async def test_escape_stops_within_100_ms() -> None:
    app = KvtuiApp(LONG)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await start(pilot)
        took: list[float] = []
        while len(took) < 12 and sum(seconds < 0.1 for seconds in took) < 2:
            await pilot.press("enter")
            await until(pilot, lambda: bool(main.conductor.stream.snapshot.tokens), seconds=30)
            run = main.conductor._run
            assert run is not None
            begun = time.perf_counter()
            await main.action_back()  # what the key runs once it has reached the app
            while not run.done.is_set():  # noqa: ASYNC110 - a thread sets it
                await asyncio.sleep(0.001)
            took.append(time.perf_counter() - begun)
            await until(pilot, lambda: not main.conductor.running)
            assert main.header.phase == "stopped"
        # Twice, of so many as it takes on a busy machine: nothing that the app waits for is longer.
        assert sorted(took)[1] < 0.1, took


async def test_a_run_has_text_figures_and_an_outcome() -> None:
    app = KvtuiApp({"max_tokens": 24, "repeat": 2})
    async with app.run_test(size=(120, 40)) as pilot:
        main = await start(pilot)
        await pilot.press("enter")
        await until(
            pilot,
            lambda: main.conductor.errors.requests == 2 and not main.conductor.running,
            seconds=60,
        )
        figures = shown(main.stream.figures)
        assert re.search(r"TTFT +[\d.]+ m?s", figures)
        assert re.search(r"tokens +\d+ / 24", figures)
        assert "usage" in figures
        assert main.stream.text.history.text()
        assert main.conductor.errors.failed == 0


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("demo-auth", "AUTH"),
        ("demo-network", "NETWORK"),
        ("demo-parameter", "PARAMETER"),
        ("demo-filter", "FILTER"),
        ("demo-ratelimit", "RATE/QUOTA"),
        ("demo-server", "SERVER"),
        ("demo-truncated", "TRUNCATED"),
    ],
)
async def test_each_demo_shows_its_class(model: str, word: str) -> None:
    app = KvtuiApp({"model": model})
    async with app.run_test(size=(120, 40)) as pilot:
        main = await start(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: main.conductor.errors.requests == 1, seconds=30)
        await pilot.pause()
        text = shown(main.errors)
        assert word in text
        assert main.conductor.errors.latest.verdict.message


async def test_a_dead_engine_is_started_again() -> None:
    app = KvtuiApp({"max_tokens": 8})
    async with app.run_test(size=(120, 40)) as pilot:
        main = await start(pilot)
        first = main.conductor.prepared
        os.kill(first.engine_pid, signal.SIGKILL)  # the child of this very test
        await pilot.press("enter")
        await until(pilot, lambda: main.conductor.errors.failed == 1, seconds=30)
        assert "NETWORK" in shown(main.errors)
        await until(pilot, lambda: main.conductor.prepared is not first, seconds=READY_S)
        await pilot.press("enter")
        await until(pilot, lambda: main.conductor.errors.requests == 2, seconds=30)
        assert main.conductor.errors.failed == 1


async def test_nothing_listens_there() -> None:
    app = KvtuiApp({"base_url": "http://127.0.0.1:9/v1"})
    async with app.run_test(size=(80, 24)) as pilot:
        main = app.main
        await until(
            pilot,
            lambda: main.conductor is not None and main.conductor.prepared is not None,
            seconds=READY_S,
        )
        await pilot.pause()
        assert "NETWORK" in shown(main.errors)
        assert "failed" in shown(main.errors) or main.conductor.errors.failed == 1
