"""Ctrl+Z leads back to the shell from every screen and dialog, and undoes where one types."""

from __future__ import annotations

import pytest
from fakes import make_app
from test_screen import ready, until

from kvtui.ui.app import KvtuiApp


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The screens from which the process was suspended."""
    seen: list[str] = []

    def suspend(app: KvtuiApp) -> None:
        seen.append(type(app.screen).__name__)

    monkeypatch.setattr(KvtuiApp, "action_suspend_process", suspend)
    return seen


@pytest.mark.parametrize("key", ["", "x", "h", "p", "D", "question_mark", "comma", "ctrl+p", "T"])
async def test_from_every_screen(stops: list[str], key: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        if key:
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.main)
        await pilot.press("ctrl+z")
        assert stops == [type(app.screen).__name__]


async def test_not_while_something_is_typed(stops: list[str]) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("e", "x", "ctrl+z")
        assert stops == []
