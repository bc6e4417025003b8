"""The Runs screen: what was recorded, opened again, searched, marked, compared, exported, gone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest
from bench_fakes import Held
from fakes import EMBEDDED, make_app
from test_screen import ready, shown, until

from kvtui.bench.figures.sample import Sample
from kvtui.bench.records import store
from kvtui.bench.records.recorder import Recorder, header_of
from kvtui.bench.records.schema import RecordError
from kvtui.bench.running.progress import Learned, RequestEnded
from kvtui.bench.work.prompts import Words
from kvtui.bench.work.workload import Stage, Workload
from kvtui.stream.request import Request
from kvtui.ui.experiments.keys import RUNS, commands_in
from kvtui.ui.screens.ask import AskScreen
from kvtui.ui.screens.confirm import ConfirmScreen
from kvtui.ui.screens.picker import PickerScreen
from kvtui.ui.screens.record import CompareScreen, RecordScreen
from kvtui.ui.screens.runs import RunsScreen

SIZES = [(80, 24), (120, 40), (200, 50)]
sizes = pytest.mark.parametrize("size", SIZES, ids=[f"{w}x{h}" for w, h in SIZES])


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    place = tmp_path / "runs"
    monkeypatch.setenv("KVTUI_RUNS", str(place))
    monkeypatch.chdir(tmp_path)
    return place


def record(
    folder: Path, name: str, *, tpot: float = 5.0, count: int = 40, finished: bool = True
) -> Path:
    """A record as a run writes it; times per token scatter by two percent."""
    stages = tuple(
        Stage(label=f"256→128 tokens, c={n}", prompt_tokens=256, concurrency=n, requests=count)
        for n in (1, 2)
    )
    workload = Workload(preset="sweep", stages=stages)
    recorder = Recorder(folder / f"{name}.jsonl")
    request = Request(endpoint=EMBEDDED.endpoint, model="kvtui-tiny", prompt="")
    prepared: Any = replace(EMBEDDED, context=2048, engine_geometry=None)
    recorder.create(header_of(prepared, request, workload, "00"))
    recorder.take(Learned(Words(0.0, 1.0, True), True))
    random = Random(name)
    for stage in range(2):
        for index in range(count):
            each = tpot * (1 + stage) * random.gauss(1, 0.02)
            sample = Sample(
                stage=stage, index=index, started_at="2026-11-29T12:00:00.000+00:00",
                start_s=float(index), send_s=float(index), first_s=index + 0.05,
                last_s=index + 0.05 + each * 0.127, end_s=index + 0.06 + each * 0.127,
                ttft_ms=50 * random.gauss(1, 0.02), tpot_ms=each, decode_tps=1000 / each,
                e2e_ms=50 + 127 * each, prompt_tokens=256, completion_tokens=128,
                token_source="usage", chunks=128,
            )  # fmt: skip
            recorder.take(RequestEnded(sample))
    if finished:
        recorder.end()
    recorder.close()
    return recorder.path


async def opened(pilot: Any) -> RunsScreen:
    await ready(pilot)
    await pilot.press("h")
    await until(
        pilot,
        lambda: (
            isinstance(pilot.app.screen, RunsScreen)
            and pilot.app.screen.is_mounted
            and pilot.app.screen.list.all is not None
        ),
    )
    await pilot.pause()
    screen: RunsScreen = pilot.app.screen
    return screen


def exported(name: str) -> Any:
    return json.loads(Path(name).read_text())


def notices(app: Any) -> str:
    return " ".join(notice.message for notice in app._notifications)


@sizes
async def test_an_empty_folder_says_which_key_makes_a_run(
    size: tuple[int, int], folder: Path
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        text = " ".join(shown(screen.list).split())
        assert "Runs will be listed here" in text
        assert "x opens the experiments" in text
        for key in ("enter", "space", "t", "n", "e", "d", "c"):  # nothing to do anything with
            await pilot.press(key)
            assert app.screen is screen
        await pilot.press("escape")
        assert app.screen is app.main


@sizes
async def test_runs_are_listed_newest_first_and_opened_as_they_were(
    size: tuple[int, int], folder: Path
) -> None:
    for name in ("20260101-a", "20260102-b"):
        record(folder, name)
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        assert len(screen.list.shown) == 2
        text = shown(screen.list)
        assert "sweep" in text
        assert "tok/s" in text
        assert "kvtui-tiny" in text
        newest = screen.list.here
        assert newest.when == max(entry.when for entry in screen.list.shown)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RecordScreen))
        await pilot.pause()
        view: Any = app.screen
        assert "80 requests, none failed" in shown(view.results.progress)
        levels = "\n".join(shown(w) for w in view.query("#bench-levels RowsText"))
        assert "c=1" in levels
        assert "[" in levels  # the median's interval
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)


async def test_words_filter_while_they_are_typed(folder: Path) -> None:
    first = record(folder, "20260101-a")
    record(folder, "20260102-b")
    store.tag(first, ["nightly"])
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("slash", *"night")
        await pilot.pause()
        assert [entry.path for entry in screen.list.shown] == [first]
        await pilot.press(*"zz")
        await pilot.pause()
        assert "esc shows all again" in shown(screen.list)
        await pilot.press("escape")
        await pilot.pause()
        assert len(screen.list.shown) == 2
        assert screen.focused is screen.list


async def test_tags_and_notes_go_into_the_record(folder: Path) -> None:
    path = record(folder, "20260101-a")
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, AskScreen))
        await pilot.press(*("x" * 41), "enter")
        asked = app.screen
        await until(pilot, lambda: "is no tag" in str(asked.told.render()))
        assert app.screen is asked  # said, and still open
        await pilot.press(*["backspace"] * 41, *"a100 fp8", "enter")
        await until(pilot, lambda: app.screen is screen)
        await until(pilot, lambda: "#a100 #fp8" in shown(screen.detail))
        await pilot.press("t", *"-fp8", "enter")
        await until(pilot, lambda: store.look(path).tags == ("a100",))
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("n", *"after the fix", "enter")
        await until(pilot, lambda: "after the fix" in shown(screen.detail))
        assert store.look(path).note == "after the fix"


async def test_a_run_is_deleted_only_after_a_yes(folder: Path) -> None:
    path = record(folder, "20260101-a")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert path.exists()
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("enter")
        await until(pilot, lambda: not screen.list.shown)
        assert not path.exists()


@sizes
async def test_marked_runs_are_compared_with_the_first(size: tuple[int, int], folder: Path) -> None:
    slow = record(folder, "20260101-slow", tpot=6.0)
    fast = record(folder, "20260102-fast", tpot=5.0)
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        await pilot.press("c")
        assert "Mark two runs" in notices(app)
        screen.list.at = [e.path for e in screen.list.shown].index(fast)
        screen.action_mark()
        screen.list.at = [e.path for e in screen.list.shown].index(slow)
        screen.action_mark()
        assert screen.list.marks == [fast, slow]
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await pilot.pause()
        text = "\n".join(
            "".join(span.text for span in line) for line in app.screen.table.text._rows
        )
        assert "▲ slower" in text
        assert "TPOT p50" in text
        ratio = next(line for line in text.splitlines() if "TPOT p50" in line)
        assert 1.17 < float(ratio.split("×")[0].split()[-1]) < 1.23
        assert "Mann–Whitney" in text or "Welch" in text
        ttft = next(line for line in text.splitlines() if "TTFT p50" in line)
        assert "within the noise" in ttft
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert not screen.list.marks


async def test_results_are_exported_and_no_file_is_overwritten(folder: Path) -> None:
    path = record(folder, "20260101-a")
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        await pilot.press(*"json", "enter")
        await until(pilot, lambda: isinstance(app.screen, AskScreen))
        assert app.screen.field.value == "20260101-a.json"
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        table = exported("20260101-a.json")
        assert table["schema"] == "kvtui.bench/1"
        assert [row["completed"] for row in table["levels"]] == [40, 40]
        assert table["record"] == str(path)
        await pilot.press("e", *"json", "enter")
        await until(pilot, lambda: isinstance(app.screen, AskScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "is there already" in str(app.screen.told.render()))
        await pilot.press("escape")


async def test_a_broken_file_is_listed_and_says_so(folder: Path) -> None:
    record(folder, "20260101-a")
    (folder / "20260102-b.jsonl").write_text("no record\n")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert "is no record of kvtui" in shown(screen.list)
        screen.list.at = next(n for n, e in enumerate(screen.list.shown) if e.broken)
        await pilot.press("enter")
        await pilot.pause()
        assert "is no record of kvtui" in notices(app)
        assert app.screen is screen


async def test_every_command_has_an_action() -> None:
    app = make_app()
    async with app.run_test(size=(200, 50)) as pilot:
        screen = await opened(pilot)
        for offer in RUNS:
            assert hasattr(screen, f"action_{offer.command.name}")
        foot = " ".join(shown(widget) for widget in screen.query("BenchFooter"))
        for command in commands_in(RUNS, "results"):
            if command.footer:
                assert command.label in foot


@sizes
async def test_a_run_under_way_is_shown_so_and_left_alone(
    size: tuple[int, int], folder: Path
) -> None:
    path = record(folder, "a", finished=False)
    elsewhere = Recorder(path)
    elsewhere.reopen()
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        assert "◉" in shown(screen.list)
        assert "80 of 80 requests: running" in shown(screen.detail)
        for key in ("d", "r"):
            app.clear_notifications()
            await pilot.press(key)
            await until(pilot, lambda: "under way: stop it" in notices(app))
            assert app.screen is screen
        elsewhere.close()  # as a kill does, too
        await pilot.press("d")
        await until(pilot, lambda: app.screen is not screen)
    assert path.exists()


@pytest.mark.parametrize(
    ("key", "reader"),
    [
        ("enter", "kvtui.ui.experiments.recorded.opened"),
        ("p", "kvtui.ui.experiments.recorded.replayed"),
        ("r", "kvtui.ui.experiments.recorded.half_done"),
    ],
)
async def test_a_record_is_read_off_the_screen_s_thread_and_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, key: str, reader: str
) -> None:
    def lost(*_: object) -> None:
        raise RecordError("it was read")

    record(folder, "a", count=4, finished=False)
    held = Held(lost)
    monkeypatch.setattr(reader, held)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.list.here is not None)
        await pilot.press(key, key)
        await until(pilot, lambda: held.asked == 1)
        await until(pilot, lambda: "reading…" in shown(app.screen.head))
        held.go.set()
        await until(pilot, lambda: "it was read" in notices(app))
        assert held.asked == 1
        assert "reading…" not in shown(app.screen.head)


async def test_a_tag_is_written_off_the_screens_thread_and_once() -> None:
    go, begun = Event(), list[str]()

    def take(text: str) -> str:
        begun.append(text)
        go.wait(20)
        return ""

    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        asked = AskScreen("Tags", "Words.", "a100", take)
        app.push_screen(asked)
        await pilot.pause()
        await pilot.press("enter", "enter", "escape")  # the screen still takes keys
        assert app.screen is asked
        go.set()
        await until(pilot, lambda: app.screen is not asked)
    assert begun == ["a100"]
