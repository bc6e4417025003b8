"""Keys pressed at random in the dialogs: nothing is raised, and the screen works afterwards."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import make_app
from test_screen import at, ready

from kvtui.doctor.steps import Step
from kvtui.ui.commands import COMMANDS
from kvtui.ui.screens.doctor import DoctorScreen
from kvtui.ui.screens.main.screen import MainScreen
from kvtui.ui.screens.planner import PlannerScreen

LEAVE = {"q", "ctrl+q"}
KEYS = sorted({key for command in COMMANDS for key in command.keys} - LEAVE)
MORE = ["up", "down", "left", "right", "tab", "shift+tab", "pageup", "pagedown", "home", "end"]
MORE += ["space", "backspace", "delete", "0", "5", "9", "minus", "full_stop", "comma", "x"]
MORE += ["ctrl+j", "ctrl+t", "ctrl+g", "ctrl+o", "ctrl+a", "ctrl+u", "ctrl+v", "y", "漢"]


def doctor(app: Any) -> DoctorScreen:
    async def begin() -> AsyncIterator[Step]:
        yield Step("dns", "ok", "127.0.0.1")
        yield Step("tcp", "failed", "refused")

    return DoctorScreen("127.0.0.1", begin)


def planner(app: Any) -> PlannerScreen:
    return PlannerScreen(app.main.memory, app.main.parts.requests.stop)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("make", [doctor, planner])
async def test_mashing_leaves_a_screen_that_works(
    make: Callable[[Any], Any], size: tuple[int, int], seed: int
) -> None:
    pick = random.Random(seed)
    app = make_app()
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        main.action_quit = lambda: None  # the palette has it, too
        for at_ in range(200):
            if isinstance(app.screen, MainScreen) and pick.random() < 0.7:
                await app.push_screen(make(app))
            await pilot.press(pick.choice([*KEYS, *MORE]))
            if at_ % 20 == 0:
                app.fake.clock.now += 1
                main.parts.frames.tick()
        for _ in range(10):
            await pilot.press("escape")
        await pilot.pause()
        if app._exception is not None:
            raise app._exception
        assert app.is_running
        assert app.screen is main
        await at(pilot, app.fake.clock.now + 100)
        main.stream.text.focus()
        before = len(app.fake.session.started)
        if main.conductor.waiting or main.conductor.why_not():
            main.conductor.form = type(main.conductor.form)(prompt="again")
        await pilot.press("enter")
        await pilot.pause()
        assert len(app.fake.session.started) == before + 1


SIZES = [(80, 24), (120, 40), (200, 50), (60, 18), (50, 12), (1, 1), (300, 10)]


@pytest.mark.parametrize("seed", [1, 2])
async def test_any_key_over_any_screen_at_any_size(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)  # answers are saved there
    pick = random.Random(seed)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        main.action_quit = lambda: None
        for _ in range(80):
            if isinstance(app.screen, MainScreen):
                await pilot.press(pick.choice(["x", "h", "p", "comma", "question_mark", "P", "t"]))
            await pilot.press(pick.choice([*KEYS, *MORE]))
            if pick.random() < 0.15:
                await pilot.resize_terminal(*pick.choice(SIZES))
                wide = app.size.width
                assert {s.cell_length for s in app.screen._compositor.render_strips()} <= {wide}
            app.fake.clock.now += 0.05
            main.parts.frames.tick()
        await pilot.resize_terminal(120, 40)
        for _ in range(15):
            await pilot.press("escape")
            await pilot.pause()
        if app._exception is not None:
            raise app._exception
        assert app.screen is main
        assert app.is_running
