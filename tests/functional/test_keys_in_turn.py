"""Keys pressed without a pause: each belongs to the screen that the keys before it led to."""

from __future__ import annotations

from typing import Any

from fakes import make_app
from test_screen import ready, until
from textual.events import Key, Paste
from textual.widgets import Input

from kvtui.bench.running.presets import PRESETS
from kvtui.ui.screens.experiments import ExperimentsScreen
from kvtui.ui.screens.main.screen import MainScreen


async def at_once(pilot: Any, *keys: str) -> None:
    """What a terminal sends in one piece: no key waits for what the one before it does."""
    for key in keys:
        char = {"slash": "/", "space": " "}.get(key, key if len(key) == 1 else None)
        pilot.app.post_message(Key(key, char))
    await pilot.pause()
    await until(pilot, lambda: not pilot.app.keys.busy)
    await pilot.pause()


async def test_a_key_that_chooses_is_not_lost_on_the_screen_before() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await at_once(pilot, "x", "down", "down")
        screen = app.screen
        assert isinstance(screen, ExperimentsScreen)
        assert screen.lab.preset == list(PRESETS)[2]
        await at_once(pilot, "x", "x", "up")
        assert app.screen.lab.preset == list(PRESETS)[1]


async def test_what_is_typed_after_the_key_that_opens_a_list_is_its_filter() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        before = main.memory_pane.state.card
        await at_once(pilot, "g", *"4090", "enter")
        assert isinstance(app.screen, MainScreen)
        assert main.memory_pane.state.card != before
        assert "4090" in main.memory_pane.state.card
        assert not app.fake.session.started


async def test_a_paste_keeps_its_place_between_the_keys() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        app.post_message(Key("g", "g"))
        app.post_message(Paste("RTX 4090"))
        app.post_message(Key("enter", None))
        await pilot.pause()
        assert "4090" in main.memory_pane.state.card


async def test_tab_leads_on_before_the_next_key_acts() -> None:
    app = make_app(prompt="stays", system="goes")
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await at_once(pilot, "e", *"!!", "tab", "ctrl+u")
        assert main.stream.editor.query_one("#field-prompt").text == "stays!!"
        assert main.stream.editor.query_one("#field-system", Input).value == ""


async def test_letters_at_the_heels_of_an_opening_key_do_nothing_under_it() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        form = main.conductor.form
        for key in ("g", "m", "E", "M", "e", "comma", "T"):
            await at_once(pilot, key, "k", "P", "escape", "escape")
            assert main.conductor.form.kv_cache == form.kv_cache, key
            assert not main.has_class("-presenter"), key
            assert isinstance(app.screen, MainScreen), key


async def test_a_key_whose_widget_is_gone_holds_no_other_back() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        await at_once(pilot, "e", "x", "escape", "P")  # esc takes the editor away, which had focus
        assert main.has_class("-presenter")
        assert main.conductor.form.prompt.endswith("x")
