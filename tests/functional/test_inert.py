"""Whatever a server, a file or a flag holds: no character of it is obeyed by the terminal."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import REMOTE, Prepared, Script, make_app
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from test_screen import at, ready
from textual._ansi_theme import DEFAULT_TERMINAL_THEME
from textual.color import Color
from textual.filter import ANSIToTruecolor
from textual.strip import Strip

from kvtui.config import Endpoint
from kvtui.failure import Evidence, Hint, KeyFacts, Verdict
from kvtui.state_file import load_state, save_state
from kvtui.text import sanitise
from kvtui.ui.look.rows import Span, clip, left, plain, right, wrap
from kvtui.ui.terminal.outlet import Outlet, passed

OVERRIDES = set("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e")
OVERRIDES |= set("\u2066\u2067\u2068\u2069")
HOSTILE = "\x1b]0;PWN\x07\x1b[2J\x9b31m\u202eabc\u2066\r\n\x7f\x00\ud83d漢\t"


def obeyed(text: str) -> list[str]:
    """The characters of a drawn text that a terminal acts on, or cannot be sent."""
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cs") or c in OVERRIDES]


def on_screen(app: Any) -> str:
    """All that the compositor sends to the terminal, the styles aside."""
    app.screen.refresh()
    return "".join(
        segment.text
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if not segment.control
    )


def hostile_prepared(verdict: Verdict | None = None) -> Prepared:
    return replace(
        REMOTE,
        endpoint=Endpoint(f"https://{HOSTILE}/v1", HOSTILE, "sk-x", HOSTILE),
        model=f"model{HOSTILE}",
        models=(f"model{HOSTILE}", f"other{HOSTILE}"),
        notes=(f"note {HOSTILE}",),
        verdict=verdict,
        evidence=EVIDENCE if verdict else None,
    )


EVIDENCE = Evidence(
    url=f"https://host/{HOSTILE}",
    host=HOSTILE,
    model=HOSTILE,
    status=500,
    body=f"body {HOSTILE}",
    finish_reason=HOSTILE,
    key=KeyFacts(HOSTILE, 4, problem=HOSTILE),
)
VERDICT = Verdict(
    "server",
    f"code{HOSTILE}",
    f"PWN says {HOSTILE}",
    (f"fix {HOSTILE}",),
    hints=(Hint(f"hint{HOSTILE}", HOSTILE),),
)
FAILING = Script(
    pieces=[(0.05, "content", f"a{HOSTILE}"), (0.06, "reasoning", HOSTILE)],
    verdict=VERDICT,
    evidence=EVIDENCE,
    finish=HOSTILE,
    hints=(Hint(HOSTILE, HOSTILE),),
)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_no_pane_and_no_dialog_lets_a_control_through(size: tuple[int, int]) -> None:
    app = make_app(
        FAILING, prepared=hostile_prepared(), prompt=f"ask {HOSTILE}", system=f"be {HOSTILE}"
    )
    async with app.run_test(size=size) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 0.055)
        assert obeyed(on_screen(app)) == []
        await at(pilot, 5)
        app.main.say(f"notice {HOSTILE}")
        app.notify(f"raw {HOSTILE}", title=HOSTILE, markup=False)
        await pilot.pause()
        drawn = on_screen(app)
        assert "PWN" in drawn
        assert obeyed(drawn) == []
        for keys in (["o"], ["M"], ["e"], ["1"], ["3"], ["t"], ["question_mark"], ["p"], ["T"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert obeyed(on_screen(app)) == [], keys
            await pilot.press("escape")
            await pilot.pause()


async def test_an_endpoint_that_failed_at_the_start_is_shown_inert() -> None:
    app = make_app(prepared=hostile_prepared(VERDICT), gpu=HOSTILE, arch=HOSTILE)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        drawn = on_screen(app)
        assert "PWN" in drawn
        assert obeyed(drawn) == []


async def test_a_finish_reason_is_shown_as_signs_not_dropped() -> None:
    app = make_app(replace(FAILING, verdict=Verdict("ok", "ok"), finish="\x1b]0;t\x07"))
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await at(pilot, 5)
        assert "␛]0;t␇" in on_screen(app)


_any_text = st.text(st.characters(), max_size=20) | st.text(
    st.sampled_from([*HOSTILE, *OVERRIDES, "a", "é", "👩", "\u200d", "\u0301"]), max_size=20
)


@given(_any_text, st.integers(0, 30))
def test_no_span_and_no_field_holds_a_control(text: str, width: int) -> None:
    for made in (clip(text, width), left(text, width), right(text, width), *wrap(text, width)):
        assert obeyed(made) == []
    assert obeyed(plain((Span(text),))) == []
    assert obeyed(Span("x", "bad")._replace(text=clip(text, width)).text) == []


@given(st.lists(_any_text, max_size=4))
@example(["\ud800\u200d"])
@settings(deadline=None)
def test_the_outlet_lets_no_control_through_and_keeps_every_width(texts: list[str]) -> None:
    segments = [Segment(text) for text in texts]
    passed = Outlet().apply(segments, Color(0, 0, 0))
    assert obeyed("".join(segment.text for segment in passed)) == []
    assert [Strip([each]).cell_length for each in passed] == [
        Strip([each]).cell_length for each in segments
    ]


MIXED = [
    Style(color="red", bgcolor="#101010"),
    Style(dim=True, color="#808080", bgcolor="#101010"),
    Style(color="#808080", bgcolor="#101010", bold=True),
    Style(color="#808080"),
    None,
]


@pytest.mark.parametrize("style", MIXED, ids=str)
def test_one_pass_is_what_the_filters_are_one_after_the_other(style: Style | None) -> None:
    background = Color(1, 2, 3)
    first = ANSIToTruecolor(DEFAULT_TERMINAL_THEME)
    segments = [Segment("a \x1b", style), Segment("b", Style(color="#ffffff"))]
    for given_ in (segments, segments[1:], [Segment("c", style)]):
        one_by_one = Outlet().apply(first.apply(given_, background), background)
        strip = Strip(given_)
        assert Outlet([first]).apply(given_, background) == one_by_one
        assert list(passed(strip, [Outlet([first])], background)) == one_by_one
    plain_one = Strip(segments[1:])
    assert passed(plain_one, [Outlet([first])], background) is plain_one


def test_half_a_character_is_remembered_as_a_question_mark(tmp_path: Path) -> None:
    save_state({"prompts": ["a\ud83db", "漢"]}, tmp_path / "state.toml")
    assert load_state(tmp_path / "state.toml") == {"prompts": ["a?b", "漢"]}


async def test_a_flood_is_shown_over_several_frames_and_stays_whole() -> None:
    flood = "漢\u202e é" * 60_000
    pieces = [(0.1, "content", flood), (0.2, "content", "end")]
    app = make_app(Script(pieces=pieces))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        await pilot.press("enter")
        app.fake.clock.now += 10
        main.parts.frames.tick()
        shown = len(main.stream.text.history.text(None))
        assert 0 < shown < len(flood) / 2
        assert not main.conductor.running
        for _ in range(20):
            main.parts.frames.tick()
        assert main.stream.text.history.text(None) == sanitise(flood) + "end"
        assert main.parts.frames.timer._active.is_set() is False  # and then it is quiet
