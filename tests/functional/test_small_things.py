"""What a newcomer tried: titles and the parameters clicked, F1 in a field, a copy that says so."""

from __future__ import annotations

import pytest
from fakes import make_app
from test_screen import at, ready, shown

from kvtui.memory import budget, cards, catalogue, need
from kvtui.redaction import redact
from kvtui.ui.screens.help import HelpScreen
from kvtui.ui.screens.main.screen import MainScreen


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_click_on_a_title_zooms_and_one_beside_it_does_not(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        for number, pane in enumerate((main.stream, main.memory_pane, main.errors), 1):
            await pilot.click(f"#{pane.id}", offset=(4, 0))
            assert main.has_class(f"-zoom-{number}")
            await pilot.press(str(number))
            assert not main.has_class(f"-zoom-{number}")
            await pilot.click(f"#{pane.id}", offset=(24, 0))
            assert not main.has_class(f"-zoom-{number}")


async def test_a_click_on_the_parameters_edits_them_and_one_on_the_cache_switches_it() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.click(
            "#prompt", offset=(shown(main.stream.prompt).split("\n")[2].index("cache"), 2)
        )
        assert not main.opened.conductor.form.kv_cache
        await pilot.click("#prompt", offset=(5, 2))
        assert main.stream.editor is not None


@pytest.mark.parametrize("key", ["e", "g", "E", "comma", "p", "x", "h"])
async def test_f1_opens_the_help_wherever_one_is_and_closes_it_again(key: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press(key)
        before = app.screen
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("f1")
        assert app.screen is before


async def test_in_a_field_the_footer_names_the_key_that_helps_there() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        assert "? help" in shown(main.footer)
        await pilot.press("e")
        assert "F1 help" in shown(main.footer)
        await pilot.press("escape")
        assert "? help" in shown(main.footer)


async def test_what_is_marked_and_copied_is_said() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 3.0)
        await pilot.press("escape")
        main.stream.text.text_select_all()
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)
        await pilot.press("ctrl+c")
        assert app.clipboard
        said = [notice.message for notice in app._notifications]
        assert any("characters are copied" in each for each in said)


async def test_what_the_built_in_model_knows_is_said_at_every_size() -> None:
    for size in ((80, 24), (120, 40)):
        app = make_app()
        async with app.run_test(size=size) as pilot:
            await ready(pilot)
            rows = " ".join(strip.text for strip in app.screen._compositor.render_strips())
            assert "knows only texts" in " ".join(rows.replace("│", " ").split())
            assert "every key" in rows


def test_a_header_after_a_bearer_challenge_keeps_its_name() -> None:
    told = "www-authenticate: Bearer\ncontent-type: application/json"
    assert redact(told) == told
    assert redact('www-authenticate: Bearer realm="api"') == 'www-authenticate: Bearer realm="api"'
    assert "abcdefgh1234" not in redact("authorization: Bearer abcdefgh1234")
    assert "abcdefgh1234" not in redact("said Bearer  abcdefgh1234")


def test_no_two_computers_are_a_pair_of_cards() -> None:
    model = catalogue.find("Llama-3.1-8B")
    question = budget.Question(model, cards.find("AppleM-16"), engine="llamacpp", context=8192)
    assert need.fewest(question) in (None, 1)
    choices = need.smallest(question)
    assert choices
    assert all(choice.number == 1 for choice in choices if choice.card.alone)
