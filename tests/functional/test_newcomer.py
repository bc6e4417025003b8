"""What somebody who sees the screen for the first time tripped over, each as a kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from fakes import EMBEDDED, REMOTE, Script, make_app
from test_screen import AUTH, AUTH_EVIDENCE, at, ready, shown, until

from kvtui.commands.group import kvtui
from kvtui.config import Defaults, Settings
from kvtui.failure import Evidence, classify
from kvtui.measure.figures import Snapshot
from kvtui.ui.draw.errors import errors_rows, with_key
from kvtui.ui.draw.plot import plot_rows
from kvtui.ui.draw.stream import phase_bar
from kvtui.ui.look.plots import rate_plot
from kvtui.ui.look.rows import clip_middle, plain, wrap
from kvtui.ui.messages import OpeningFailed, ServerSaid
from kvtui.ui.opening.settings import load_memory, take_theme
from kvtui.ui.screens.main.server_figures import LOOKS
from kvtui.ui.state import ErrorsState, Failure, ServerKV, StreamState


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


# --- what a run came to ---------------------------------------------------------------------------


async def test_a_stopped_stream_is_neither_ok_nor_failed() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.5)
        await pilot.press("escape")
        await at(pilot, 0.6)
        errors = shown(main.errors)
        assert "■ stopped 1" in errors
        assert "✓ ok" not in errors
        assert main.conductor.errors.counts == (("stopped", 1),)
        assert main.conductor.errors.failed == 0


async def test_a_stop_after_a_failure_is_not_said_to_have_gone_well() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        await pilot.press("enter")
        await at(pilot, 5.5)
        await pilot.press("escape")
        await at(pilot, 5.6)
        errors = shown(main.errors)
        assert "■ last request was stopped" in errors
        assert "went well" not in errors
        assert "✂ cut 1" in errors


async def test_a_run_keeps_the_form_it_was_asked_with() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.3)
        await pilot.press("k")
        main.conductor.form = replace(main.conductor.form, max_tokens=7)
        await at(pilot, 0.6)
        assert main.stream.figures.state.max_tokens == 512
        assert main.stream.figures.state.kv_cache
        assert "nothing kept" not in shown(main.memory_pane)


# --- the cache on and off -------------------------------------------------------------------------


async def test_the_pane_follows_k_before_the_next_run() -> None:
    app = make_app(no_kv_cache=True)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        assert "cache off: nothing kept" in shown(main.memory_pane)
        await pilot.press("k")
        assert "nothing kept" not in shown(main.memory_pane)
        assert " 0 / 2,048" in shown(main.memory_pane)  # of that run nothing is left
        await pilot.press("w")
        assert main.memory_pane.state.live_tokens == 0  # nor as if on another model


def slow() -> Script:
    """A tenth of the usual rate."""
    return Script(pieces=[(0.045 + 0.047 * n, "content", "word ") for n in range(256)])


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_cache_is_compared_once_both_were_measured(size: tuple[int, int]) -> None:
    app = make_app(slow(), Script(), no_kv_cache=True)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 20)
        assert "cache off" not in shown(main.stream.figures)
        await pilot.press("k", "enter")
        await at(pilot, 40)
        line = next(line for line in shown(main.stream.figures).split("\n") if "cache off" in line)
        assert "cache off 21.3" in line
        assert "on 213 tok/s (10×)" in line


async def test_a_stopped_run_is_compared_as_far_as_it_came() -> None:
    app = make_app(slow(), Script(), no_kv_cache=True)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 4)  # 84 tokens
        await pilot.press("escape")
        await at(pilot, 5)
        await pilot.press("k", "enter")
        await at(pilot, 40)
        assert "cache off 21.3 tok/s · on 213 tok/s (10×)" in shown(main.stream.figures)


@pytest.mark.parametrize(
    "second",
    [Script(pieces=Script().pieces[:30]), Script(prompt_tokens=400)],
    ids=["few tokens", "another prompt"],
)
async def test_what_is_not_alike_is_not_compared(second: Script) -> None:
    app = make_app(slow(), second, no_kv_cache=True)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 20)
        await pilot.press("k", "enter")
        await at(pilot, 40)
        assert "cache off" not in shown(main.stream.figures)


# --- the Memory pane ------------------------------------------------------------------------------


async def test_b_and_c_change_what_is_shown_and_never_the_model() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("w", "c", "c", "c", "b", "b")
        assert (main.memory_pane.state.context, main.memory_pane.state.users) == (16_384, 4)
        await pilot.press("w")
        assert (main.memory_pane.state.context, main.memory_pane.state.users) == (2_048, 1)
        await pilot.press("b")
        assert "kvtui-tiny × 2" in shown(main.memory_pane)
        assert "as if" not in shown(main.memory_pane)
        assert main.memory_pane.state.reserved_tokens == 2 * 2_048
        seen = set()
        for _ in range(8):
            await pilot.press("c")
            seen.add(main.memory_pane.state.context)
        assert seen == {256, 512, 1_024, 2_048}
        await pilot.press("w")
        assert (main.memory_pane.state.context, main.memory_pane.state.users) == (16_384, 4)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_context_beyond_the_models_limit_is_marked(size: tuple[int, int]) -> None:
    app = make_app(context=65_536)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        assert "model's limit 2,048" in shown(main.memory_pane)
        await pilot.press("c")
        assert "limit" not in shown(main.memory_pane)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_precision_in_force_has_a_marked_column(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        await pilot.press("2")
        lengths = set()
        for _ in range(9):
            state = main.memory_pane.state
            head = next(
                line for line in shown(main.memory_pane).split("\n") if f"▸{state.kv_dtype}" in line
            )
            lengths.add(len(head))
            assert head.count("▸") == 1
            assert len(state.precisions) == 4
            own = next(line for line in state.variants if line.own)
            column = state.precisions.index(state.kv_dtype)
            assert own.sizes[column] == state.bytes_per_token * state.context
            await pilot.press("d")
        assert len(lengths) == 1


async def test_no_model_is_shown_before_it_is_known_who_answers() -> None:
    app = make_app(late=True)
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(pilot, lambda: main.memory is not None)
        await pilot.press("c")
        assert "Llama" not in shown(main.memory_pane)
        assert "What the KV cache costs" in shown(main.memory_pane)
        app.fake.arrive()
        await ready(pilot)
        assert "kvtui-tiny" in shown(main.memory_pane)


async def test_a_failed_opening_leaves_the_catalogues_model() -> None:
    app = make_app(late=True)
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(pilot, lambda: main.memory is not None)
        main.post_message(OpeningFailed("The embedded engine did not start."))
        await ready(pilot)
        assert "as if Llama-3.1-8B" in shown(main.memory_pane)


# --- the server's own figure ----------------------------------------------------------------------


async def test_after_a_run_the_server_is_asked_until_nothing_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app(prepared=REMOTE)
    woken: list[bool] = []
    later: list[Any] = []
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        main.opened.server = SimpleNamespace(
            wake=lambda now, soon=False: woken.append(soon),
            watch=lambda endpoint: None,
            stop=lambda: None,
        )
        monkeypatch.setattr(main.parts.server, "_later", lambda delay, then: later.append(then))
        await pilot.press("enter")
        await at(pilot, 0.5)
        main.post_message(ServerSaid(ServerKV(share=0.4, running=1)))
        await pilot.pause()
        assert "server now" in shown(main.memory_pane)
        await pilot.press("escape")
        await at(pilot, 0.6)
        assert "server said" in shown(main.memory_pane)  # older than the pane's own figure
        assert woken.count(True) == 1
        later.pop()()
        assert woken.count(True) == 2
        main.post_message(ServerSaid(ServerKV(share=0.0, running=0)))
        await pilot.pause()
        assert "server now" in shown(main.memory_pane)
        later.pop()()
        assert woken.count(True) == 2
        assert not later
        main.opened.server_kv = ServerKV(share=0.4, running=1)
        main.parts.server.look_again(LOOKS)
        while later:
            later.pop()()
        assert woken.count(True) == 2 + LOOKS  # a server that never says 0 is left alone


# --- who answers ----------------------------------------------------------------------------------


async def test_a_demo_is_labelled_as_one_and_the_memory_is_the_models() -> None:
    prepared = replace(EMBEDDED, model="demo-auth", models=("demo-auth", "kvtui-tiny"))
    app = make_app(prepared=prepared)
    async with app.run_test(size=(140, 40)) as pilot:
        main = await ready(pilot)
        assert "demo-auth  (a demo, answered by no model; M goes back" in shown(main.header)
        assert "real model" not in shown(main.header)
        assert "no key needed" not in shown(main.header)  # it is refused for the want of one
        assert main.memory_pane.state.model == "kvtui-tiny"
        await pilot.press("M", *"tiny", "enter")
        await pilot.pause()
        assert "a real model" in shown(main.header)
        assert "no key needed" in shown(main.header)
        await pilot.press("M", *"server", "enter")
        await pilot.pause()
        assert "a demo, answered by no model" in shown(main.header)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_demo_that_failed_says_how_to_get_back_to_the_model(size: tuple[int, int]) -> None:
    app = make_app(Script(pieces=[], verdict=AUTH, evidence=AUTH_EVIDENCE, finish=None))
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot)
        await pilot.press("M", *"demo-auth", "enter", "enter")
        await at(pilot, 5)
        screen = on_screen(main)
        assert "M  back to the model" in screen
        assert "measure it" not in screen  # as though it would come to something
        await pilot.press("M", *"tiny", "enter")
        await pilot.pause()
        assert "measure it" in on_screen(main)


async def test_an_endpoint_that_cannot_be_used_says_what_to_press() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        main.post_message(OpeningFailed("There is no such profile."))
        await pilot.pause()
        screen = on_screen(main)
        assert "There is no such profile." in screen
        assert "D  the doctor" in screen
        assert "E  another endpoint" in screen


async def test_a_run_that_waits_is_said_in_its_place_and_called_off_by_esc() -> None:
    app = make_app(late=True)
    async with app.run_test(size=(80, 24)) as pilot:
        main = app.main
        await until(pilot, lambda: main.conductor is not None)
        await pilot.press("enter")
        await pilot.pause()
        assert not app._notifications
        assert "run waits" in shown(main.header)
        await pilot.press("escape")
        await pilot.pause()
        assert "run waits" not in shown(main.header)
        await pilot.press("enter")
        main.post_message(OpeningFailed("The embedded engine did not start."))
        await until(pilot, lambda: bool(main.conductor.endpoint.problem))
        await pilot.pause()
        assert not app._notifications
        assert "not ready" in shown(main.header)
        assert "did not start" in on_screen(main)


@pytest.mark.parametrize("editing", [False, True])
@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40), (200, 50)])
async def test_a_notice_lies_on_the_lower_border(size: tuple[int, int], editing: bool) -> None:
    app = make_app()
    async with app.run_test(size=size, notifications=True) as pilot:
        main = await ready(pilot)
        if editing:
            await pilot.press("e")
        main.say("The answer is copied: 1,234 characters.")
        await until(pilot, lambda: bool(app.screen.query("Toast")))
        await pilot.pause()
        toast = app.screen.query("Toast").first().region
        assert toast.area
        assert (toast.height, toast.bottom) == (1, main.footer.region.y)
        assert 0 < toast.x < toast.right < size[0]
        for pane in (main.stream, main.memory_pane, main.errors):
            assert not toast.overlaps(pane.content_region)


async def test_a_long_notice_leaves_the_failure_readable() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        main = await ready(pilot)
        main.say("A sentence. " * 8, "warning")
        await until(pilot, lambda: bool(app.screen.query("Toast")))
        await pilot.pause()
        toast = app.screen.query("Toast").first().region
        assert toast.height == 2
        assert toast.y >= main.errors.content_region.bottom - 1  # the row of counts and keys


# --- words and figures ----------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["repeat", "temperature", "max", "system"])
async def test_the_palette_finds_the_editor_by_what_it_edits(word: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        await pilot.press("ctrl+p", *word)
        await pilot.pause()
        assert "edit" in [choice[0] for choice in app.screen.list.shown]
        await pilot.press("escape")
        assert main.stream.editor is None


def test_the_chart_names_its_axes_and_marks_whole_numbers() -> None:
    for top, width in ((213.7, 72), (1.3, 40), (12_345.6, 120)):
        points = [(float(x), top - x % 3 / 10) for x in range(2, 257)]
        lines = [plain(line) for line in plot_rows(rate_plot(points), width, 12)]
        assert "tok/s" in lines[0]
        assert lines[-2].rstrip().endswith("tokens")
        marks = [mark for line in lines[1:-3] for mark in line.split("┤")[0].split()]
        assert "0" in marks
        assert not any("." in mark for mark in marks if top > 10)
        assert max(len(line) for line in lines) <= width


COUNTS = tuple(
    (name, 12)
    for name in (
        *("ok", "stopped", "auth", "network", "parameter"),
        *("filter", "rate_or_quota", "server", "truncated"),
    )
)


@pytest.mark.parametrize("width", [40, 58])
@pytest.mark.parametrize("many", range(1, 6))
def test_no_counter_is_cut(width: int, many: int) -> None:
    state = ErrorsState(failures=(Failure("12:00:00", AUTH),), counts=COUNTS[:many])
    footer = "\n".join(plain(line) for line in errors_rows(state, width, 13)[-3:])
    assert footer.count("12") == many
    assert "…" not in footer


def test_a_url_breaks_at_its_slashes() -> None:
    text = "POST http://127.0.0.1:45123/v1/chat/completions"
    assert wrap(text, 32) == ["POST http://127.0.0.1:45123/v1/", "chat/completions"]
    assert wrap("either/or of the two", 8) == ["either/o", "r of the", "two"]
    assert "".join(wrap(text, 12)).replace(" ", "") == text.replace(" ", "")


def test_a_url_on_one_line_keeps_host_and_path() -> None:
    text = "POST https://gpu.example/v1/chat/completions"
    assert clip_middle(text, 32) == "POST https://gp…chat/completions"
    assert clip_middle(text, 44) == text
    assert clip_middle(text, 1) == "…"


@pytest.mark.parametrize("width", [72, 44])
@pytest.mark.parametrize("phase", ["decode", "done", "stopped", "failed"])
def test_which_run_it_is_pushes_no_time_out(width: int, phase: str) -> None:
    snapshot = Snapshot(
        phase=phase, connect_ms=123.4, prefill_ms=1_234.5, ttft_ms=1_234.5, decode_s=12.34
    )
    state = StreamState(snapshot, run=2, repeats=2, outcome="reasoning_exhausted")
    line = plain(phase_bar(state, width))
    assert "…" not in line
    assert "12.3" in line
    if phase != "decode":
        assert line.rstrip()[-1:] not in "0123456789"  # how it ended stays


CLI_NAMES = [
    ("--gpu", "H999", "kvtui gpus lists them"),
    ("--gpu", "RTX 4091", "did you mean"),
    ("--theme", "kvtui-drak", "kvtui-dark"),
    ("--theme", "nope", "no theme"),
    ("--arch", "lama-3.1-8b", "Llama-3.1-8B"),
    ("--kv-dtype", "foo", "fp16"),
    ("--kv-dtype", "q4_k", "weights"),
    ("--config-json", __file__, "config_json"),
    ("--gguf", __file__, "GGUF"),
    ("--context", "0", "context"),
    ("--concurrency", "many", "concurrency"),
]


@pytest.mark.parametrize(("flag", "value", "said"), CLI_NAMES)
def test_a_wrong_name_is_refused_before_the_screen_opens(
    flag: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    monkeypatch.setattr("kvtui.commands.screen.open_screen", opened.append)
    ran = CliRunner().invoke(kvtui, [flag, value])
    assert ran.exit_code == 2, ran.output
    assert said.casefold() in ran.stderr.replace("-json", "_json").casefold()
    assert flag in ran.stderr
    assert "?." not in ran.stderr
    assert not opened


@pytest.mark.parametrize("given", [[], ["--gpu", "h100"], ["--theme", "nord"]])
def test_right_names_and_none_open_it(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def remember(options: object) -> int:
        opened.append(options)
        return 0

    monkeypatch.setattr("kvtui.commands.screen.open_screen", remember)
    assert CliRunner().invoke(kvtui, given).exit_code == 0
    assert opened


def test_the_files_own_card_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text("[cards.mine]\nmemory_gib = 31.5\n", encoding="utf-8")
    monkeypatch.setattr("kvtui.commands.screen.open_screen", lambda options: 0)
    assert CliRunner().invoke(kvtui, ["--gpu", "mine"]).exit_code == 0
    assert CliRunner().invoke(kvtui, ["config", "set", "defaults.gpu", "mine"]).exit_code == 0


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("gpu", "H999", "kvtui gpus lists them"),
        ("gpu", "RTX 4091", "did you mean"),
        ("arch", "lama-3.1-8b", "Llama-3.1-8B"),
        ("kv_dtype", "fp17", "fp16"),
        ("theme", "kvtui-drak", "kvtui-dark"),
    ],
)
def test_config_set_refuses_a_name_that_nothing_has(
    key: str, value: str, said: str, tmp_path: Path
) -> None:
    ran = CliRunner().invoke(kvtui, ["config", "set", f"defaults.{key}", value])
    assert ran.exit_code == 2
    assert "Not written" in ran.stderr
    assert said in ran.stderr
    assert not (tmp_path / "config.toml").exists()


async def test_wrong_names_of_the_file_are_notices_on_the_screen() -> None:
    wrong = Defaults(gpu="H999", arch="lama-9", kv_dtype="int5", theme="kvtui-drak")
    settings = Settings(Path("config.toml"), wrong)
    _, problems = load_memory({}, settings)
    assert [word for word in ("H999", "lama-9", "int5") if word in " ".join(problems)] == [
        "H999",
        "lama-9",
        "int5",
    ]
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        (problem,) = take_theme(app, settings)
        assert "kvtui-dark" in problem
        right = Settings(Path("config.toml"), Defaults(theme="kvtui-light"))
        assert take_theme(app, right) == []
        await until(pilot, lambda: app.theme == "kvtui-light")


@pytest.mark.parametrize(("status", "named"), [(401, True), (500, False)])
def test_after_a_wrong_key_the_screen_names_the_key_that_types_another(
    status: int, named: bool
) -> None:
    verdict = classify(Evidence(status=status, host="h.example", body="no"))
    state = ErrorsState(failures=(Failure("", verdict, None, "m"),))
    drawn = "\n".join(plain(line) for line in errors_rows(state, 100, 40))
    assert ("type another key on the screen: E" in drawn) is named
    assert not any("E." in fix for fix in verdict.fixes)  # a command has no such key


def test_a_fix_that_names_a_flag_names_the_key_too() -> None:
    assert with_key("Raise --max-tokens (now 512).") == "Raise --max-tokens (now 512; key e)."
    assert with_key("Give one with --model.") == "Give one with --model (key M)."
    for text in ("vLLM: --max-model-len 8192", "Set it: --max-tokens, or e on the screen."):
        assert with_key(text) == text


# --- what is said twice ---------------------------------------------------------------------------


async def test_a_notice_is_shown_once_however_often_its_key_is_pressed() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("space", "space", "space")
        assert [notice.message for notice in app._notifications] == [
            "Only a replay can be held; esc stops a stream."
        ]
