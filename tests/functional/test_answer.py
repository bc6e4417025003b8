"""What one does with an answer: search, mark, copy, save, render, tint, chart, formulas."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from fakes import Script, make_app
from test_screen import at, ready, shown, until
from textual.geometry import Offset
from textual.selection import Selection

from kvtui.ui.screens.body import BodyScreen
from kvtui.ui.screens.save import SaveScreen, target
from kvtui.ui.widgets.answer_view import renderable
from kvtui.ui.widgets.stream_pane import LEAST_TEXT


def script(text: str, *, each: float = 0.01) -> Script:
    words = text.split(" ")
    pieces = [
        (0.05 + each * n, "content", word + (" " if n < len(words) - 1 else ""))
        for n, word in enumerate(words)
    ]
    return Script(pieces=pieces)


async def streamed(pilot: Any, seconds: float = 60.0) -> Any:
    main = await ready(pilot)
    await pilot.press("enter")
    await at(pilot, seconds)
    await pilot.pause()
    return main


def seen(view: Any) -> str:
    return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))


# --- search ---------------------------------------------------------------------------------------


async def test_search_counts_goes_on_and_back_and_leaves() -> None:
    text = " ".join(f"word{n} needle" if n % 100 == 50 else f"word{n}" for n in range(1100))
    app = make_app(script(text))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await streamed(pilot)
        await pilot.press("home")
        await pilot.press("slash", *"needle")
        await pilot.pause()
        bar = main.stream.search
        assert "1 of 11" in shown(bar.found)
        await pilot.press("enter")
        assert main.focused is main.stream.text
        for _ in range(2):
            await pilot.press("n")
        assert "3 of 11" in shown(bar.found)
        assert "word250 needle" in seen(main.stream.text)
        assert "not following" in shown(main.stream.prompt)
        await pilot.press("N", "N", "N")
        assert "11 of 11" in shown(bar.found)  # round the beginning
        await pilot.press("escape")
        assert main.stream.search is None
        assert not main.stream.text.search.query
        await pilot.press("n")
        await pilot.pause()
        assert main.stream.search is None


async def test_a_scrollbar_that_comes_with_much_text_stands_where_the_text_does() -> None:
    app = make_app(script(" ".join(f"word{n}" for n in range(400))))
    async with app.run_test(size=(80, 24)) as pilot:
        text = (await streamed(pilot, 2.0)).stream.text  # half of it in one frame
        await until(pilot, lambda: text.show_vertical_scrollbar)
        await pilot.pause()
        bar = text.vertical_scrollbar
        assert text.scroll_y == text.max_scroll_y > 0
        assert (bar.position, bar.window_virtual_size) == (text.scroll_y, len(text.history))


async def test_a_match_across_a_line_end_is_marked_on_both_lines() -> None:
    app = make_app(script("x " * 30 + "left right " * 40))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await streamed(pilot)
        await pilot.press("home", "slash", *"left right")
        await pilot.pause()
        view = main.stream.text
        history = view.history
        broken = next(n for n in range(len(history)) if history[n].text.endswith("left"))
        before, after = history[broken], history[broken + 1]
        assert view.search.spans(history[broken - 1], before, after)[-1][1] == len(before.text)
        assert view.search.spans(before, after, history[broken + 2])[0][:2] == (0, 5)


async def test_a_million_tokens_are_searched_in_bounded_time() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        view = main.stream.text
        history = view.history
        for n in range(1_000):
            history.append(f"line {n} " + "word " * 999)
        assert history.text().count("word") == 999_000
        view._changed(0, 0, None)
        await pilot.press("slash")
        began = time.process_time()
        for query in ("w", "wo", "line 77", "no such thing"):
            view.find(query)
        for _ in range(10):
            view.find_next(1)
        assert time.process_time() - began < 2.0  # fourteen keys; about 0.02 s each
        view.find("line 777 ")
        assert view.search.count == 1
        await pilot.pause()
        assert "line 777" in seen(view)


# --- marking and copying --------------------------------------------------------------------------


async def test_what_the_mouse_marks_is_copied_as_it_came() -> None:
    line = "缓存保存的是已经算过的结果，下一步只需要在它后面追加。"
    app = make_app(script(f"{line} and\nso on. {line}"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await streamed(pilot)
        view = main.stream.text
        left, top = view.region.offset
        await pilot.mouse_down(offset=(left + 4, top))  # the third character: two cells each
        await pilot.hover(offset=(left + 6, top + 1))
        await pilot.mouse_up(offset=(left + 6, top + 1))
        await pilot.pause()
        first = view.history[0].text
        marked = app.screen.get_selected_text()
        end = len(first) + 4  # with the character under the mouse
        assert marked == view.history.slice(2, end)
        assert marked.startswith("保存")
        assert "\n" not in marked  # the break of this width is none of the text's
        strip = view.render_line(0)
        background = app.screen.get_component_rich_style("screen--selection").bgcolor
        chosen = "".join(s.text for s in strip if s.style and s.style.bgcolor == background)
        assert chosen.startswith("保存的是")


async def test_reasoning_is_marked_without_its_gutter() -> None:
    pieces = [(0.05, "reasoning", "think first"), (0.06, "content", "then say")]
    app = make_app(Script(pieces=pieces))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await streamed(pilot)
        found = main.stream.text.get_selection(Selection(Offset(0, 0), Offset(8, 2)))
        assert found == ("think first\n\nthen say", "\n")


async def test_y_copies_the_latest_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(script("first one"), script("second one"), repeat=2)
    async with app.run_test(size=(120, 40)) as pilot:
        await streamed(pilot)
        await at(pilot, 120.0)
        await pilot.press("y")
        assert app.clipboard == "second one"


# --- saving ---------------------------------------------------------------------------------------


async def test_save_asks_warns_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answer.md").write_text("mine")
    app = make_app(script("a short answer"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await streamed(pilot)
        said: list[str] = []
        monkeypatch.setattr(main, "notify", lambda sentence, **_: said.append(sentence))
        await pilot.press("S")
        assert isinstance(app.screen, SaveScreen)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, SaveScreen)
        assert (tmp_path / "answer.md").read_text() == "mine"
        await pilot.press("enter")
        await pilot.pause()
        assert (tmp_path / "answer.md").read_text() == "a short answer\n"
        assert str(tmp_path / "answer.md") in said[-1]


@pytest.mark.parametrize("name", ["", "  ", "nowhere/file.md", ".", "/dev/null", "a\0b"])
def test_a_name_that_cannot_be_written_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"\.$"):
        target(name)


# --- Markdown -------------------------------------------------------------------------------------


async def test_v_renders_and_a_hostile_answer_stays_harmless() -> None:
    text = "# Title\n\nSee [here](https://evil.example) &#27;]0;owned&#7; **bold** ![i](x)"
    app = make_app(script(text))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await streamed(pilot)
        opened: list[str] = []
        app.open_url = lambda url, **_: opened.append(url)
        await pilot.press("v")
        await until(pilot, lambda: main.stream.answer is not None)
        await pilot.pause(0.1)
        assert not main.stream.text.display
        compositor = main._compositor
        drawn = [strip.text for strip in compositor.render_strips()]
        assert any("Title" in line for line in drawn)
        assert not any("\x1b" in line or "\x07" in line for line in drawn)
        view = main.stream.answer
        for x in range(view.region.x, view.region.x + 30):
            await pilot.click(offset=(x, view.region.y + 3))
        assert opened == []
        await pilot.press("escape")
        await until(pilot, lambda: main.stream.answer is None)
        assert main.stream.text.display


async def test_v_waits_for_the_end() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await streamed(pilot, 0.5)
        await pilot.press("v")
        assert main.stream.answer is None


# --- tints ----------------------------------------------------------------------------------------


async def test_late_tokens_stand_out_without_colour_too() -> None:
    pieces = [(0.05 + 0.01 * n, "content", f"w{n} ") for n in range(40)]
    pieces += [(0.70, "content", "STALLED "), (0.73, "content", "LATE "), (0.74, "content", "end")]
    app = make_app(Script(pieces=pieces))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await streamed(pilot)
        await pilot.press("i")
        await pilot.pause()
        assert "4.6" not in shown(main.stream.legend)  # twice and five times the median of 4.6 ms
        assert "9.20 ms" in shown(main.stream.legend)
        assert "23.0 ms" in shown(main.stream.legend)
        segments = {
            segment.text.strip(): segment.style
            for y in range(5)
            for segment in main.stream.text.render_line(y)
        }
        stalled = next(style for text, style in segments.items() if "STALLED" in text)
        assert stalled.reverse
        await pilot.press("i")
        await pilot.pause()
        lines = map(main.stream.text.render_line, range(5))
        assert not any(s.style and s.style.reverse for line in lines for s in line)


# --- charts ---------------------------------------------------------------------------------------


async def test_t_shows_the_rate_then_the_gaps_then_nothing() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await streamed(pilot, 1.0)
        await pilot.press("t")
        chart = main.stream.chart
        await until(pilot, lambda: chart.shown is not None)
        text = shown(chart)
        assert "tok/s" in text
        assert any("\u2800" < char <= "\u28ff" for char in text)
        assert main.stream.text.display
        await pilot.press("t")
        chart = main.stream.chart
        await until(pilot, lambda: chart.shown is not None)
        text = shown(chart)
        for word in ("chunks", "ms", "p50", "p99"):
            assert word in text
        await pilot.press("t")
        await until(pilot, lambda: main.stream.chart is None)
        assert not main.conductor.wants_gaps


async def test_where_rows_are_few_the_chart_stands_in_the_texts_place() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        main = await streamed(pilot, 1.0)
        await pilot.press("t")
        await until(pilot, lambda: main.stream.chart.shown is not None)
        assert not main.stream.text.display
        assert main.stream.chart.size.height >= 8
        await pilot.press("t", "t")
        await until(pilot, lambda: main.stream.chart is None)
        assert main.stream.text.display
        assert main.focused is main.stream.text


@pytest.mark.parametrize(
    ("opened", "keys"),
    [
        ("t", ["slash", *"one"]),
        ("t", ["i"]),
        ("t", ["slash", *"one", "enter", "t", "n"]),
        ("v", ["slash", *"one"]),
        ("v", ["i"]),
    ],
)
async def test_what_is_asked_of_the_text_brings_it_back(opened: str, keys: list[str]) -> None:
    app = make_app(script("one two one two one " * 30))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        main = await streamed(pilot)
        await pilot.press(opened)
        await pilot.pause()
        assert not main.stream.text.display
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await until(pilot, lambda: main.stream.text.display)
        assert main.stream.text.size.height >= LEAST_TEXT
        said = [note.message for note in app._notifications]
        assert [note for note in said if "chart" in note][:1] == (
            ["The chart has made room for the text: t brings it back."] if opened == "t" else []
        )
        await pilot.press("escape")
        assert main.stream.text.display


@pytest.mark.parametrize("size", [(80, 24), (120, 30), (120, 40), (200, 50)])
async def test_rows_are_shared_out_again_whatever_comes_beside_a_chart(
    size: tuple[int, int],
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        main = await streamed(pilot, 1.0)
        pane = main.stream
        await pilot.press("t")
        await until(pilot, lambda: pane.chart is not None and pane.chart.shown is not None)
        for keys in (["P"], ["slash"], ["escape"], ["i"], ["e"], ["escape"], ["P"], ["i"]):
            await pilot.press(*keys)
            await pilot.pause()
            shown = pane.displayed_children
            assert sum(each.outer_size.height for each in shown) == pane.size.height, keys
            if pane.chart is None:  # it has made room for what was asked of the text
                await pilot.press("t")
                await until(pilot, lambda: pane.chart is not None and pane.chart.shown is not None)
            assert pane.chart.size.height >= 3, keys
            assert not pane.text.display or pane.text.size.height >= LEAST_TEXT, keys


# --- formulas -------------------------------------------------------------------------------------


async def test_f_shows_formulas_with_their_numbers() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = await streamed(pilot, 0.5)
        await pilot.press("F")
        assert isinstance(app.screen, BodyScreen)
        text = app.screen._text
        assert "TPOT = (t_last − t_first) / (N − n_first)" in text
        assert main.memory_pane.state.formula in text
        await pilot.press("F")
        assert app.screen is main


async def test_keys_that_come_with_enter_are_no_part_of_the_query() -> None:
    app = make_app(script("one two one two one " * 30))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await streamed(pilot)
        await pilot.press("home", "slash", *"one")
        await pilot.pause()
        for key in ("enter", "n", "n"):  # in one read, as a quick typist or a script sends them
            app.simulate_key(key)
        await until(pilot, lambda: main.stream.text.search.number == 3)
        assert main.stream.search.input.value == "one"


def test_only_so_much_is_rendered_that_the_screen_stays_fluent() -> None:
    usual = "# Title\n\nA paragraph.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" * 20
    assert renderable(usual) == usual
    for flood in ("|a|b|\n|-|-|\n" + "|1|2|\n" * 5000, "# a\n\n" * 8000, "[" * 90_000):
        part = renderable(flood)
        assert flood.startswith(part)
        assert len(part) <= 40_000
        assert part.count("\n") <= 400
        assert part.count("|") <= 400
