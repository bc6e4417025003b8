"""The Experiments screen: the form, a run as it goes, what it came to, and what keeps going."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import Bench, Held
from fakes import EMBEDDED, REMOTE, make_app
from test_screen import ready, shown, until

from kvtui.bench.figures.samples import Samples
from kvtui.bench.running.presets import PRESETS, Preset
from kvtui.bench.work.workload import Stage, Workload
from kvtui.ui.experiments.keys import EXPERIMENTS, RECORD, RUNS, commands_in
from kvtui.ui.screens.confirm import ConfirmScreen
from kvtui.ui.screens.experiments import ExperimentsScreen
from kvtui.ui.screens.stream_view import StreamScreen

SIZES = [(80, 24), (120, 40), (200, 50)]
sizes = pytest.mark.parametrize("size", SIZES, ids=[f"{w}x{h}" for w, h in SIZES])


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Bench]:
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path / "runs"))
    fake = Bench().install(monkeypatch)
    yield fake
    fake.close()


async def opened(pilot: Any) -> ExperimentsScreen:
    await ready(pilot)
    await pilot.press("x")
    await until(
        pilot,
        lambda: isinstance(pilot.app.screen, ExperimentsScreen) and pilot.app.screen.is_mounted,
    )
    await pilot.pause()
    screen: ExperimentsScreen = pilot.app.screen
    return screen


async def begun(pilot: Any, bench: Bench, preset: str = "sweep") -> ExperimentsScreen:
    """Open, choose and run."""
    screen = await opened(pilot)
    screen.action_choose(preset)
    await pilot.pause()
    await pilot.press("enter")
    await until(pilot, lambda: screen.mode == "live")
    return screen


def texts(screen: Any, *selectors: str) -> str:
    parts = [shown(widget) for name in selectors for widget in screen.query(name)]
    return "\n".join(parts)


def notices(app: Any) -> str:
    return " ".join(notice.message for notice in app._notifications)


# --- the form -------------------------------------------------------------------------------------


@sizes
async def test_every_preset_has_a_line_and_says_what_it_sends(
    size: tuple[int, int], bench: Bench
) -> None:
    app = make_app(prepared=EMBEDDED)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        for name in PRESETS:
            assert name in shown(screen.form.presets)
            assert screen.form.presets.chosen == name
            told = " ".join(shown(screen.form.told).split())
            unfit = PRESETS[name].build({}, True).unfit
            if unfit:
                assert unfit.split()[0] in told
            else:
                assert f"{screen.form.asked.extent.requests:,} requests in" in told
                assert "prompt tokens" in told
            await pilot.press("down")
            await pilot.pause()
        assert not bench.begun


@sizes
async def test_a_default_that_its_field_cannot_hold_says_that_it_goes_on(
    size: tuple[int, int], bench: Bench
) -> None:
    app = make_app(prepared=EMBEDDED)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        cut = 0
        for _ in PRESETS:
            lines = [strip.text for strip in screen._compositor.render_strips()]
            for name, field in screen.form.knobs.inputs.items():
                if not screen.form.knobs._cells[name].display or not field.region:
                    continue
                told = lines[field.region.y][field.region.x : field.region.right].strip()
                default = screen.form.asked.fields.defaults.get(name, "")
                assert told == default or (
                    told.endswith("…") and default.startswith(told.rstrip("…"))
                ), name
                cut += told != default
            await pilot.press("down")
            await pilot.pause()
        assert cut or size[0] == 200


async def test_a_demo_of_a_failure_is_not_measured(bench: Bench) -> None:
    app = make_app(prepared=EMBEDDED)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        app.main.conductor.choose_model("demo-auth")
        await pilot.press("enter")
        await pilot.pause()
        assert not bench.begun
        assert "demo-auth is a demo" in notices(app)
        assert app.screen is screen


async def test_a_new_preset_needs_nothing_here(
    monkeypatch: pytest.MonkeyPatch, bench: Bench
) -> None:
    def build(given: dict[str, Any], _embedded: bool) -> Workload:
        many = given.get("requests") or 7
        stage = Stage(label="one", prompt_tokens=11, requests=many, warmup=0, max_tokens=3)
        return Workload(preset="brand-new", stages=(stage,))

    monkeypatch.setitem(PRESETS, "brand-new", Preset("brand-new", "Of tomorrow.", build))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        screen.action_choose("brand-new")
        await pilot.pause()
        there = {name for name, cell in screen.form.knobs._cells.items() if cell.display}
        assert there == {"requests"}
        assert screen.form.knobs.inputs["requests"].placeholder == "7"
        assert "9 requests in 1 level" in shown(screen.form.told)  # two of them learn the tokenizer


async def test_wrong_input_is_said_while_it_is_typed_and_nothing_is_sent(bench: Bench) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        screen.action_choose("sweep")
        await pilot.pause()
        await pilot.press("tab", *"1,2x")
        await pilot.pause()
        assert "▲ streams must be whole numbers, as 1,2,4, not '1,2x'." in shown(screen.form.told)
        await pilot.press("enter")
        assert "Nothing was sent: streams must be" in notices(app)
        await pilot.press("backspace", *"0000")
        await pilot.pause()
        assert "streams must lie between 1 and 4096" in " ".join(shown(screen.form.told).split())
        await pilot.press(*["backspace"] * 9, *"2,3")
        await pilot.pause()
        assert screen.form.asked.workload is not None
        assert [s.concurrency for s in screen.form.asked.workload.stages] == [2, 3]
        assert not bench.begun
        await pilot.press("escape")
        assert screen.focused is screen.form.presets
        await pilot.press("down", "up")  # the settings of each preset stay as typed
        await pilot.pause()
        assert screen.form.knobs.inputs["concurrency"].value == "2,3"


async def test_a_paid_endpoint_is_asked_about_before_anything_is_sent(bench: Bench) -> None:
    app = make_app(prepared=REMOTE)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        text = " ".join(str(w.render()) for w in app.screen.query("Static"))
        assert f"{screen.form.asked.extent.requests:,} requests" in text
        assert "gpu.example" in text
        assert "sk-x" not in text
        await pilot.press("escape")
        await pilot.pause()
        assert not bench.begun
        assert screen.mode == "form"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("enter")
        await until(pilot, lambda: bool(bench.begun) and screen.mode == "live")
        assert bench.runner.request.model == REMOTE.model


@sizes
async def test_the_footer_says_what_escape_does_to_a_run(
    size: tuple[int, int], bench: Bench
) -> None:
    app = make_app(prepared=EMBEDDED)
    async with app.run_test(size=size) as pilot:
        screen = await begun(pilot, bench)
        assert " esc stop " in shown(screen.foot) + " "
        assert " esc back " not in shown(screen.foot) + " "
        await pilot.press("escape")
        await until(pilot, lambda: screen.mode == "results")
        assert " esc back " in shown(screen.foot) + " "


async def test_a_stream_and_an_experiment_do_not_disturb_each_other(bench: Bench) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await pilot.pause()
        screen = await opened(pilot)
        await pilot.press("enter")
        assert "stop it first" in notices(app)
        assert not bench.begun
        await pilot.press("x", "escape")
        await until(pilot, lambda: not app.conductor.running)
        await begun(pilot, bench)
        await pilot.press("x")
        await until(pilot, lambda: app.screen is app.main)
        started = len(app.fake.session.started)
        await pilot.press("enter")
        await pilot.pause()
        assert len(app.fake.session.started) == started
        assert screen is not app.screen


async def test_an_endpoint_that_comes_late_is_shown_when_it_is_there(bench: Bench) -> None:
    app = make_app(prepared=REMOTE, late=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.main.conductor is not None)
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, ExperimentsScreen))
        await pilot.pause()
        assert "still being prepared" in shown(app.screen.form.told)
        await pilot.press("enter")
        await pilot.pause()
        assert "being prepared" in notices(app)
        assert not bench.begun
        app.fake.arrive()
        await until(pilot, lambda: "gpu.example" in shown(app.screen.form.told))
        assert "gpu.example" in shown(app.screen.head)


# --- a run ----------------------------------------------------------------------------------------


@sizes
async def test_a_run_shows_levels_lanes_figures_and_findings(
    size: tuple[int, int], bench: Bench
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await begun(pilot, bench)
        runner = bench.runner
        runner.level(0)
        run = runner.send(0, tokens=5)
        screen.tick()
        await pilot.pause()
        head = shown(screen.results.progress)
        assert "level 1 of 3" in head
        assert "0 of 10 requests" in head
        assert "about 0:34 left" in head
        await pilot.press("2")
        await pilot.pause()
        assert "◎ prefill" in shown(screen.results.lanes)
        run.phase, run.tokens = "decode", 64
        screen.tick()
        assert "◉ decode" in shown(screen.results.lanes)
        assert "64/128" in shown(screen.results.lanes)
        runner.answer(0)
        screen.tick()
        assert "● done" in shown(screen.results.lanes)
        head = shown(screen.results.progress)
        assert "1 of 10 requests" in head
        assert "50.0 ms" in head
        assert "5.00 ms" in head
        runner.send(1)
        runner.answer(1, failed=True, cls="server", subcode="unavailable", ttft_ms=None)
        screen.tick()
        await pilot.pause()
        assert "▲ failed" in shown(screen.results.lanes)
        assert "▲ 1 failed" in shown(screen.results.progress)
        for number in range(2, 10):
            runner.send(number)
            runner.answer(number)
        runner.level_over()
        runner.level(1)  # the table has what is done
        await pilot.press("2", "3")
        screen.tick()
        await pilot.pause()
        assert "256→128 tokens, c=1" in texts(screen, "#bench-levels RowsText")
        runner.finish()
        await until(pilot, lambda: screen.mode == "results")
        await pilot.pause()
        assert "1 server" in texts(screen, "#bench-levels RowsText")
        await pilot.press("3", "4")
        await pilot.pause()
        said = " ".join(texts(screen, "#bench-findings RowsText").split())
        assert "1 of 10 requests failed as server.unavailable" in said
        assert "▲ 1 failed" in shown(screen.results.progress)


async def test_many_lanes_condense_and_each_can_be_opened(bench: Bench) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        screen.action_choose("sweep")
        await pilot.pause()
        await pilot.press("tab", *"64", "enter")
        await until(pilot, lambda: bool(bench.begun) and screen.mode == "live")
        runner = bench.runner
        runner.level(0)
        runs = [runner.send(n, phase="decode" if n % 2 else "prefill") for n in range(64)]
        screen.tick()
        await pilot.pause()
        lanes = shown(screen.results.lanes)
        assert lanes.count("◉") == 32 + 1  # and the sum of them
        assert "◉ 32 decode" in lanes
        assert "◎ 32 prefill" in lanes
        await pilot.press("down", "down")
        assert screen.results.lanes.marked == 3
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StreamScreen))
        view: Any = app.screen
        assert runs[2].followed
        runs[2].say("What the third stream says.")
        view.tick()
        await pilot.pause()
        assert "What the third stream says." in view.text.history.text()
        await pilot.press("right")
        await pilot.pause()
        assert runs[3].followed
        assert view.text.history.text() == ""
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert screen.mode == "live"


async def test_pause_stop_and_resume(bench: Bench) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot, bench)
        runner = bench.runner
        runner.level(0)
        await pilot.press("space")
        assert runner.paused
        assert "‖ paused" in shown(screen.results.progress)
        await pilot.press("space")
        assert not runner.paused
        runner.send(0)
        runner.answer(0)
        runner.send(1)
        runner.answer(1, stopped=True, partial=True)
        await pilot.press("escape")
        await until(pilot, lambda: screen.mode == "results")
        assert runner.stopped
        assert "■ stopped" in shown(screen.results.progress)
        assert "1 request," in shown(screen.results.progress)
        await pilot.press("r")
        await until(pilot, lambda: len(bench.begun) == 2 and screen.mode == "live")
        assert [s.index for s in bench.asked[1].done] == [0]  # the stopped one is sent again
        assert [s.index for s in app.main.opened.lab.experiment._samples] == [0]
        bench.runner.finish()
        await until(pilot, lambda: screen.mode == "results")
        await pilot.press("r")
        await pilot.pause()
        assert len(bench.begun) == 2
        assert "no run that was stopped" in notices(app)


@pytest.mark.parametrize("leave", [False, True])
async def test_a_run_is_made_ready_off_the_screen_s_thread_and_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, leave: bool
) -> None:
    from kvtui.bench.records import begin

    held = Held(begin.begin)
    monkeypatch.setattr(begin, "begin", held)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        screen.action_choose("sweep")
        await pilot.pause()
        await pilot.press("enter", "enter")
        await until(pilot, lambda: held.asked == 1)
        assert "reading…" in shown(screen.head)
        lab = app.main.opened.lab
        assert app.main.opened.experimenting  # no stream may begin
        await pilot.press("enter")
        assert screen.mode == "form"
        if leave:
            screen.action_leave()
            await until(pilot, lambda: app.screen is app.main)
        held.go.set()
        await until(pilot, lambda: lab.running)
        assert (held.asked, len(bench.begun)) == (1, 1)
        assert not lab.beginning
        if not leave:
            await until(pilot, lambda: screen.mode == "live")
            assert "reading…" not in shown(screen.head)


async def test_a_run_that_cannot_be_made_ready_says_so_and_another_may_begin(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvtui.bench.records import begin
    from kvtui.bench.records.schema import RecordError

    def full(*_: Any, **__: Any) -> None:
        raise RecordError("r.jsonl cannot be written: No space left on device.")

    with monkeypatch.context() as patch:
        patch.setattr(begin, "begin", full)
        app = make_app()
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await opened(pilot)
            await pilot.press("enter")
            await until(pilot, lambda: "No space left on device" in notices(app))
            assert (screen.mode, screen.reading, screen.lab.why_not()) == ("form", False, "")


async def test_a_run_goes_on_while_the_main_screen_is_shown(bench: Bench) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot, bench)
        runner = bench.runner
        runner.level(0)
        for number in range(5):
            runner.send(number)
            runner.answer(number)
        await pilot.press("x")
        await until(pilot, lambda: app.screen is app.main)
        app.main.parts.experiments.mark()
        assert "◉ sweep 17 %" in shown(app.main.header)
        assert not runner.stopped
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, ExperimentsScreen))
        await pilot.pause()
        assert app.screen.mode == "live"
        assert "5 of 10 requests" in shown(app.screen.results.progress)
        await pilot.press("x")
        await until(pilot, lambda: app.screen is app.main)
        runner.finish()
        await until(pilot, lambda: "sweep is over" in notices(app))
        assert "sweep" not in shown(app.main.header)
        await pilot.press("x")
        await until(pilot, lambda: getattr(app.screen, "mode", "") == "results")
        await pilot.press("x", "x")  # seen: the settings again, v shows it once more
        await until(pilot, lambda: getattr(app.screen, "mode", "") == "form")
        await pilot.press("v")
        await pilot.pause()
        assert app.screen.mode == "results"


async def test_ctrl_c_stops_a_run_and_does_not_leave(bench: Bench) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot, bench)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: screen.mode == "results")
        assert bench.runner.stopped
        assert app.is_running


async def test_leaving_kvtui_stops_the_run_and_keeps_it(bench: Bench) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot, bench)
        runner = bench.runner
        runner.level(0)
        app.exit(0)
    assert runner.stopped
    assert app.main.opened.lab.experiment.over


async def test_a_look_at_a_run_unpacks_no_request(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot, bench, "kv-evidence")
        stages = bench.runner.workload.stages
        bench.runner.level(next(n for n, stage in enumerate(stages) if stage.keep_reads))
        reads = tuple((10.0 * n, n) for n in range(1, 40))
        for index in range(3):
            bench.runner.send(index)
            bench.runner.answer(index, reads=reads)
        unpacked: list[object] = []
        with monkeypatch.context() as patch:
            patch.setattr(Samples, "__iter__", lambda all: unpacked.append(all) or iter(()))
            screen.tick()
            drawn = app.main.opened.lab.experiment.plots()
        assert next(plot for plot in drawn if plot.name == "position").series
        assert not unpacked


async def test_plots_fill_in_and_take_turns(bench: Bench) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot, bench)
        runner = bench.runner
        for level in range(3):
            runner.level(level)
            for number in range(4):
                runner.send(number, gaps=(0.005,) * 50)
                runner.answer(number, e2e_ms=700.0 * (level + 1))
            runner.level_over()
        runner.finish()
        await until(pilot, lambda: screen.mode == "results")
        plot, second = screen.results.plot, screen.results.second
        assert plot.plot.name == "load"
        await until(pilot, lambda: sorted(plot.plot.series[0].marks) == ["1", "2", "4"])
        assert {y for _, y in plot.plot.series[0].points} == {700.0, 1400.0, 2100.0}
        assert second.plot.name == "itl"
        # plotext is imported on a thread of each: the one may be drawn before the other.
        await until(pilot, lambda: "●1" in shown(plot) and "600 gaps" in shown(second))
        await pilot.press("t")
        assert plot.plot.name == "itl"


async def test_every_command_has_an_action_and_stands_in_footer_help_or_palette(
    bench: Bench,
) -> None:
    app = make_app()
    async with app.run_test(size=(200, 50)) as pilot:
        screen = await begun(pilot, bench)
        for offer in EXPERIMENTS:
            assert hasattr(screen, f"action_{offer.command.name.partition('(')[0]}")
        bench.runner.level(0)
        await pilot.pause()
        foot = shown(screen.foot)
        for command in commands_in(EXPERIMENTS, "live"):
            if command.footer:
                assert command.label in foot
        await pilot.press("question_mark")
        await pilot.pause()
        text = " ".join(shown(w) for w in app.screen.query("HelpText"))
        for offer in EXPERIMENTS:
            assert offer.command.help.split()[0] in text
        await pilot.press("escape", "ctrl+p")
        await pilot.pause()
        names = {choice[0] for choice in app.screen.list.choices}
        assert names == {c.name for c in commands_in(EXPERIMENTS, "live")} - {"palette"}


@pytest.mark.parametrize("seed", [1, 2])
async def test_keys_at_random_leave_screens_that_work(
    seed: int, bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # exports go there
    pick = random.Random(seed)
    tables = (EXPERIMENTS, RUNS, RECORD)
    keys = sorted({key for table in tables for offer in table for key in offer.command.keys})
    keys += ["tab", "up", "down", "left", "right", "1", "9", "comma", "x", "backspace", "ctrl+a"]
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        main.action_quit = lambda: None
        for step in range(120):
            if app.screen is main:
                await pilot.press(pick.choice("xh"))
            await pilot.press(pick.choice(keys))
            if step % 10 == 0 and bench.begun and not bench.runner.stopped:
                bench.runner.level(0)
        bench.close()
        for _ in range(12):
            await pilot.press("escape")
            await pilot.pause()
        await until(pilot, lambda: app.screen is main)
        assert app.is_running
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, ExperimentsScreen))


async def test_results_that_came_while_their_pane_was_hidden_are_all_shown(bench: Bench) -> None:
    """At 80x24 one pane is shown at a time: the levels' rows came while the streams were."""
    app = make_app(prepared=EMBEDDED)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, bench)
        bench.runner.level(0)
        for index in range(12):
            bench.runner.send(index)
        await pilot.press("2")
        await until(pilot, lambda: screen.query_one("#bench-lanes").size.height > 0)
        for index in range(12):
            bench.runner.answer(index)
        bench.runner.level_over()
        bench.runner.finish()
        await until(pilot, lambda: screen.mode != "live")
        await until(pilot, lambda: "256→128 tokens, c=1" in texts(screen, "#bench-levels RowsText"))
        levels = screen.query_one("#bench-levels RowsText")
        await until(pilot, lambda: levels.size.height >= 2)


async def test_where_all_failed_the_one_pane_says_why(bench: Bench) -> None:
    app = make_app(prepared=EMBEDDED)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, bench)
        bench.runner.level(0)
        failure = {"message": "It wants a key and none was sent.", "fixes": ["Name one."]}
        for index in range(3):
            bench.runner.send(index)
            bench.runner.answer(
                index, cls="auth", subcode="key_missing", failed=True, failure=failure, ttft_ms=None
            )
        bench.runner.finish()
        await until(pilot, lambda: screen.mode != "live")
        findings = screen.query_one("#bench-findings RowsText")
        await until(pilot, lambda: findings.size.height >= 2)
        assert "wants a key" in texts(screen, "#bench-findings RowsText")
