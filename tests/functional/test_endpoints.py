"""Another endpoint while the screen is open: its key, what runs, what comes too late."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from fakes import EMBEDDED, REMOTE, FakeSession, make_app
from test_screen import at, ready, shown, until

from kvtui.config import Settings
from kvtui.ui.opening import sessions as ui_sessions
from kvtui.ui.screens.picker import PickerScreen

CONFIG = """
[profiles.box]
base_url = "http://user:pw@10.0.0.5:8000/v1"
model = "Qwen/Qwen3-8B"
api_key_env = "BOX_KEY"

[profiles.far]
base_url = "https://far.example/v1"
"""


class Slow(FakeSession):
    """Prepares when the test says so."""

    def __init__(self, clock: Any, options: Mapping[str, Any]) -> None:
        super().__init__(clock)
        self.options = options
        self.future: Future[Any] = Future()

    def prepare(self, *, unbidden: bool = False) -> Future[Any]:
        assert not unbidden
        return self.future


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Slow]:
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    sessions: list[Slow] = []

    def new_session(options: Mapping[str, Any], settings: Settings) -> Slow:
        assert "box" in settings.profiles
        sessions.append(Slow(None, options))
        return sessions[-1]

    monkeypatch.setattr(ui_sessions, "new_session", new_session)
    return sessions


async def test_a_profile_is_chosen_with_its_own_key_and_none_of_the_flags(made: list[Slow]) -> None:
    app = make_app(prepared=REMOTE, base_url="https://gpu.example/v1", api_key_env="VLLM_KEY",
                   model="m", headers=(("X-Org", "1"),), max_tokens=64)  # fmt: skip
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("E")
        rows = shown(app.screen.query_one("#choices"))
        assert "gpu.example/v1 ●" in rows
        assert "from --base-url" in rows
        assert "10.0.0.5:8000/v1 · Qwen/Qwen3-8B" in rows
        assert "pw" not in rows
        await pilot.press(*"box", "enter")
        await until(pilot, lambda: len(made) == 1)
        assert made[0].options == {"max_tokens": 64, "profile": "box"}
        await until(pilot, lambda: app.fake.session.closed)
        assert "box" in shown(main.header)
        assert "starting" in shown(main.header)
        made[0].clock = app.fake.clock
        made[0].future.set_result(EMBEDDED)
        await until(pilot, lambda: main.conductor.prepared is EMBEDDED)
        await pilot.press("enter")
        assert len(made[0].started) == 1


async def test_what_runs_is_stopped_first(made: list[Slow]) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.5)
        await main.parts.endpoints.take("far")
        assert app.fake.session.started[0].stopped_at is not None
        assert not main.conductor.running
        assert main.header.phase == "stopped"
        assert made[0].options["profile"] == "far"
        assert main.memory_pane.state.model == ""  # nobody knows yet who answers


async def test_an_endpoint_that_was_left_is_heard_no_more(made: list[Slow]) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await main.parts.endpoints.take("far")
        await main.parts.endpoints.take("embedded")
        assert made[1].options["profile"] == "embedded"
        made[1].future.set_result(EMBEDDED)
        made[0].future.set_result(REMOTE)
        await until(pilot, lambda: main.conductor.prepared is EMBEDDED)
        await pilot.pause()
        assert main.conductor.prepared is EMBEDDED
        assert main.parts.endpoints.chosen == "embedded"


async def test_the_choice_in_force_is_marked_and_leaving_changes_nothing(made: list[Slow]) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("E", "down", "escape")
        assert not isinstance(app.screen, PickerScreen)
        assert made == []
