"""The mouse on a figure says what it is; every figure that the panes name has its sentence."""

from __future__ import annotations

import pytest
from fakes import make_app
from test_screen import at, ready, shown

from kvtui.ui.draw.glossary import FIGURES, MEMORY, explained
from kvtui.ui.look.rows import plain, row


def test_a_name_counts_up_to_the_next_one() -> None:
    line = "TTFT        45.0 ms    tokens   256 / 512"
    assert "first token" in explained(line, 14, FIGURES)
    assert "answer" in explained(line, 38, FIGURES)
    assert explained("nothing named", 3, FIGURES) == ""
    assert explained("KV in use 1 MiB", 2, MEMORY) == MEMORY["KV in use"]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_mouse_on_a_figure_says_what_it_is(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size, tooltips=True) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 3.0)
        for widget, name, said in (
            (main.stream.figures, "TPOT", "Time per output token"),
            (main.memory_pane, "most at once", "How many sequences"),
            (main.memory_pane, "per token", "Bytes of keys"),
        ):
            lines = [plain(line) for line in widget.rows]
            y = next(at_ for at_, line in enumerate(lines) if name in line)
            gutter = widget.gutter
            x = lines[y].index(name) + len(name) + 1
            await pilot.hover(f"#{widget.id}", offset=(gutter.left + x, gutter.top + y))
            assert said in str(widget.tooltip)
        await pilot.hover("#footer")
        assert main.memory_pane.tooltip is None


async def test_the_first_cell_of_all_has_its_sentence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), tooltips=True) as pilot:
        main = await ready(pilot)
        pane = main.memory_pane
        monkeypatch.setattr(pane, "draw", lambda *_: [row(("weights 1", "muted"))])
        pane.redraw()
        await pilot.hover(f"#{pane.id}", offset=(pane.gutter.left, pane.gutter.top))
        assert str(pane.tooltip) == MEMORY["weights"]


async def test_no_figure_of_the_panes_is_without_its_sentence() -> None:
    app = make_app()
    async with app.run_test(size=(200, 50)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 3.0)
        for name in ("TTFT", "TPOT", "ITL p99", "chunks", "tokens", "counted", "prompt", "finish",
                     "decode", "TTFA", "ITL p50", "own lag"):  # fmt: skip
            assert name in shown(main.stream.figures)
            assert name in FIGURES
        await pilot.press("w")
        for name in ("weights", "overhead", "KV in use", "KV free", "unused", "sequence",
                     "per token", "longest", "most at once"):  # fmt: skip
            assert name in shown(main.memory_pane), name
            assert name in MEMORY


async def test_help_begins_with_what_the_figures_are() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("question_mark")
        rows = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "TTFT is from the last byte" in rows
        assert "F fills in the numbers" in rows
        assert "Send the prompt" in rows
