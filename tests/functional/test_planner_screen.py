"""The planner under keys: every field, wrong input, examples, flags, plot, and back."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import EMBEDDED, REMOTE, SETTINGS, make_app
from test_screen import ready, shown, until
from textual.events import Key

from kvtui.text import GIB
from kvtui.ui.look.rows import plain
from kvtui.ui.planner.form import FIELDS
from kvtui.ui.planner.keys import KEYS
from kvtui.ui.planner.presets import PRESETS
from kvtui.ui.screens.body import BodyScreen
from kvtui.ui.screens.picker import PickerScreen
from kvtui.ui.screens.planner import PlannerScreen

SIZES = [(80, 24), (120, 40), (200, 50)]
IDS = [f"{width}x{height}" for width, height in SIZES]
sizes = pytest.mark.parametrize("size", SIZES, ids=IDS)


async def opened(pilot: Any) -> PlannerScreen:
    """Open the planner and wait for its plot."""
    await ready(pilot)
    await pilot.press("p")
    await until(
        pilot,
        lambda: isinstance(pilot.app.screen, PlannerScreen) and pilot.app.screen.is_mounted,
    )
    screen: PlannerScreen = pilot.app.screen
    await until(pilot, lambda: screen.plot.curve and screen.plot.can_plot, seconds=20)
    await pilot.pause()
    return screen


async def typed(pilot: Any, screen: PlannerScreen, name: str, text: str) -> None:
    """Replace a field's text, key by key."""
    screen.fields.inputs[name].focus()
    await pilot.press("end", "ctrl+u", *text)
    await pilot.pause()


def notices(app: Any) -> str:
    return " ".join(notice.message for notice in app._notifications)


async def test_it_opens_with_the_memory_panes_choices() -> None:
    app = make_app(prepared=REMOTE, gpu="L4", kv_dtype="fp8", context=8192, concurrency=4)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        asked = screen.state.told.question
        pane = app.main.memory.state()
        assert (asked.model.name, asked.card.name) == (pane.model, pane.card)
        assert (asked.k, asked.context, asked.concurrency) == ("fp8", 8192, 4)
        assert screen.state.told.max_context == pane.max_context
        assert screen.state.told.max_concurrency == pane.max_requests


async def test_it_opens_with_the_embedded_engines_own_model() -> None:
    app = make_app(prepared=EMBEDDED)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        told = screen.state.told
        assert told.question.model is app.main.memory.own
        assert told.bytes_per_token == 4096


@pytest.mark.parametrize(
    ("name", "text", "attribute", "value"),
    [
        ("model", "qwen3-32b", "model.id", "Qwen3-32B"),
        ("heads", "32", "model.kv_heads", 32),
        ("weights", "int4", "weights_dtype", "int4"),
        ("card", "h100", "card.name", "H100 80GB"),
        ("gpus", "4", "gpus", 4),
        ("tp", "1", "tp", 1),
        ("pp", "1", "pp", 1),
        ("engine", "sglang", "engine", "sglang"),
        ("share", "0.9", "utilisation", 0.9),
        ("k", "fp8", "k", "fp8"),
        ("v", "fp8", "v", "fp8"),
        ("context", "16k", "context", 16_384),
        ("users", "7", "concurrency", 7),
        ("kv_gib", "3", "kv_budget_bytes", 3 * GIB),
    ],
)
async def test_each_field_changes_the_answer(
    name: str, text: str, attribute: str, value: object
) -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await typed(pilot, screen, name, text)
        found: Any = screen.state.told.question
        for part in attribute.split("."):
            found = getattr(found, part)
        assert found == value
        assert not screen.state.problems


def test_every_field_is_tried_above() -> None:
    marks = test_each_field_changes_the_answer.pytestmark
    tried = {case[0] for mark in marks for case in mark.args[1]}
    assert tried == set(FIELDS)


async def test_what_is_wrong_is_said_while_it_is_typed_and_nothing_is_lost() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        before = screen.state.told
        await typed(pilot, screen, "users", "12x")
        note = shown(screen.fields.note)
        assert "▲ users must be a whole number, not 12x" in " ".join(note.split())
        assert "▲users" in shown(screen.query_one("#label-users"))
        assert "the answer before" in str(screen.answer.border_title)
        last = screen.state.told
        assert last.question.concurrency == 12  # the keys before the wrong one were answered
        await typed(pilot, screen, "context", "nope")
        assert screen.state.told is last
        assert {name for name, _ in screen.state.problems} == {"users", "context"}
        await pilot.press("ctrl+r")
        assert "nothing was handed over" in notices(app)
        assert app.screen is screen
        await typed(pilot, screen, "users", "1")
        await typed(pilot, screen, "context", "2048")
        assert not screen.state.problems
        assert screen.state.told == before


async def test_a_field_hint_follows_the_cursor() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        for name in list(FIELDS)[1:4]:
            await pilot.press("down")
            await pilot.pause()
            assert screen.fields.focused_name == name
            assert FIELDS[name].hint.split()[0] in shown(screen.fields.note)
        await pilot.press("up", "shift+tab")
        await pilot.pause()
        assert screen.fields.focused_name == "heads"


async def test_enter_lists_a_field_and_what_was_typed_filters_it() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await typed(pilot, screen, "model", "qwen3-3")
        assert "Qwen3-32B" in shown(screen.fields.note)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        await until(pilot, lambda: len(app.screen.list.shown) < 5)
        assert all("qwen3-3" in choice[0].casefold() for choice in app.screen.list.shown)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        await pilot.pause()
        assert screen.state.told.question.model.id == app.screen.fields.inputs["model"].value
        screen.fields.inputs["context"].focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        remarks = {remark for _, _, remark in app.screen.list.choices}
        assert remarks <= {"✓ fits", "✗ does not fit"}
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert screen.state.told.question.context == 2048


@pytest.mark.parametrize("number", range(len(PRESETS)))
async def test_an_example_gives_the_articles_figure(number: int) -> None:
    app = make_app(prepared=REMOTE)
    preset = PRESETS[number]
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        await pilot.press(*["down"] * number, "enter")
        await until(pilot, lambda: app.screen is screen)
        await pilot.pause()
        assert screen.fields.form() == preset.form
        text = shown(screen.answer)
        if preset.figure.endswith("GiB"):
            line = next(line for line in text.split("\n") if line.startswith("KV in all"))
            assert preset.figure in line
        else:
            assert screen.state.told.max_concurrency == 8
            assert "✓ fits" in text


async def test_flags_are_copied() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await typed(pilot, screen, "users", "2")
        await pilot.press("ctrl+y")
        assert app.clipboard == (
            "--max-model-len 2048 --max-num-seqs 2 --gpu-memory-utilization 0.92"
        )
        await pilot.press("ctrl+l")
        assert app.clipboard == "-c 4096 -np 2"
        await typed(pilot, screen, "k", "fp8")
        await pilot.press("ctrl+l")
        assert app.clipboard == "-c 4096 -np 2"
        assert "llama.cpp: llama.cpp stores no fp8" in notices(app)


async def test_the_plot_crosses_where_the_answer_says_and_a_key_changes_its_axis() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        told = screen.state.told
        assert screen.plot.curve.crossing == told.max_context
        assert f"at {told.max_context:,} tokens" in shown(screen.plot)
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert screen.plot.curve.axis == "users"
        assert screen.plot.curve.crossing == told.max_concurrency
        text = shown(screen.plot)
        assert f"at {told.max_concurrency:,} users" in text
        assert any("\u2800" < char <= "\u28ff" for char in text)
        roles = {span.role for line in screen.plot.rows for span in line}
        assert {"bad", "used", "weights", "warn"} <= roles


async def test_the_plot_is_drawn_after_the_answer_and_once_for_many_keys() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        drawn = screen.plot.curve
        for users in range(2, 8):
            screen.fields.set("users", str(users))
        await until(pilot, lambda: screen.state.told.question.concurrency == 7)
        if screen._timer is not None:  # the moment has not passed yet
            assert screen.plot.curve is drawn
        screen._draw_plot()
        assert screen.plot.curve.crossing == screen.state.told.max_context


async def test_the_large_plot_takes_the_answers_place() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert not screen.plot.display
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert screen.plot.display
        assert not screen.answer.display
        assert f"at {screen.state.told.max_context:,} tokens" in shown(screen.plot)
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert screen.answer.display


async def test_the_choice_goes_back_to_the_memory_pane() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        for name, text in (
            ("model", "Qwen3-32B"),
            ("card", "H100"),
            ("weights", "int4"),
            ("k", "fp8"),
            ("context", "16k"),
            ("users", "8"),
        ):
            await typed(pilot, screen, name, text)
        told = screen.state.told
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.screen is app.main)
        await pilot.pause()
        pane = app.main.memory_pane.state
        assert (pane.model, pane.card, pane.kv_dtype) == (
            "Qwen3-32B",
            told.question.card.name,
            "fp8",
        )
        assert (pane.context, pane.users) == (16_384, 8)
        assert (pane.max_context, pane.max_requests) == (told.max_context, told.max_concurrency)
        assert "Memory pane: Qwen3-32B" in notices(app)


async def test_what_the_pane_cannot_take_is_said() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await typed(pilot, screen, "gpus", "2")
        await typed(pilot, screen, "v", "fp8")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.screen is app.main)
        assert "without the values' own precision, 2 cards" in notices(app)


async def test_escape_goes_back_and_changes_nothing() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        before = app.main.memory_pane.state
        await typed(pilot, screen, "users", "99")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert app.main.memory_pane.state == before
        again = await opened(pilot)
        assert again.fields.form().users == "1"


async def test_keys_that_come_at_once_go_to_the_field_that_tab_leads_to() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        screen.fields.inputs["context"].focus()
        for key in ("9", "tab", "7", "down", "3"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: screen.fields.inputs["kv_gib"].value == "3")
        form = screen.fields.form()
        assert (form.context, form.users, form.kv_gib) == ("9", "7", "3")


async def test_letters_are_letters_in_its_fields() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await typed(pilot, screen, "model", "qpgmk?1")
        assert screen.fields.inputs["model"].value == "qpgmk?1"
        assert app.screen is screen


async def test_the_mouse_opens_lists_takes_examples_and_cells_and_copies() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.click("#label-card")
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.click("#plan-examples", offset=(3, 2))
        await until(pilot, lambda: screen.state.form == PRESETS[1].form)
        screen._draw_plot()
        await pilot.pause()
        await pilot.click("#plan-grid", offset=(16, 4))
        await until(pilot, lambda: screen.state.told.question.context == 8192)
        line = next(
            at for at, each in enumerate(screen.answer.rows) if plain(each).startswith("^y")
        )
        await pilot.click("#plan-answer", offset=(20, line + 1))
        await until(pilot, lambda: "--max-model-len 8192" in app.clipboard)
        await pilot.click("#plan-foot", offset=(2, 0))
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))


async def test_the_palette_offers_every_command_of_the_planner() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        offered = {choice[0] for choice in app.screen.list.choices}
        assert offered == {action for action, *_ in KEYS} - {"palette"}
        await pilot.press(*"everything of the answer", "enter")
        await until(pilot, lambda: isinstance(app.screen, BodyScreen))
        assert screen.state.told.formula in app.screen._text
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)


def test_every_key_is_an_action_of_the_screen() -> None:
    names = [action.split("(")[0] for action, *_ in KEYS]
    assert all(hasattr(PlannerScreen, f"action_{name}") for name in names)


async def test_a_key_before_the_catalogue_is_read_is_a_notice() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        main.opened.memory = None
        await pilot.press("p")
        assert app.screen is main
        assert "One moment" in notices(app)


async def test_a_card_of_the_configuration_is_offered() -> None:
    from kvtui.memory import cards

    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        main.memory.own_cards = (cards.own("lab card", 31.5),)
        screen = await opened(pilot)
        await typed(pilot, screen, "card", "lab card")
        assert screen.state.told.question.card.memory_bytes == round(31.5 * GIB)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.screen is main)
        assert main.memory_pane.state.card == "lab card"
    assert SETTINGS.cards == {}


@pytest.mark.parametrize("size", [(60, 18), (79, 23), (50, 12), *SIZES])
async def test_nothing_runs_into_another_row_at_any_size(size: tuple[int, int]) -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        for number in range(len(PRESETS)):
            screen.action_preset(number)
            await pilot.pause()
            screen._draw_plot()
            await pilot.pause()
            for pane in (screen.answer, screen.plot, screen.grid, screen.examples):
                if not pane.size:
                    continue
                for line in pane.rows:
                    assert sum(len(span.text) for span in line) <= max(pane.size.width, 0)
                assert len(pane.rows) <= pane.size.height
