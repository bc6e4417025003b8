"""The streamed text as wrapped lines: whatever the pieces, the same text and the same lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kvtui.ui.look.rows import break_points, wrap
from kvtui.ui.stream import history as module
from kvtui.ui.stream.history import History

TEXTS = st.text(
    alphabet=st.sampled_from("ab cd  e\nfg,.缓存表é👍\u0301 "), min_size=0, max_size=120
)


@given(TEXTS, st.integers(4, 40))
def test_lines_fit_and_lose_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(TEXTS, st.integers(4, 40), st.data())
def test_streamed_and_whole_give_the_same_lines(text: str, width: int, data: st.DataObject) -> None:
    whole, streamed = History(width), History(width)
    whole.append(text)
    rest = text
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        streamed.append(rest[:size])
        rest = rest[size:]
    # A mark that arrives alone joins the letter before it only if that is not yet wrapped away.
    if "\u0301" not in text:
        assert [streamed[i] for i in range(len(streamed))] == [whole[i] for i in range(len(whole))]
    assert streamed.text() == whole.text()


@given(TEXTS, st.integers(4, 40), st.integers(4, 40))
def test_another_width_gives_the_lines_of_that_width(text: str, first: int, then: int) -> None:
    kept, fresh = History(first), History(then)
    kept.append(text)
    fresh.append(text)
    kept.rewrap(then)
    assert [kept[i] for i in range(len(kept))] == [fresh[i] for i in range(len(fresh))]
    for line in (kept[i] for i in range(len(kept))):
        assert kept.kept()[line.start - kept.first :].startswith(line.text)
        assert kept[kept.line_at(line.start)].start == line.start
    assert kept.text() == fresh.text() == text.strip("\n")


def test_only_the_tail_is_wrapped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def counted(text: str, width: int) -> tuple[list[tuple[int, int]], int]:
        seen.append(len(text))
        return break_points(text, width)

    monkeypatch.setattr(module, "break_points", counted)
    history = History(40)
    for _ in range(5_000):
        history.append("word ")
    assert max(seen) <= 40 + len("word ")


def test_history_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LINES", 100)
    monkeypatch.setattr(module, "MAX_CHARS", 2_000)
    history = History(20)
    for number in range(1_000):
        history.append(f"line {number}\n")
    assert len(history) <= 102
    assert history.dropped >= 890
    assert history[len(history) - 2].text == "line 999"
    assert len(history.text()) <= 2_400  # newlines are not counted


def test_reasoning_is_a_paragraph_of_its_own() -> None:
    history = History(20)
    history.append("think ", "reasoning")
    history.append("more", "reasoning")
    history.append("answer")
    lines = [(history[i].kind, history[i].text) for i in range(len(history))]
    assert lines == [("reasoning", "think more"), ("content", ""), ("content", "answer")]
    assert history.text() == "answer"
    assert history.text("reasoning") == "think more"


def test_wide_characters_break_anywhere_but_before_a_stop() -> None:
    assert wrap("缓存保存的是已经算过的结果。", 10) == ["缓存保存的", "是已经算过", "的结果。"]
    assert wrap("一二三四五。", 10)[1].endswith("五。")


@given(st.lists(st.tuples(TEXTS, st.floats(0, 1, width=32)), max_size=12), st.integers(4, 30))
def test_every_character_knows_the_gap_before_its_piece(
    pieces: list[tuple[str, float]], width: int
) -> None:
    history = History(width)
    expected: list[float] = []
    for text, gap in pieces:
        history.append(text, marks=[(len(text), gap)] if text else [])
        expected += [gap] * len(text)
    kept = history.kept()
    expected = expected[len(expected) - len(kept) :]
    for line in (history[i] for i in range(len(history))):
        for start, end, gap in history.gaps(line):
            place = line.start - history.first
            assert expected[place + start : place + end] == [gap] * (end - start)


@given(TEXTS, st.integers(4, 40), st.data())
def test_a_slice_is_the_text_between_two_places(text: str, width: int, data: st.DataObject) -> None:
    history = History(width)
    history.append(text[: len(text) // 2])
    history.append(text[len(text) // 2 :])
    kept = history.kept()
    start = data.draw(st.integers(0, len(kept)))
    end = data.draw(st.integers(start, len(kept)))
    assert history.slice(history.first + start, history.first + end) == kept[start:end]


def test_a_paragraph_without_end_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARS", 4_000)
    monkeypatch.setattr(module, "CHUNK", 500)
    history, fresh = History(20), History(33)
    for number in range(5_000):
        history.append(f"word{number} ")
    assert len(history.kept()) <= 4_600
    assert history.kept().endswith("word4999 ")
    assert history.lost > 40_000
    fresh.append(history.kept())
    history.rewrap(33)
    shown = [history[i].text for i in range(len(history))]
    assert shown == [fresh[i].text for i in range(len(fresh))]
