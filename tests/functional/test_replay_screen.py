"""What the screen ran is in the folder of runs, and comes again on it, marked and unsent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_screen import shown, until

from kvtui.bench.records import store
from kvtui.bench.records.replay import Replay
from kvtui.commands.replay import replay as command
from kvtui.ui.app import KvtuiApp
from kvtui.ui.screens.record import RecordScreen
from kvtui.ui.screens.runs import RunsScreen

pytestmark = pytest.mark.timeout(120)


async def run_once(options: dict[str, Any]) -> tuple[str, tuple[float, ...], str]:
    """What the embedded engine answered on the screen: text, figures, card."""
    app = KvtuiApp(options)
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(
            pilot, lambda: main.conductor is not None and main.conductor.endpoint.ready, seconds=60
        )
        await pilot.press("enter")
        return await ended(pilot)


async def ended(pilot: Any) -> tuple[str, tuple[float, ...], str]:
    main = pilot.app.main
    await until(
        pilot,
        lambda: main.header.phase in ("done", "stopped", "failed") and not main.conductor.running,
        seconds=60,
    )
    await pilot.pause()
    latest = main.conductor.latest
    figures = tuple(
        getattr(latest, name, None) or 0.0
        for name in ("ttft_ms", "tpot_ms", "e2e_ms", "completion_tokens", "chunks")
    )
    return main.stream.text.history.text(), figures, shown(main.memory_pane)


async def test_what_ran_on_the_screen_is_recorded_and_comes_again() -> None:
    text, figures, memory = await run_once({"max_tokens": 40, "prompt": "Why is the sky blue?"})
    (entry,) = store.list_runs()
    assert (entry.kind, entry.requests, entry.model) == ("run", 1, "kvtui-tiny")

    app = KvtuiApp({"replay": Replay.read(entry.path, speed=5.0)})
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(pilot, lambda: bool(main.stream.text.history.text()), seconds=30)
        again = await ended(pilot)
        assert again[0] == text
        assert again[1] == pytest.approx(figures, rel=1e-3)  # stamps are kept to the microsecond
        assert again[2].splitlines()[:4] == memory.splitlines()[:4]  # its card and its weights
        assert "replay ×5" in shown(main.header)
        assert "Why is the sky blue?" in shown(main.stream.prompt)
        await pilot.press("enter")
        assert (await ended(pilot))[0] == text
    assert len(store.list_runs()) == 1  # a replay is no run


async def test_space_holds_a_replay() -> None:
    await run_once({"max_tokens": 40})
    (entry,) = store.list_runs()
    app = KvtuiApp({"replay": Replay.read(entry.path, speed=0.05)})
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(
            pilot, lambda: main.conductor is not None and main.conductor.running, seconds=30
        )
        await pilot.press("space")
        assert "replay ×0.05 held" in shown(main.header)
        await pilot.press("space")
        assert "held" not in shown(main.header)
        await pilot.press("escape")
        await ended(pilot)
        assert main.header.phase == "stopped"


async def test_recording_can_be_switched_off(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[defaults]\nrecord = false\n")
    await run_once({"max_tokens": 8})
    assert store.list_runs() == []


async def test_json_prints_the_run_and_a_failure_is_one(tmp_path: Path) -> None:
    await run_once({"max_tokens": 8, "model": "demo-auth"})
    result = CliRunner().invoke(command, ["last", "--json"])
    (run,) = json.loads(result.stdout)["runs"]
    assert result.exit_code == 1
    assert run["failure"]["subcode"] == "invalid_key"
    assert CliRunner().invoke(command, [str(tmp_path / "none"), "--json"]).exit_code == 2


async def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path / "file" / "runs"))
    app = KvtuiApp({"max_tokens": 8})

    def said(words: str) -> list[str]:
        return [notice.message for notice in app._notifications if words in notice.message]

    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(
            pilot, lambda: main.conductor is not None and main.conductor.endpoint.ready, seconds=60
        )
        await pilot.press("enter")
        await ended(pilot)
        await until(pilot, lambda: said("Runs are not recorded"), seconds=10)
        assert "cannot be written" in said("Runs are not recorded")[0]
        await pilot.press("enter")
        await ended(pilot)
        assert len(said("Runs are not recorded")) == 1


@pytest.mark.parametrize("keys", [["h"], ["x", "h"], ["h", "x", "h", "x", "h"]])
async def test_a_run_played_from_the_list_is_in_sight_and_is_no_run_of_its_own(
    keys: list[str],
) -> None:
    text, figures, _ = await run_once({"max_tokens": 40})
    app = KvtuiApp({})
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(
            pilot, lambda: main.conductor is not None and main.conductor.endpoint.ready, seconds=60
        )
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        assert len(app.screen_stack) <= 4  # the first, the main one, and each of the two once
        await until(pilot, lambda: getattr(app.screen, "list", None) and app.screen.list.all)
        await pilot.press("p")
        await until(pilot, lambda: app.screen is main and bool(main.stream.text.history.text()))
        again = await ended(pilot)
        assert again[0] == text
        assert again[1] == pytest.approx(figures, rel=1e-3)
        assert "replay" in shown(main.header)
    assert len(store.list_runs()) == 1


async def test_a_single_run_is_opened_without_what_only_several_have() -> None:
    text, _, _ = await run_once({"max_tokens": 40, "prompt": "Why is the sky blue?"})
    app = KvtuiApp({})
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.main.is_mounted and app.main.conductor is not None)
        await pilot.press("h")
        await until(pilot, lambda: getattr(app.screen, "list", None) and app.screen.list.all)
        assert "1 requests" not in shown(app.screen.detail)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RecordScreen))
        await pilot.pause()
        results = app.screen.results
        assert "1 request," in shown(results.progress)
        assert "embedded ▸ kvtui-tiny" in shown(results.progress)
        assert "p99" not in shown(results.levels.text)  # one request has no percentiles
        assert "95 %" not in shown(results.levels.text)
        assert "❯ Why is the sky blue?" in shown(results.progress)
        assert "second" not in shown(results.tabs)
        assert "streams" not in shown(results.tabs)
        await pilot.press("2")  # there is none: nothing is hidden for it
        assert "level" in shown(results.levels.text)
        await pilot.press("4")
        assert "when the run is over" not in shown(results.findings.text)
        assert "nothing to add" in shown(results.findings.text)
        await pilot.press("p")  # its text is on the main screen
        await until(pilot, lambda: app.screen is app.main)
        assert (await ended(pilot))[0] == text


async def test_a_run_of_the_list_is_played_again_on_the_main_screen() -> None:
    text, _, _ = await run_once({"max_tokens": 12, "prompt": "Why is the sky blue?"})
    app = KvtuiApp({})
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(
            pilot, lambda: main.conductor is not None and main.conductor.endpoint.ready, seconds=60
        )
        await pilot.press("h")
        await until(
            pilot, lambda: isinstance(app.screen, RunsScreen) and app.screen.list.here is not None
        )
        await pilot.press("p")
        await until(pilot, lambda: app.screen is main and main.stream.text.history.text() == text)
        assert "replay" in shown(main.header)
        assert "Why is the sky blue?" in shown(main.stream.prompt)
    assert len(store.list_runs()) == 1  # a replay is no run


@pytest.mark.parametrize("leave", ["escape", "E"])
async def test_a_replay_has_a_form_and_a_tally_of_its_own(leave: str) -> None:
    await run_once({"max_tokens": 12, "prompt": "Of the record", "temperature": 0.5})
    await run_once({"model": "demo-auth", "prompt": "Fails in the record"})
    app = KvtuiApp({"prompt": "My own", "max_tokens": 7})
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.main
        await until(
            pilot, lambda: main.conductor is not None and main.conductor.endpoint.ready, seconds=60
        )
        conductor = main.conductor
        assert conductor is not None
        await pilot.press("enter")
        await ended(pilot)
        form, counts = conductor.form, conductor.errors.counts
        sent = list(main.parts.prompts.history.entries)
        for down in (["down"], ["down", "down"]):  # the failed one, and the other
            await pilot.press("h")
            await until(
                pilot,
                lambda: isinstance(app.screen, RunsScreen) and app.screen.list.here is not None,
            )
            await pilot.press(*down, "p")
            await until(pilot, lambda: app.screen is main and bool(conductor.mark))
            await ended(pilot)
            assert "E leaves" in shown(main.header)
            assert "My own" not in shown(main.stream.prompt)
            if leave == "escape":
                await pilot.press("escape")
            else:
                await pilot.press("E")
                await until(pilot, lambda: app.screen is not main)
                await pilot.press("enter")
            await until(pilot, lambda: not conductor.mark and conductor.endpoint.ready, seconds=60)
            assert (conductor.form, conductor.errors.counts) == (form, counts)
            assert "My own" in shown(main.stream.prompt)
            assert main.errors.state == conductor.errors
            assert "replay" not in shown(main.header)
        assert list(main.parts.prompts.history.entries) == sent
