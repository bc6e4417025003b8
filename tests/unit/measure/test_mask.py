"""No text of an answer shows the key in use, however the server cuts it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.failure import Evidence, classify
from kvtui.measure.mask import Mask
from kvtui.measure.meter import Meter, Piece
from kvtui.stream.events import Delta, DeltaKind, Ended, Event, Finish, ModelName, Replaced
from kvtui.text import REDACTED

KEY = "sk-sk-aSECRETkey/with+odd=chars&Zq9"
GOOD = Evidence(status=200, data_events=9, content_chars=9, finish_reason="stop", done_seen=True)


def shown(pieces: list[Piece], kind: str) -> str:
    text = ""
    for piece in pieces:
        if piece.kind == kind:
            text = piece.text if piece.replaces else text + piece.text
    return text


def played(*events: Event, drains: int = 1, key: str = KEY) -> tuple[Meter, list[Piece]]:
    meter = Meter(keep_pieces=True, secrets=[key])
    pieces: list[Piece] = []
    for number, event in enumerate(events):
        meter.feed([event])
        if number % drains == 0:
            pieces += meter.drain()
    return meter, pieces


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("kind", ["content", "reasoning", "tool_call", "refusal"])
@pytest.mark.parametrize("drains", [1, 5])
def test_a_key_cut_over_deltas(size: int, kind: DeltaKind, drains: int) -> None:
    text = f"sk- your key is sk-{KEY} and {KEY}{KEY} sk-sk-"
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    meter, pieces = played(*(Delta(1.0 + n, kind, t) for n, t in enumerate(cut)), drains=drains)
    meter.feed([Ended(99.0, GOOD)])
    figures = meter.conclude(classify)
    pieces += meter.drain()
    clean = text.replace(KEY, REDACTED)
    assert shown(pieces, kind) == clean
    assert meter.drain() == []
    if kind in ("content", "reasoning"):
        assert getattr(figures, kind) == clean


def test_what_cannot_be_the_key_is_shown_at_once() -> None:
    _, pieces = played(Delta(1.0, "content", "this is"), Delta(2.0, "content", " fine, s"))
    assert shown(pieces, "content") == "this is fine, "


def test_a_replaced_text_a_finish_reason_and_a_model_name() -> None:
    meter, pieces = played(
        Delta(1.0, "content", KEY[:5]),
        Replaced(2.0, "content", f"it is {KEY}!"),
        ModelName(2.0, KEY),
        Finish(2.0, KEY),
        Ended(3.0, GOOD),
    )
    figures = meter.conclude(classify)
    assert shown(pieces + meter.drain(), "content") == f"it is {REDACTED}!"
    assert KEY not in repr(figures) + repr(meter.snapshot())


@pytest.mark.parametrize("key", ["", "test", "ollama"])
def test_a_key_that_is_a_word_hides_nothing(key: str) -> None:
    assert not Mask([key])
    _, pieces = played(Delta(1.0, "content", f"a {key} of it"), key=key)
    assert shown(pieces, "content") == f"a {key} of it"


@given(st.lists(st.text("aab", max_size=9)), st.text("ab", min_size=8, max_size=12))
def test_pieces_make_what_the_whole_makes(cut: list[str], key: str) -> None:
    meter, pieces = played(*(Delta(1.0, "content", t) for t in cut), key=key)
    meter.feed([Ended(2.0, GOOD)])
    meter.conclude(classify)
    text = shown(pieces + meter.drain(), "content")
    assert key not in text
    assert text == "".join(cut).replace(key, REDACTED)
