"""No text of an answer shows the key in use, however the server cuts it."""

from __future__ import annotations

import base64
import tracemalloc
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui import redaction
from kvtui.failure import Evidence, classify
from kvtui.measure.mask import MUCH, Mask
from kvtui.measure.meter import Meter, Piece
from kvtui.redaction import REDACTED, hide_runs
from kvtui.stream.events import Delta, DeltaKind, Ended, Event, Finish, ModelName, Replaced

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


DRESSES = {
    "capitals": KEY.upper(),
    "percent": "".join(f"%{ord(char):02x}" for char in KEY),
    "quoted": quote(KEY, safe="").lower(),
    "escapes": "".join(f"\\u{ord(char):04X}" for char in KEY),
    "entities": "".join(f"&#{ord(char)};" for char in KEY),
    "base64": base64.b64encode(f"Bearer {KEY}".encode()).decode(),
    "hex": KEY.encode().hex(),
    "backwards": KEY[::-1],
    "lines": "\n".join(KEY[at : at + 5] for at in range(0, len(KEY), 5)),
    "spaced": " ".join(KEY),
    "middle": KEY[6:-4],
    "all but the end": KEY[:-1],
}


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 200])
@pytest.mark.parametrize("kind", ["content", "reasoning"])
def test_another_spelling_of_a_key_cut_over_deltas(dress: str, size: int, kind: DeltaKind) -> None:
    text = f"So it is: {dress} - and that is all."
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    meter, pieces = played(*(Delta(1.0 + n, kind, piece) for n, piece in enumerate(cut)))
    meter.feed([Ended(99.0, GOOD)])
    figures = meter.conclude(classify)
    for seen in (shown(pieces + meter.drain(), kind), getattr(figures, kind)):
        assert REDACTED in seen
        assert hide_runs(seen, KEY) == seen  # no run of it is left
        assert len(seen) < len(text)
        assert seen.startswith("So it is: ")
        assert seen.endswith("- and that is all.")


def test_words_in_common_with_a_key_that_is_words_are_shown() -> None:
    meter, pieces = played(Delta(1.0, "content", "my local-server is"), key="local-server-key")
    assert shown(pieces, "content") == "my local-server is"
    meter.feed([Ended(2.0, GOOD)])
    assert meter.conclude(classify).content == "my local-server is"


def test_a_run_that_has_no_end_waits_for_so_long_only() -> None:
    _, pieces = played(Delta(1.0, "content", KEY[:10]), *[Delta(2.0, "content", " " * 999)] * 9)
    assert len(shown(pieces, "content")) > 4000


@given(st.lists(st.text("skaSEC%2\\u0 ", max_size=6), max_size=30))
def test_what_is_no_key_comes_out_whole(cut: list[str]) -> None:
    meter, pieces = played(*(Delta(1.0, "content", piece) for piece in cut))
    meter.feed([Ended(2.0, GOOD)])
    meter.conclude(classify)
    assert shown(pieces + meter.drain(), "content") == "".join(cut)


@given(st.lists(st.text("aab", max_size=9)), st.text("ab", min_size=8, max_size=12))
def test_pieces_make_what_the_whole_makes(cut: list[str], key: str) -> None:
    meter, pieces = played(*(Delta(1.0, "content", t) for t in cut), key=key)
    meter.feed([Ended(2.0, GOOD)])
    meter.conclude(classify)
    text = shown(pieces + meter.drain(), "content")
    assert key not in text
    assert text == "".join(cut).replace(key, REDACTED)


@pytest.mark.parametrize("kind", ["content", "reasoning", "tool_call", "refusal"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_huge_delta_hides_the_key_within_it_and_at_its_ends(
    kind: DeltaKind, replaced: bool
) -> None:
    coded, words = quote(KEY, safe=""), "and so on " * (MUCH // 10)
    huge = f"{coded[9:]} {words}{KEY} {coded}{words} {coded[:20]}"
    first: Event = Delta(1.0, kind, f"so {coded[:9]}")
    meter, pieces = played(
        Replaced(1.0, kind, huge) if replaced and kind in ("content", "reasoning") else first,
        Delta(2.0, kind, huge), Delta(3.0, kind, f"{coded[20:]} ends"),
    )  # fmt: skip
    meter.feed([Ended(4.0, GOOD)])
    meter.conclude(classify)
    text = shown(pieces + meter.drain(), kind)
    assert text.endswith(" ends")
    assert hide_runs(text, KEY) == text
    assert KEY not in text
    assert text.count("and so on") >= 2 * (MUCH // 10)


def test_a_huge_text_takes_the_room_of_a_few_of_it() -> None:
    words = "the quick & brown fox says \\n to 100% of the dogs "
    text = words * 6_000 + KEY + words
    tracemalloc.start()
    hidden = Mask([KEY]).whole(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert hidden == words * 6_000 + REDACTED + words
    assert peak < 25 * len(text)  # a place for each character takes seventy times


@given(
    st.lists(
        st.one_of(st.text("aS \\%", max_size=9), st.integers(0, 30).map(lambda at: KEY[at:])),
        max_size=12,
    )
)
def test_windows_of_any_size_leave_no_run_of_the_key(cut: list[str]) -> None:
    text = "".join(cut)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(redaction, "_WINDOW", 7)
        hidden = hide_runs(text, KEY)
        assert hide_runs(hidden, KEY) == hidden
    assert hide_runs(hidden, KEY) == hidden  # nor would all of it at once find one
