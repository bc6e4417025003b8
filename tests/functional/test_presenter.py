"""Presenter mode: figures that the back row reads, and no host and no key's name anywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fakes import EMBEDDED, REMOTE, Script, make_app
from rich.segment import Segment
from test_inert import on_screen
from test_screen import AUTH, at, ready
from textual.color import Color

from kvtui.failure import Evidence, ExceptionFact, KeyFacts
from kvtui.measure.figures import Snapshot
from kvtui.ui.draw.digits import big, enlarged
from kvtui.ui.draw.presenter import presenter_rows
from kvtui.ui.look.rows import plain, width_of
from kvtui.ui.look.veil import LineVeil, Veil
from kvtui.ui.state import StreamState

HOST = "gpu.example"
NAMES = (HOST, "VLLM_KEY", "proxy.example")
EVIDENCE = Evidence(
    url=f"https://{HOST}/v1/chat/completions",
    host=HOST,
    status=401,
    body=f"no such key at {HOST}",
    proxy="http://proxy.example:3128",
    proxy_from="HTTPS_PROXY",
    key=KeyFacts("VLLM_KEY", 52),
    exceptions=(ExceptionFact("AuthenticationError", f"{HOST} said no"),),
    headers={"server": HOST},
)
REFUSED = replace(
    AUTH, message=f"{HOST} refused the key in VLLM_KEY.", fixes=("Set VLLM_KEY again.",)
)
FAILING = Script(pieces=[], verdict=REFUSED, evidence=EVIDENCE, finish=None)


def shown(app: Any) -> str:
    return on_screen(app)


def found(app: Any) -> list[str]:
    """The names that an audience can read, whole or broken at the edge of a pane."""
    text = shown(app)
    return [name for name in NAMES if name in text]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_no_name_is_shown_on_any_screen_until_it_ends(size: tuple[int, int]) -> None:
    app = make_app(FAILING, prepared=REMOTE)
    async with app.run_test(size=size, notifications=True) as pilot:
        main = await ready(pilot)
        assert HOST in shown(app)
        await pilot.press("P", "enter")
        await at(pilot, 1)
        await pilot.pause()
        assert "•••" in shown(app)
        assert found(app) == []
        main.say(f"{HOST} is gone.")
        await pilot.pause()
        assert found(app) == []
        for keys in (["o"], ["3"], ["D"], ["p"], ["M"], ["question_mark"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert found(app) == [], keys
            await pilot.press("escape")
            await pilot.pause()
        await pilot.press("P")
        await pilot.pause()
        assert HOST in shown(app)


async def test_the_flag_begins_it_and_the_figures_grow() -> None:
    app = make_app(prepared=REMOTE, presenter=True)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot)
        assert main.parts.presenter.presenting
        assert found(app) == []
        tall = main.stream.figures.size.height
        await pilot.press("P")
        await pilot.pause()
        assert main.stream.figures.size.height < tall


async def test_nothing_is_hidden_of_the_embedded_engine() -> None:
    app = make_app(prepared=EMBEDDED)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("P")
        await pilot.pause()
        assert "embedded" in shown(app)
        assert "•••" not in shown(app)


@pytest.mark.parametrize("tps", [None, 0.07, 5.93, 74.2, 216.0, 1234.0, 98765.0])
@pytest.mark.parametrize(("width", "height"), [(44, 10), (56, 6), (72, 13), (134, 18)])
def test_the_rate_fits_at_every_size(tps: float | None, width: int, height: int) -> None:
    state = StreamState(Snapshot(phase="done", decode_tps=tps, ttft_ms=1234.5, tpot_ms=4.63))
    rows = presenter_rows(state, width, height)
    assert len(rows) == height
    assert max(map(width_of, rows)) <= width
    assert all("…" not in plain(line) for line in rows)


@pytest.mark.parametrize("scale", [1, 2, 3, 4])
def test_an_enlarged_figure_is_the_same_figure(scale: int) -> None:
    small = [plain(line) for line in big("1234567890", 0)]
    large = [plain(line) for line in enlarged(big("1234567890", 0), scale)]
    assert len(large) == scale * len(small)

    def dots(lines: list[str]) -> list[list[bool]]:
        return [[char in mark for char in line] for line in lines for mark in ("█▀", "█▄")]

    assert [line[::scale] for line in dots(large)[::scale]] == dots(small)
    assert [line[scale - 1 :: scale] for line in dots(large)[scale - 1 :: scale]] == dots(small)


@pytest.mark.parametrize("scale", [1, 2, 3, 4])
def test_a_point_touches_no_digit_and_stands_on_their_line(scale: int) -> None:
    lines = [plain(line) for line in enlarged(big("8.8", 0), scale)]
    for text in lines:
        assert not text[3 * scale : 4 * scale].strip()
        assert not text[5 * scale : 6 * scale].strip()
    inked = [[bool(text[at].strip()) for text in lines] for at in (scale, 4 * scale)]
    last = [max(row for row, ink in enumerate(column) if ink) for column in inked]
    assert last[0] == last[1]


def test_a_name_is_masked_across_segments_and_keeps_the_width() -> None:
    veil = LineVeil(Veil(["gpu.example", "漢字漢字"]))
    line = [Segment("at gpu."), Segment("EXAMPLE:8000 "), Segment("漢字漢字!")]
    masked = veil.apply(line, Color(0, 0, 0))
    assert "gpu" not in "".join(segment.text for segment in masked)
    assert "EXAMPLE" not in "".join(segment.text for segment in masked)
    assert sum(s.cell_length for s in masked) == sum(s.cell_length for s in line)
    untouched = [Segment("nothing here")]
    assert veil.apply(untouched, Color(0, 0, 0)) is untouched
