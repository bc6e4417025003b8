"""The other screens, in every state, as pictures: planner, doctor, experiments, runs, tour, …"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import Bench
from fakes import REMOTE, Script
from scenes import look, scene, sizes
from test_experiments_screen import opened as experiments
from test_failures import steps
from test_pictures import failing
from test_planner_screen import opened as planner
from test_planner_screen import typed
from test_runs_screen import opened as runs
from test_runs_screen import record
from test_screen import at, until
from test_tour import SCRIPTS, over
from test_tour import begun as tour

from kvtui import language
from kvtui.ui.screens.record import CompareScreen, RecordScreen
from kvtui.ui.stream.conductor import Conductor


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    fake = Bench().install(monkeypatch)
    yield fake
    fake.close()


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The same paths, dates and language everywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KVTUI_RUNS", "runs")
    monkeypatch.setenv("KVTUI_CONFIG", "/home/me/.config/kvtui/config.toml")
    monkeypatch.setenv("KVTUI_STATE", "/nowhere/state.toml")
    at_noon = partial(Conductor, now=lambda: datetime(2026, 11, 29, 12, 4, 11))
    monkeypatch.setattr("kvtui.ui.screens.tour.begin.Conductor", at_noon)
    monkeypatch.setattr(
        "kvtui.bench.records.recorder._now", lambda: "2026-11-29T12:04:11.000+00:00"
    )
    monkeypatch.setattr("kvtui.bench.records.recorder.secrets.token_hex", lambda n: "5f" * n)
    yield
    language.use("en")


@sizes
async def test_planner(size: tuple[int, int]) -> None:
    async with scene("planner", size, prepared=REMOTE) as (pilot, album):
        screen = await planner(pilot)
        await look(pilot, album, "opened")
        await typed(pilot, screen, "card", "RTX 4090")
        await typed(pilot, screen, "users", "8")
        screen._draw_plot()
        await look(pilot, album, "a card and users")
        await look(pilot, album, "plot large", "ctrl+g")
        await pilot.press("ctrl+g")
        await typed(pilot, screen, "users", "0")
        await typed(pilot, screen, "model", "Llama-3")
        screen._draw_plot()
        await look(pilot, album, "wrong fields")


@sizes
async def test_doctor(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    async def examine(case: Any) -> AsyncIterator[Any]:
        for index, step in enumerate(steps("key")):
            if index == 4:
                await asyncio.to_thread(go.wait)
            yield step

    monkeypatch.setattr("kvtui.doctor.checkup.examine", examine)
    async with scene("doctor", size, prepared=REMOTE) as (pilot, album):
        await pilot.press("D")
        screen = pilot.app.screen
        await until(pilot, lambda: len(screen.steps) == 4)
        await look(pilot, album, "examining")
        go.set()
        await until(pilot, lambda: screen.over)
        await look(pilot, album, "one failed")


@sizes
async def test_experiments(
    size: tuple[int, int], bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvtui.ui.widgets.bench_panes.REDRAW_S", 0.0)
    async with scene("experiments", size) as (pilot, album):
        screen = await experiments(pilot)
        await look(pilot, album, "form")
        screen.action_choose("sweep")
        await look(pilot, album, "wrong field", "tab", *"1,2x")
        await look(pilot, album, "help", "escape", "question_mark")
        await pilot.press("escape", "tab", *["backspace"] * 4, "escape")
        await pilot.press("enter")
        await until(pilot, lambda: bool(bench.begun) and screen.mode == "live")
        runner = bench.runner

        def answer(level: int, number: int) -> None:
            slow = 1 + 0.3 * level + 0.01 * number
            failed = {"failed": True, "cls": "server", "subcode": "unavailable"}
            runner.answer(
                number,
                ttft_ms=50 * slow,
                tpot_ms=5 * slow,
                decode_tps=200 / slow,
                e2e_ms=685 * slow,
                **(failed if (level, number) == (1, 3) else {}),
            )

        for level, requests in ((0, 10), (1, 10), (2, 1)):
            runner.level(level)
            for number in range(requests):
                runner.send(number, gaps=(0.005, 0.006, 0.009) * 20)
                answer(level, number)
            if level < 2:
                runner.level_over()
        runner.send(1, phase="decode", tokens=97)
        runner.send(2, phase="decode", tokens=41)
        runner.send(3)
        await until(pilot, lambda: len(screen.lab.experiment.state().levels) == 2)
        screen._timer.pause()  # what a machine takes is the same on no other
        live = screen.lab.experiment.state()
        live = replace(live, tps=138.0, lag_ms=1.2, cpu_share=0.31)
        screen.results.show_live(live, screen.lab.experiment.plots())
        await look(pilot, album, "running")
        for key, pane in (("1", "plot while it runs"), ("2", "streams")):
            await pilot.press(key)
            await look(pilot, album, pane)
            await pilot.press(key)
        screen._timer.resume()
        for number in (1, 2, 3):
            answer(2, number)
        runner.finish()
        await until(pilot, lambda: screen.mode == "results")
        await look(pilot, album, "results")
        for key, pane in (("1", "plot"), ("3", "levels"), ("4", "findings")):
            await pilot.press(key)
            await look(pilot, album, f"{pane} zoomed")
            await pilot.press(key)


@sizes
async def test_runs(size: tuple[int, int]) -> None:
    folder = Path("runs")
    async with scene("runs", size) as (pilot, album):
        screen = await runs(pilot)
        await look(pilot, album, "none")
        await pilot.press("escape")
        record(folder, "20260101-slow", tpot=6.0)
        record(folder, "20260102-fast", tpot=5.0, finished=False)
        screen = await runs(pilot)
        await until(pilot, lambda: len(screen.list.shown) == 2)
        await look(pilot, album, "two")
        await look(pilot, album, "deleting", "d")
        await look(pilot, album, "tagging", "escape", "t")
        await pilot.press("escape", "space", "down", "space", "c")
        await until(pilot, lambda: isinstance(pilot.app.screen, CompareScreen))
        await look(pilot, album, "compared")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecordScreen))
        await look(pilot, album, "one opened")


@sizes
async def test_settings(size: tuple[int, int]) -> None:
    async with scene("settings", size, max_tokens=64) as (pilot, album):
        await look(pilot, album, "settings", "comma")


@sizes
async def test_tour(size: tuple[int, int]) -> None:
    async with scene("tour", size, *SCRIPTS) as (pilot, album):
        await pilot.press("f2")
        screen = await tour(pilot, pilot.app.fake.session)
        for number in (1, 2, 3):
            if number == 1:
                pilot.app.fake.clock.now += 0.3
                while screen.header.phase != "decode":
                    screen.parts.frames.tick()
                    await pilot.pause()
                await look(pilot, album, "1 running")
            await over(pilot, screen)
            await look(pilot, album, f"{number} over")
            await pilot.press("enter")
        for number in (4, 5, 6, 7):
            await look(pilot, album, f"{number}")
            await pilot.press("enter")
        await over(pilot, screen)
        await look(pilot, album, "8 over")


@sizes
async def test_in_chinese(size: tuple[int, int], bench: Bench) -> None:
    language.use("zh")
    text = "缓存保存的是已经算过的结果，下一步只需要在它后面追加。Without it, every step "
    pieces = [(0.05 + 0.005 * n, "content", text[n % len(text)]) for n in range(256)]
    scripts = Script(pieces=pieces), failing("auth")
    async with scene("zh", size, *scripts, prompt="什么是 KV 缓存？") as (pilot, album):
        await look(pilot, album, "ready")
        await pilot.press("enter")
        await at(pilot, 0.6)
        await look(pilot, album, "streaming")
        await at(pilot, 5)
        await pilot.press("enter")
        await at(pilot, 10)
        await look(pilot, album, "failed")
        await look(pilot, album, "memory zoomed", "2")
        await look(pilot, album, "errors zoomed", "3")
        await look(pilot, album, "help", "escape", "question_mark")
        await look(pilot, album, "settings", "escape", "comma")
        await pilot.press("escape")
        await experiments(pilot)
        await look(pilot, album, "experiments")
        await pilot.press("escape")
        await planner(pilot)
        await look(pilot, album, "planner")
