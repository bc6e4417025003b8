"""The adviser's line on the screen: it comes with the figures, goes with a run, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import REMOTE, Script, make_app
from test_screen import at, ready

from kvtui.ui.look.rows import plain

FEW = Script(pieces=[(0.05 + 0.005 * n, "content", "word ") for n in range(64)])


def line(app: object) -> str:
    return "\n".join(plain(row) for row in app.main.advice_line.rows)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_line_comes_after_a_run_and_its_why_shows_the_numbers(
    size: tuple[int, int],
) -> None:
    app = make_app(FEW, max_tokens=64)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        assert not main.advice_line.display
        await pilot.press("a")  # nothing to say yet: said, not raised
        await pilot.press("enter")
        await at(pilot, 0.2)
        assert not main.advice_line.display
        await at(pilot, 5)
        assert main.advice_line.display
        assert "max_tokens 64" in line(app)
        assert main.advice_line.region.bottom == main.footer.region.y
        await pilot.press("a")
        await pilot.pause()
        assert "64 tokens" in app.screen._text
        await pilot.press("a")
        assert app.screen is main
        await pilot.press("enter")
        await at(pilot, 5.1)
        assert not main.advice_line.display


async def test_a_choice_that_does_not_fit_is_said_at_once_and_taken_back() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("w", *"bbbbbb")
        await pilot.pause()
        assert f"{main.memory_pane.state.max_requests} do" in line(app)
        await pilot.press("b", "b", "b")  # 128, 256, then one again
        await pilot.pause()
        assert not main.advice_line.display


async def test_a_server_elsewhere_is_measured_against_no_card() -> None:
    app = make_app(prepared=REMOTE, gpu="RTX 4090")
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        await pilot.pause()
        assert main.memory.served is not None
        assert "bandwidth" not in line(app)


async def test_the_card_of_the_profile_is_the_servers() -> None:
    named = replace(REMOTE, endpoint=replace(REMOTE.endpoint, gpu="RTX 4090"))
    app = make_app(prepared=named, gpu="80GB")
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        for _ in range(100):
            if "RTX 4090" in line(app):
                break
            await pilot.pause(0.02)
        assert "bound" in line(app)
        assert "80 GB" not in line(app)
