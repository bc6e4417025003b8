"""What somebody who sees the screen for the first time tripped over, each as a kind."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import make_app
from test_screen import at, ready, until


def on_screen(main: Any) -> str:
    """The cells of the terminal as they are, whatever the widgets believe."""
    return "\n".join(strip.text for strip in main._compositor.render_strips())


# --- what was hidden ------------------------------------------------------------------------------


async def test_edited_parameters_stand_under_the_stream_at_once() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("e", "tab", "tab", "backspace", "backspace", "backspace", *"30")
        await pilot.press("tab", "tab", "backspace", *"2", "enter")
        await until(pilot, lambda: main.stream.editor is None)
        await pilot.pause()
        assert app.fake.session.started[0].request.max_tokens == 30
        assert "max 30 · temp auto · ×2" in on_screen(main)
        assert "max 512" not in on_screen(main)


@pytest.mark.parametrize("zoom", ["1", "2", "3"])
async def test_a_pane_that_comes_back_shows_what_happened_meanwhile(zoom: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.3)
        await pilot.press(zoom)
        await at(pilot, 5)
        await pilot.press(zoom)
        await pilot.pause()
        screen = on_screen(main)
        assert "256 / 512" in screen
        assert f"{38 + 256} / 2,048" in screen
        assert "✂ cut 1" in screen
        assert main.stream.text.history.lines[-1].text.strip() in screen
