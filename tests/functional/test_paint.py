"""Partial updates leave on the terminal what a whole repaint would have put there."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from fakes import Script, make_app
from rich.cells import split_graphemes
from test_screen import at, ready
from textual._compositor import Compositor, CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip

from kvtui.ui.terminal.cells import NEEDED, CellsCompositor, CellsUpdate

Cell = tuple[str, object]
"""What stands in a cell, and on what: its background, reversed or not."""


class Terminal:
    """A grid of cells that takes what the compositor writes."""

    def __init__(self) -> None:
        self.rows: list[list[Cell]] = []
        self.partial = 0
        self.cells = 0

    def whole(self, compositor: Compositor) -> None:
        self.rows = cells_of(compositor)

    def write(self, update: CellsUpdate) -> None:
        self.partial += 1
        for x, y, strip in update.strips:
            row, new = self.rows[y], _columns(strip)
            self.cells += len(new)
            self.rows[y] = [*row[:x], *new, *row[x + len(new) :]]


def cells_of(compositor: Compositor) -> list[list[Cell]]:
    """The whole screen as it is painted at once, with nothing kept from before."""
    for widget in compositor.visible_widgets:
        widget._layout_cache.clear()
        widget._set_dirty()
        widget._exchange_repaint_regions()
    return [_columns(strip) for strip in compositor.render_strips()]


def _columns(strip: Strip) -> list[Cell]:
    """One entry a cell; a wide character is followed by an empty one."""
    cells: list[Cell] = []
    for text, style, _ in strip:
        ground = (style.color if style.reverse else style.bgcolor, style.reverse) if style else None
        for start, end, width in split_graphemes(text)[0]:
            cells += [(text[start:end], ground)] + [("", ground)] * (width - 1)
    return cells


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    grid = Terminal()
    whole, partial = Compositor.render_full_update, CellsCompositor.render_partial_update

    def render_full(self: Compositor, simplify: bool = False) -> Any:
        update = whole(self, simplify=simplify)
        grid.whole(self)
        return update

    def render_partial(self: CellsCompositor) -> CompositorUpdate | None:
        update = partial(self)
        if isinstance(update, CellsUpdate):
            grid.write(update)
        return update

    monkeypatch.setattr(Compositor, "render_full_update", render_full)
    monkeypatch.setattr(CellsCompositor, "render_partial_update", render_partial)
    return grid


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_what_is_written_bit_by_bit_is_the_screen(
    terminal: Terminal, size: tuple[int, int]
) -> None:
    words = [
        "A",
        "cache",
        "keeps",
        "缓存保存的是已经算过的结果，下一步",
        "what",
        "was",
        "👩\u200d💻",
        "worked",
        "out",
        "",
    ]
    pieces = [(0.05 + 0.01 * n, "content", words[n % len(words)] + " ") for n in range(500)]
    app = make_app(Script(pieces=pieces))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("enter")
        for step in range(30):
            app.fake.clock.now += 0.2
            app.main.parts.frames.tick()
            if step == 10:
                app.notify("A notice lies over the text.", timeout=1000)  # it stays
            if step == 20:
                await pilot.press("up", "up")
            await pilot.pause()
            assert terminal.rows == cells_of(app.main._compositor)
    assert terminal.partial >= 20
    width, height = size
    assert terminal.cells < terminal.partial * width * height * 0.5


WIDE = "缓存保存的是已经算过的结果" * 8


@pytest.mark.parametrize("region", [Region(0, 0, 3, 2), Region(1, 0, 4, 2), Region(3, 1, 20, 1)])
async def test_a_wide_character_is_written_whole(terminal: Terminal, region: Region) -> None:
    app = make_app(Script(pieces=[(0.05, "content", WIDE)]))
    async with app.run_test(size=(81, 24), notifications=True) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 1.0)
        assert any(
            (row[at][0], row[at + 2][0]) == ("缓", "存")
            for row in terminal.rows
            for at in range(70)
        )
        app.main.stream.text.refresh(region)
        await pilot.pause()
        assert terminal.rows == cells_of(app.main._compositor)
        app.notify("It begins where it likes.")
        await pilot.pause()
        app.main.stream.text.refresh()
        await pilot.pause()
        assert terminal.rows == cells_of(app.main._compositor)
        app.clear_notifications()
        await pilot.pause()
        assert terminal.rows == cells_of(app.main._compositor)
    assert terminal.partial


@pytest.mark.parametrize("lost", ["module", "name"])
async def test_a_textual_without_what_is_needed_paints_as_it_does(
    lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lost == "module":
        monkeypatch.setitem(sys.modules, "kvtui.ui.terminal.cells", None)  # as if not importable
    else:
        monkeypatch.setattr("kvtui.ui.terminal.cells.NEEDED", (*NEEDED, "renamed_since"))
    app = make_app()
    async with app.run_test() as pilot:
        await ready(pilot)
        assert type(app.main._compositor) is Compositor
        assert app.main._compositor.render_strips()
