"""What is not touched is quiet: no timer, no repainting of what nobody sees."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import make_app
from test_screen import at, ready, until
from textual.widgets import Input, TextArea

from kvtui.ui.messages import ServerSaid

FIELDS = [["e"], ["e", "tab"], ["enter", "slash"], ["ctrl+p"], ["T"], ["comma", "down", "enter"]]
FIELDS += [["x", "tab"], ["h", "slash"], ["p", "tab"]]
OVER = [["question_mark"], ["x"], ["h"], ["p"], ["comma"], ["ctrl+p"], ["x", "ctrl+p"]]


def painted(app: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What is displayed from now on, as numbers of characters."""
    sizes: list[int] = []
    display = app._display

    def seen(screen: Any, update: Any) -> None:
        if update is not None:
            sizes.append(len(update.render_segments(app.console)))
        display(screen, update)

    monkeypatch.setattr(app, "_display", seen)
    return sizes


@pytest.mark.parametrize("keys", FIELDS, ids="+".join)
async def test_no_cursor_blinks(
    keys: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path / "runs"))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        for key in keys:
            await pilot.press(key)
            app.fake.clock.now += 1
            app.main.parts.frames.tick()
            await pilot.pause()
        assert isinstance(app.focused, Input | TextArea)
        assert not app.focused.cursor_blink


@pytest.mark.parametrize("keys", OVER, ids="+".join)
async def test_what_happens_behind_a_screen_paints_only_what_is_seen_of_it(
    keys: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path / "runs"))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        clear = app.screen.styles.background.a < 1 and len(keys) == 1
        sizes = painted(app, monkeypatch)
        for _ in range(5):  # the same figure again: nothing is to be painted
            main.post_message(ServerSaid(main.opened.server_kv))
            await pilot.pause()
        assert sum(sizes) == 0
        app.fake.clock.now += 0.5  # text comes
        main.parts.frames.tick()
        await pilot.pause()
        assert bool(sizes) is clear
        assert sum(sizes) < 30_000
        for _ in keys:
            await pilot.press("escape")
            await pilot.pause()
        assert app.screen is main
        text = "\n".join(strip.text for strip in main._compositor.render_strips())
        assert main.stream.text.history.text().split()[0] in text


def ticking(app: Any) -> list[str]:
    """The timers that will fire."""
    nodes = [
        app,
        *(node for screen in app.screen_stack for node in screen.walk_children(with_self=True)),
    ]
    return [
        f"{node!r}: {timer!r}" for node in nodes for timer in node._timers if timer._active.is_set()
    ]


@pytest.mark.parametrize("keys", [[], ["t"], ["F"], ["f2"], *FIELDS, *OVER], ids="+".join)
async def test_nothing_ticks_at_rest(
    keys: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path / "runs"))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 60.0)
        assert not main.conductor.running
        for key in keys[1:] if keys[:1] == ["enter"] else keys:  # a run there was already
            await pilot.press(key)
            await pilot.pause()
        await until(pilot, lambda: not ticking(app), seconds=3)
