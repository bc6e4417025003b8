"""The screen under keys: every command, Esc's order, editing, zoom, sizes, failures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from fakes import EMBEDDED, REMOTE, Prepared, Script, make_app

from kvtui.failure import Evidence, Hint, KeyFacts, Verdict
from kvtui.ui.commands import COMMANDS, footer_commands, shown_key
from kvtui.ui.look.rows import plain
from kvtui.ui.screens.body import BodyScreen
from kvtui.ui.screens.help import HelpScreen
from kvtui.ui.screens.main.screen import MainScreen
from kvtui.ui.screens.picker import PickerScreen

AUTH = Verdict(
    "auth",
    "invalid_key",
    "gpu.example refused the key in VLLM_KEY (52 characters).",
    ("It ends with a space: set it again without.", "Or it was deleted: make a new one."),
)
AUTH_EVIDENCE = Evidence(
    url="https://gpu.example/v1/chat/completions",
    host="gpu.example",
    model="Llama-3.1-8B",
    status=401,
    body='{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}',
    key=KeyFacts("VLLM_KEY", 52),
)


async def until(pilot: Any, condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Let the app work until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        await pilot.pause()
        await asyncio.sleep(0)


async def ready(pilot: Any) -> MainScreen:
    """Wait for the fake endpoint and the memory."""
    main: MainScreen = pilot.app.main
    await until(
        pilot,
        lambda: (
            main.memory is not None
            and main.conductor is not None
            and (main.conductor.prepared is not None or bool(main.conductor.endpoint.problem))
        ),
    )
    await pilot.pause()
    return main


async def at(pilot: Any, seconds: float) -> None:
    """Move the fake clock and show a frame."""
    pilot.app.fake.clock.now = seconds
    pilot.app.main.parts.frames.tick()
    await pilot.pause()


def shown(widget: Any) -> str:
    """What a drawn widget shows, as plain text."""
    widget.redraw()
    return "\n".join(plain(line).rstrip() for line in widget.rows)


def test_every_command_is_an_action_of_the_screen() -> None:
    main = make_app().main
    names = {command.name.split("(")[0] for command in COMMANDS}
    assert names == main.actions().keys()
    assert all(callable(getattr(main, f"action_{name}")) for name in names)


def test_no_key_stands_twice_in_the_table() -> None:
    keys = [key for command in COMMANDS for key in command.keys]
    assert len(keys) == len(set(keys))


def test_footer_ranks_are_unique() -> None:
    ranks = [command.footer for command in footer_commands(embedded=True)]
    assert len(ranks) == len(set(ranks))


async def test_enter_runs_and_the_figures_arrive() -> None:
    late = [(t + 0.2, kind, text) for t, kind, text in Script().pieces]
    app = make_app(Script(pieces=late))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.12)
        assert main.header.phase == "prefill"
        await at(pilot, 0.6)
        assert main.header.phase == "decode"
        assert "now 213" in shown(main.stream.figures)  # a token every 4.7 ms
        assert "usage, live" in shown(main.stream.figures)
        assert main.stream.text.history.text().startswith("A cache keeps")
        await at(pilot, 5)
        assert main.header.phase == "done"
        assert "256 / 512" in shown(main.stream.figures)
        assert not main.conductor.running


async def test_the_timer_rests_when_nothing_runs() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        assert not main.parts.frames.timer._active.is_set()
        await pilot.press("enter")
        assert main.parts.frames.timer._active.is_set()
        await at(pilot, 5)
        assert not main.parts.frames.timer._active.is_set()


async def test_escape_stops_the_stream_at_once() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.5)
        await pilot.press("escape")
        run = app.fake.session.started[0]
        assert run.stopped_at == 0.5
        await at(pilot, 0.6)
        assert main.header.phase == "stopped"
        assert "stopped" in shown(main.stream.figures)


@pytest.mark.parametrize("key", ["ctrl+s", "ctrl+c", "escape"])
async def test_stopping_ends_the_repeats_too(key: str) -> None:
    app = make_app(repeat=3)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.5)
        await pilot.press(key)
        await at(pilot, 0.6)
        assert len(app.fake.session.started) == 1
        assert not main.conductor.running


async def test_ctrl_c_stops_first_and_leaves_when_pressed_twice() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.5)
        await pilot.press("ctrl+c")
        await at(pilot, 0.6)
        assert not main.conductor.running
        await pilot.press("ctrl+c")
        assert app.is_running
        assert "Ctrl+C once more" in " ".join(n.message for n in app._notifications)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.return_value == 0)


async def test_escape_takes_field_dialog_stream_zoom_in_that_order() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("1")
        await pilot.press("enter")
        await at(pilot, 0.3)
        await pilot.press("e")
        assert main.stream.editor is not None
        await pilot.press("escape")
        await until(pilot, lambda: main.stream.editor is None)
        assert main.conductor.running
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        assert app.screen is main
        assert main.conductor.running
        await pilot.press("escape")
        await at(pilot, 0.4)
        assert not main.conductor.running
        assert main.parts.places.zoomed == 1
        await pilot.press("escape")
        assert main.parts.places.zoomed == 0


async def test_the_prompt_and_its_parameters_are_edited_in_place() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("e")
        await pilot.press(*"qk1", "ctrl+j", *"more")  # keys of the table are letters in a field
        await pilot.press("tab", *"be brief", "tab", "backspace", "backspace", "backspace", *"64")
        await pilot.press("tab", *"0.5", "tab", "backspace", *"3", "enter")
        await until(pilot, lambda: main.stream.editor is None)
        form = main.conductor.form
        assert form.prompt.endswith("qk1\nmore")
        assert (form.system, form.max_tokens, form.temperature, form.repeats) == (
            "be brief",
            64,
            0.5,
            3,
        )
        request = app.fake.session.started[0].request
        assert request.prompt == form.prompt
        assert (request.system, request.max_tokens, request.temperature) == ("be brief", 64, 0.5)


async def test_a_wrong_number_keeps_the_editor_open_and_says_so() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("e", "tab", "tab", *"x", "enter")
        await pilot.pause()
        assert main.stream.editor is not None
        note = str(main.query_one("#field-note").render())
        assert "whole number" in note
        assert app.fake.session.started == []
        await pilot.press("escape")
        await until(pilot, lambda: main.stream.editor is None)
        assert main.conductor.form.max_tokens == 512


async def test_an_empty_prompt_is_a_notice_and_nothing_is_sent() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("e", "ctrl+a", "backspace")
        main.query_one("#field-prompt").text = ""
        await pilot.press("enter")
        await pilot.pause()
        assert app.fake.session.started == []
        assert any("empty" in notice.message for notice in app._notifications)


async def test_repeats_show_their_median() -> None:
    app = make_app(repeat=3)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        for number in range(1, 4):
            await at(pilot, number * 5.0)
        await until(pilot, lambda: not main.conductor.running)
        assert len(app.fake.session.started) == 3
        assert "median of 3" in shown(main.stream.figures)
        assert "run 2 of 3" in main.stream.text.history.text(None)


async def test_k_switches_the_cache_of_the_next_run() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("k")
        assert "cache OFF" in shown(main.stream.prompt)
        await pilot.press("enter")
        assert app.fake.session.started[0].request.kv_cache is False
        await at(pilot, 0.5)
        assert "cache off: nothing kept" in shown(main.memory_pane)
        assert main.memory_pane.state.used_bytes == 0


async def test_k_is_refused_for_other_endpoints() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("k")
        assert main.conductor.form.kv_cache
        assert "k cache" not in shown(main.footer)
        await pilot.press("enter")
        assert app.fake.session.started[0].request.kv_cache is None


async def test_the_lower_bar_moves_during_256_tokens() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        bars = set()
        for step in range(1, 14):
            await at(pilot, 0.1 * step)
            bars.add(
                next(line for line in shown(main.memory_pane).split("\n") if "sequence" in line)
            )
        assert len(bars) > 10
        assert main.memory_pane.state.live_tokens == 38 + 256
        assert main.memory_pane.state.used_bytes == 4096 * (38 + 256)  # 2 x 8 x 2 x 32 x 4 B


async def test_w_shows_the_tokens_as_if_on_a_catalogue_model() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        await pilot.press("w")
        assert "as if Llama-3.1-8B × 1 user" in shown(main.memory_pane)
        await pilot.press("b", "b")
        assert "× 4 users" in shown(main.memory_pane)
        assert main.memory_pane.state.used_bytes == 4 * 294 * 131_072
        await pilot.press("w")
        assert "as if" not in shown(main.memory_pane)


async def test_card_model_precision_context_and_users_answer_at_once() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("g", *"h100", "enter")
        await pilot.pause()
        assert "H100" in main.memory_pane.state.card
        await pilot.press("m", *"qwen3-32b", "enter")
        await pilot.pause()
        assert "Qwen3-32B" in main.memory_pane.state.model
        before = main.memory_pane.state
        await pilot.press("d", "d")
        assert main.memory_pane.state.kv_dtype == "fp8"
        assert main.memory_pane.state.bytes_per_token * 2 == before.bytes_per_token
        await pilot.press("c")
        assert main.memory_pane.state.context == 4096
        await pilot.press("b")
        assert main.memory_pane.state.users == 2


async def test_smaller_weights_make_a_large_model_fit() -> None:
    app = make_app(gpu="80GB", arch="Llama-3.1-70B", prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        assert "misses" in shown(main.memory_pane)
        await pilot.press("W", "W")
        assert main.memory_pane.state.weights == "int4"
        assert "misses" not in shown(main.memory_pane)
        assert main.memory_pane.state.max_requests > 0


async def test_the_first_words_replace_the_welcome() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.1)
        await pilot.pause()
        text = "\n".join(strip.text for strip in main._compositor.render_strips())
        assert "A cache" in text
        assert "choose the card" not in text


async def test_every_precision_and_context_can_be_reached() -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        seen = set()
        for _ in range(8):
            await pilot.press("d", "c", "b")
            state = main.memory_pane.state
            seen.add((state.kv_dtype, state.context, state.users))
            assert not state.problem
        assert len(seen) == 8


async def test_a_wrong_card_or_model_is_a_notice_and_the_default_stays() -> None:
    app = make_app(gpu="H1000", arch="lama-9", theme="kvtui-drak", kv_dtype="int5")
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        said = " ".join(notice.message for notice in app._notifications)
        for word in ("H1000", "lama-9", "kvtui-drak", "int5"):
            assert word in said
        assert "kvtui-dark" in said
        assert main.memory_pane.state.card == "24 GB"


async def test_several_served_models_are_offered() -> None:
    several = Prepared(REMOTE.endpoint, None, REMOTE.models)
    app = make_app(prepared=several)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        await pilot.press(*"qwen", "enter")
        await pilot.pause()
        assert main.conductor.model == "Qwen/Qwen3-8B"
        assert main.memory_pane.state.model == "Qwen3-8B"
        await pilot.press("enter")
        assert app.fake.session.started[0].request.model == "Qwen/Qwen3-8B"


async def test_enter_before_the_endpoint_is_ready_runs_when_it_is() -> None:
    app = make_app(late=True)
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(pilot, lambda: main.conductor is not None)
        await pilot.press("enter")
        assert app.fake.session.started == []
        app.fake.arrive()
        await until(pilot, lambda: len(app.fake.session.started) == 1)


async def test_a_mistake_of_our_own_is_a_notice_and_the_screen_stays() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        run = app.fake.session.started[0]

        def broken(timeout: float | None = None) -> Any:
            raise KeyError("lost")

        run.result = broken
        await at(pilot, 5)
        assert main.header.phase == "failed"
        assert any("KeyError" in notice.message for notice in app._notifications)
        await pilot.press("enter")
        assert len(app.fake.session.started) == 2


CLASSES = [
    Verdict("auth", "invalid_key", "The key was refused.", ("Set it again.",)),
    Verdict("network", "refused", "Nothing listens there.", ("Start the server.",)),
    Verdict("parameter", "context_length", "The prompt is too long.", ("Shorten it.",)),
    Verdict("filter", "output", "The provider withheld the rest.", ("Reword it.",)),
    Verdict("rate_or_quota", "rate_limit", "Too many requests.", ("Wait 20 s.",)),
    Verdict("server", "overloaded", "The server is overloaded.", ("Try again later.",)),
    Verdict("truncated", "no_terminator", "The stream broke off.", ("Send it again.",)),
]


@pytest.mark.parametrize("verdict", CLASSES, ids=lambda verdict: verdict.cls)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_each_class_of_failure_shows_badge_sentence_and_fix(
    verdict: Verdict, size: tuple[int, int]
) -> None:
    app = make_app(Script(pieces=[], verdict=verdict, evidence=AUTH_EVIDENCE, finish=None))
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1)
        text = shown(main.errors)
        word = {"rate_or_quota": "RATE/QUOTA"}.get(verdict.cls, verdict.cls.upper())
        assert word in text
        assert verdict.subcode in text
        assert f"1 {verdict.fixes[0]}" in text
        assert verdict.message in " ".join(text.split())
        assert main.header.phase == "failed"
        assert "1 of 1 failed" in str(main.errors.border_title)


async def test_a_long_sentence_leaves_room_for_the_fix() -> None:
    verdict = Verdict("rate_or_quota", "rate_limit", "Too many requests. " * 20, ("Wait 20 s.",))
    app = make_app(Script(pieces=[], verdict=verdict, evidence=AUTH_EVIDENCE, finish=None))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1)
        assert "1 Wait 20 s." in shown(main.errors)
        assert "…" in shown(main.errors)


async def test_a_failure_opens_whole_and_is_copied() -> None:
    app = make_app(Script(pieces=[], verdict=AUTH, evidence=AUTH_EVIDENCE, finish=None))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("o")
        assert app.screen is app.main  # nothing has failed yet
        await pilot.press("enter")
        await at(pilot, 1)
        await pilot.press("o")
        assert isinstance(app.screen, BodyScreen)
        await pilot.press("escape", "Y")
        assert "invalid_api_key" in app.clipboard
        assert "gpu.example" in app.clipboard


async def test_an_outcome_is_no_failure() -> None:
    app = make_app(Script(hints=(Hint("few", "so few tokens make a noisy rate"),)))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        assert "0 of 1 failed" in str(main.errors.border_title)
        assert "TRUNCATED" in shown(main.errors)
        assert "noisy rate" in shown(main.errors)
        assert "max tokens" in shown(main.stream.figures)


async def test_the_same_failure_is_counted_and_a_success_makes_it_history() -> None:
    bad = Script(pieces=[], verdict=AUTH, evidence=AUTH_EVIDENCE, finish=None)
    good = Script(verdict=Verdict("ok", "complete"))
    app = make_app(bad, bad, good)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        for number in range(1, 4):
            await pilot.press("enter")
            await at(pilot, 10.0 * number)
        text = shown(main.errors)
        assert "×2" in text
        assert "last request went well" in text
        assert "2 of 3 failed" in str(main.errors.border_title)


async def test_an_endpoint_that_cannot_be_used_says_why() -> None:
    refused = Prepared(
        REMOTE.endpoint, None, verdict=Verdict("network", "refused", "Nothing listens there.")
    )
    app = make_app(prepared=refused)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        assert "NETWORK" in shown(main.errors)
        await pilot.press("enter")
        assert app.fake.session.started == []


async def test_digits_zoom_and_bring_back() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        panes = {"1": main.stream, "2": main.memory_pane, "3": main.errors}
        for key, pane in panes.items():
            await pilot.press(key)
            visible = [each for each in panes.values() if each.region.area and each.size.width]
            assert visible == [pane]
            assert pane.outer_size.width == 120
            await pilot.press(key)
        assert all(pane.outer_size.width < 120 for pane in panes.values())


@pytest.mark.parametrize(("width", "height"), [(60, 18), (79, 23), (79, 40), (120, 20)])
async def test_small_terminals_show_one_pane_with_tabs(width: int, height: int) -> None:
    app = make_app()
    async with app.run_test(size=(width, height)) as pilot:
        main = await ready(pilot)
        assert main.tabs.display
        assert main.stream.outer_size.width == width
        await pilot.press("2")
        assert main.memory_pane.outer_size.width == width
        await pilot.press("3")
        assert main.errors.outer_size.width == width
        await pilot.press("1")
        assert main.stream.outer_size.width == width


@pytest.mark.parametrize(("width", "height"), [(59, 40), (120, 17), (20, 5)])
async def test_below_that_a_plain_word(width: int, height: int) -> None:
    app = make_app()
    async with app.run_test(size=(width, height)) as pilot:
        main = await ready(pilot)
        text = " ".join(shown(main.query_one("#too-small")).split())
        assert f"have {width}x{height}" in text or width < 30
        assert not main.query_one("#panes").display


@pytest.mark.parametrize("size", [(80, 24), (90, 30), (120, 40), (160, 44), (200, 50)])
async def test_all_three_panes_are_whole_from_80x24_on(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.9)
        for pane in (main.stream, main.memory_pane, main.errors):
            assert pane.region.bottom <= size[1] - 1
            assert pane.region.right <= size[0]
            assert pane.size.height >= 8
        for widget in (main.stream.figures, main.memory_pane):
            text = shown(widget)
            assert "…" not in text.replace("190…217", "").replace("190…220", ""), text


async def test_resizing_while_it_streams_keeps_text_and_following() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        for step, size in enumerate([(80, 24), (60, 18), (200, 50), (30, 5), (100, 30)], 1):
            await at(pilot, 0.1 + 0.1 * step)
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await at(pilot, 5)
        view = main.stream.text
        assert view.following
        assert view.history.text().split() == [
            word
            for _, _, text in app.fake.session.started[0].script.pieces
            for word in text.split()
        ]
        assert view.scroll_offset.y == view.max_scroll_y


async def test_reading_back_stops_the_following_and_f_returns() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1.0)
        view = main.stream.text
        assert view.max_scroll_y > 0
        await pilot.press("pageup")
        await until(pilot, lambda: not view.following)
        await pilot.pause()
        place = view.scroll_offset.y
        assert "not following" in shown(main.stream.prompt)
        await at(pilot, 1.3)
        assert view.scroll_offset.y == place
        await pilot.press("f")
        await pilot.pause()
        assert view.following
        assert view.scroll_offset.y == view.max_scroll_y
        assert "not following" not in shown(main.stream.prompt)


async def test_the_palette_finds_a_command_by_typing() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("ctrl+p")
        assert isinstance(app.screen, PickerScreen)
        await pilot.press(*"zoom the memory", "enter")
        await until(pilot, lambda: main.parts.places.zoomed == 2)


async def test_the_help_names_every_key() -> None:
    app = make_app()
    async with app.run_test(size=(120, 60)) as pilot:
        await ready(pilot)
        await pilot.press("question_mark")
        text = shown(app.screen.query_one("HelpText"))
        for command in COMMANDS:
            assert shown_key(command.keys[0]) in text
            assert command.help.split()[0] in text


async def test_a_theme_is_chosen_shown_and_remembered(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTUI_STATE", str(tmp_path / "state.toml"))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        before = main.footer.palette.base
        await pilot.press("T", *"kvtui-light", "enter")
        await until(pilot, lambda: app.theme == "kvtui-light")
        await pilot.pause()
        assert main.footer.palette.base != before
    again = make_app()
    assert again.theme == "kvtui-light"


async def test_quitting_stops_the_stream_and_closes_the_session() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.5)
        await pilot.press("q")
    assert app.fake.session.started[0].stopped_at is not None
    assert app.fake.session.closed
    assert app.return_value == 0


async def test_a_click_on_the_footer_runs_the_command() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.click("#footer", offset=(3, 0))
        await until(pilot, lambda: len(app.fake.session.started) == 1)


HOSTILE = "\x1b]2;owned\x07 \x1b[31mred\x1b[0m [bold]markup[/bold] \u202eevil\x9b1m \x00"


async def test_hostile_text_is_shown_as_text() -> None:
    script = Script(
        pieces=[(0.05, "content", HOSTILE), (0.06, "reasoning", HOSTILE)],
        verdict=Verdict("server", "error", HOSTILE, (HOSTILE,)),
        evidence=Evidence(status=500, body=HOSTILE, url=HOSTILE, model=HOSTILE),
        hints=(Hint("x", HOSTILE),),
    )
    endpoint = REMOTE.endpoint
    app = make_app(script, prepared=Prepared(endpoint, HOSTILE, (HOSTILE,), notes=(HOSTILE,)))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1)
        await pilot.press("o")
        await pilot.pause()
        texts = [
            strip.text
            for screen in (app.screen, main)
            for strip in screen._compositor.render_strips()
        ]
        everything = "\n".join(texts)
        assert not any(
            (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0 or char == "\u202e"
            for char in everything
        )
        assert "[bold]markup[/bold]" in everything


async def test_reasoning_stands_apart() -> None:
    script = Script(
        pieces=[(0.05, "reasoning", "Let me think. "), (0.06, "content", "The answer.")],
        verdict=Verdict("ok", "complete"),
    )
    app = make_app(script)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1)
        view = main.stream.text
        lines = [view.render_line(y).text.rstrip() for y in range(3)]
        assert lines == ["┊ Let me think.", "", "The answer."]
        await pilot.press("y")
        assert app.clipboard == "The answer."


async def test_embedded_fake_is_the_embedded_engine() -> None:
    assert EMBEDDED.endpoint.embedded
