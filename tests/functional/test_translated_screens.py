"""Every screen in Chinese: no English sentence on it, no row wider or narrower than the screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import Bench
from fakes import OK, Script, make_app
from rich.cells import cell_len
from test_experiments_screen import opened as experiments
from test_lang import lines
from test_pictures import FAILURES, failing
from test_planner_screen import opened as planner
from test_planner_screen import typed
from test_runs_screen import opened as runs
from test_runs_screen import record
from test_screen import at, ready, until
from test_tour import begun

from kvtui import language
from kvtui.failure import classify
from kvtui.ui.screens.record import CompareScreen, RecordScreen
from tests.prose import sentences_in

QUOTED = {
    *("Rate limit reached for requests", "The engine is overloaded"),
    *("Explain what a", "vllm bench serve"),
}
"""What a server said, the prompt of the tour, and names of commands stay as they are."""
CUT = replace(OK, finish_reason="length")


@pytest.fixture(autouse=True)
def _chinese(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path))
    language.use("zh")
    yield
    language.use("en")


def answer() -> Script:
    """An answer in Chinese, cut as asked, told by the classifier itself."""
    text = "缓存保存的是已经算过的键和值，下一步只需要读取它们。"
    pieces = [(0.05 + 0.005 * n, "content", text[n % len(text)]) for n in range(256)]
    return Script(pieces=pieces, verdict=classify(CUT), evidence=CUT)


async def seen(pilot: Any, width: int, state: str, *keys: str) -> None:
    """Press these; look for English, and for rows that are no whole row."""
    for key in keys:
        await pilot.press(key)
        await pilot.pause()
    await until(pilot, lambda: bool(lines(pilot.app)))
    rows = lines(pilot.app)
    assert {cell_len(row) for row in rows} == {width}, state
    assert [text for text in sentences_in(rows) if text not in QUOTED] == [], state


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_the_main_screen_and_its_dialogs(size: tuple[int, int]) -> None:
    app = make_app(answer(), failing("auth"), failing("network"), prompt="什么是 KV 缓存？")
    async with app.run_test(size=size) as pilot:
        await ready(pilot)
        await seen(pilot, size[0], "ready")
        await pilot.press("enter")
        await at(pilot, 0.6)
        await seen(pilot, size[0], "streaming")
        await seen(pilot, size[0], "formulas under way", "F")
        await pilot.press("escape")
        await at(pilot, 5)
        await seen(pilot, size[0], "done")
        for name, key in (
            ("memory", "2"), ("stream", "1"), ("formulas", "F"), ("help", "question_mark"),
            ("palette", "ctrl+p"), ("settings", "comma"), ("cards", "g"), ("models", "m"),
            ("editor", "e"), ("search", "slash"), ("save", "S"), ("endpoints", "E"),
        ):  # fmt: skip
            await seen(pilot, size[0], name, key)
            await pilot.press("escape", "escape")
            await until(pilot, lambda: app.screen is app.main)
        for name in ("auth", "network"):
            await pilot.press("enter")
            await at(pilot, app.fake.clock.now + 9)
            await seen(pilot, size[0], name)
            await seen(pilot, size[0], f"{name} large", "3")
            await seen(pilot, size[0], f"all of {name}", "o")
            await pilot.press("escape", "escape")


@pytest.mark.parametrize("name", sorted(FAILURES))
async def test_each_failure(name: str) -> None:
    app = make_app(replace(failing(name), pieces=[], hints=()), prompt="什么是 KV 缓存？")
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 9)
        await seen(pilot, 120, name)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_planner(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await planner(pilot)
        for field, value in (("model", "Llama-3.1-8B"), ("card", "L4"), ("engine", "vllm")):
            await typed(pilot, screen, field, value)
        await seen(pilot, size[0], "an answer")
        await seen(pilot, size[0], "all of it", "ctrl+n")
        await pilot.press("escape")
        await typed(pilot, screen, "users", "0")
        await seen(pilot, size[0], "a wrong field")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_experiments(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench().install(monkeypatch)
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await experiments(pilot)
        for preset in ("article", "kv-evidence", "compare-endpoints", "sweep"):
            screen.action_choose(preset)
            await seen(pilot, size[0], preset)
        await seen(pilot, size[0], "help", "question_mark")
        await pilot.press("escape", "enter")
        await until(pilot, lambda: bool(bench.begun) and screen.mode == "live")
        for level in range(3):
            bench.runner.level(level)
            for number in range(6):
                bench.runner.send(number, gaps=(0.005, 0.006) * 20)
                slow = 1 + 0.3 * level + 0.01 * number
                bench.runner.answer(
                    number, ttft_ms=50 * slow, tpot_ms=5 * slow, decode_tps=200 / slow,
                    e2e_ms=685 * slow,
                )  # fmt: skip
            await seen(pilot, size[0], "live")
            if level < 2:
                bench.runner.level_over()
        bench.runner.finish()
        await until(pilot, lambda: screen.mode == "results")
        await seen(pilot, size[0], "results")
        for key in "134":
            await seen(pilot, size[0], key, key)
            await pilot.press(key)
    bench.close()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_runs(size: tuple[int, int], tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await runs(pilot)
        await seen(pilot, size[0], "none")
        await pilot.press("escape")
        record(tmp_path, "20260101-slow", tpot=6.0)
        record(tmp_path, "20260102-fast", tpot=5.0, finished=False)
        screen = await runs(pilot)
        await until(pilot, lambda: len(screen.list.shown) == 2)
        await seen(pilot, size[0], "two")
        await seen(pilot, size[0], "deleting", "d")
        await seen(pilot, size[0], "tagging", "escape", "t")
        for key in ("escape", "space", "down", "space", "c"):
            await pilot.press(key)
            await pilot.pause()
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await seen(pilot, size[0], "compared")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RecordScreen))
        await seen(pilot, size[0], "one opened")
        await seen(pilot, size[0], "its findings", "4")
        await seen(pilot, size[0], "exporting", "e")


async def test_the_tour(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(*[answer() for _ in range(4)])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("f2")
        await begun(pilot, app.fake.session)
        await seen(pilot, 80, "the tour's first step")
