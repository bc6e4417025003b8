"""What the panes say of what nobody chose, of a cache that is off, of limits; fields typed over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import EMBEDDED, REMOTE, make_app
from test_screen import at, ready, shown
from textual.widgets import Input

from kvtui.config import Endpoint
from kvtui.failure import Verdict

UNKNOWN = replace(REMOTE, model="my-own-finetune", models=("my-own-finetune",))
NOBODY = replace(
    REMOTE,
    endpoint=Endpoint("https://gpu.example/v1", "--base-url"),
    model=None,
    models=(),
    verdict=Verdict("network", "refused", "Nothing listens there."),
)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize(
    ("prepared", "why"), [(UNKNOWN, "my-own-finetune"), (NOBODY, "no model is known")]
)
async def test_a_model_that_nobody_chose_is_called_an_example(
    prepared: object, why: str, size: tuple[int, int]
) -> None:
    app = make_app(prepared=prepared)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        pane = " ".join(shown(main.memory_pane).split())
        assert "an example" in pane
        assert why in pane
        await pilot.press("m", *"qwen3-8b", "enter")
        assert "an example" not in shown(main.memory_pane)


@pytest.mark.parametrize("prepared", [EMBEDDED, REMOTE])
async def test_a_model_that_answers_is_no_example(prepared: object) -> None:
    app = make_app(prepared=prepared)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        assert "an example" not in shown(main.memory_pane)


async def test_without_the_cache_nothing_is_kept_as_if_on_a_large_model_either() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("k", "w", "enter")
        await at(pilot, 1.0)
        assert main.memory_pane.state.as_if
        assert main.memory_pane.state.used_bytes == 0
        assert "cache off: nothing kept" in shown(main.memory_pane)
        await pilot.press("escape", "k")
        await at(pilot, 2.0)
        assert main.memory_pane.state.used_bytes == 0  # of that run nothing is left


async def test_more_tokens_than_reserved_are_marked_with_a_sign() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        main.memory.context = 256
        await pilot.press("enter")
        await at(pilot, 60.0)
        assert main.memory_pane.state.live_tokens > 256
        assert "▲ 294 / 256" in shown(main.memory_pane)


async def test_the_next_context_says_where_the_model_ends() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        assert main.memory_pane.state.context == 2048
        await pilot.press("c")
        assert main.memory_pane.state.context < 2048
        said = [notice.message for notice in app._notifications]
        assert any("2,048 tokens are the model's limit" in each for each in said)


@pytest.mark.parametrize("key", ["p", "x"])
async def test_a_field_that_is_reached_is_typed_over_everywhere(key: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press(key)
        fields = [each for each in app.screen.query(Input) if each.display and each.value]
        for field in fields[:3]:
            field.focus()
            await pilot.pause()
            assert field.selected_text == field.value
