"""Answers that a server numbers in its own way: no text is lost, and what is odd is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kvtui.measure.tally import Tally
from kvtui.stream.events import Delta, Event, Finish
from kvtui.stream.reader import Reader

NO = object()


def chunk(*choices: tuple[Any, str | None], finish: str | None = None) -> bytes:
    """A chunk with (index, text) for each choice."""
    tables = [
        {"delta": {} if text is None else {"content": text}, "finish_reason": finish}
        | ({} if index is NO else {"index": index})
        for index, text in choices
    ]
    return f"data: {json.dumps({'choices': tables})}\n\n".encode()


def read(*chunks: bytes) -> tuple[Reader, list[Event], str]:
    reader, events = Reader(), list[Event]()
    for data in chunks:
        reader.feed(data, 0.0, events)
    reader.finish(0.0, events)
    shown = "".join(e.text for e in events if isinstance(e, Delta) and e.choice == 0)
    return reader, events, shown


@pytest.mark.parametrize("index", [0, 1, 7, "0", "1", "b", None, NO, -1, 1.5, True, [], 10**30])
def test_an_only_answer_is_shown_whatever_its_number(index: Any) -> None:
    reader, events, shown = read(
        chunk((index, None)), chunk((index, "Hel")), chunk((index, "lo")),
        chunk((index, None), finish="stop"),
    )  # fmt: skip
    assert shown == "Hello"
    assert reader.decoder.content_chars == 5
    assert reader.decoder.text_chunks == 2
    assert [e.reason for e in events if isinstance(e, Finish)] == ["stop"]
    note = reader.decoder.choices.note()
    if index in (1, 7, "1", "b") and index is not True:
        assert note == (
            f"The server numbers its only answer {index}, not 0: it is shown all the same."
        )
    else:
        assert note is None


@pytest.mark.parametrize("odd", [(0, 1), (1, 0), ("1", "0"), (NO, 3)])
def test_the_number_may_change_where_nothing_is_said(odd: tuple[Any, Any]) -> None:
    first, later = odd
    _, events, shown = read(
        chunk((later, None)), chunk((first, "a")), chunk((first, "b")),
        chunk((later, None), finish="length"),
    )  # fmt: skip
    assert shown == "ab"
    assert [e.reason for e in events if isinstance(e, Finish)] == ["length"]


def test_a_number_that_is_left_out_goes_on_with_the_answer() -> None:
    _, _, shown = read(chunk((2, "a")), chunk((NO, "b")), chunk((2, "c")))
    assert shown == "abc"


@pytest.mark.parametrize("names", [(0, 1), ("0", "1"), (4, 2), ("a", "b")])
@pytest.mark.parametrize("together", [True, False])
def test_answers_that_come_interleaved_are_kept_apart(
    names: tuple[Any, Any], together: bool
) -> None:
    one, two = names
    pieces = (
        [chunk((one, "He"), (two, "Sa")), chunk((one, "llo"), (two, "lut"))]
        if together
        else [chunk((one, "He")), chunk((two, "Sa")), chunk((two, "lut")), chunk((one, "llo"))]
    )
    finish = [chunk((two, None), finish="length"), chunk((one, None), finish="stop")]
    reader, events, shown = read(*pieces, *finish)
    assert shown == "Hello"
    other = [e for e in events if isinstance(e, Delta) and e.choice]
    assert "".join(e.text for e in other) == "Salut"
    assert len({e.choice for e in other}) == 1
    assert reader.decoder.finish_reason == "stop"
    assert reader.decoder.choices.note() == (
        f"2 answers came in one stream: number {one} is shown, the tokens of all are counted."
    )


def test_of_answers_that_begin_together_the_first_number_is_shown() -> None:
    _, _, shown = read(chunk((1, "Salut"), (0, "Hello")))
    assert shown == "Hello"


@pytest.mark.parametrize("index", [1, "1", NO])
@pytest.mark.parametrize(
    ("delta", "kind"),
    [
        ({"reasoning_content": "hm"}, "reasoning"),
        ({"refusal": "no"}, "refusal"),
        ({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, "tool_call"),
    ],
)
def test_what_is_no_content_is_not_lost_either(
    index: Any, delta: dict[str, Any], kind: str
) -> None:
    choice = {"delta": delta} | ({} if index is NO else {"index": index})
    _, events, _ = read(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
    assert [(e.kind, e.choice) for e in events if isinstance(e, Delta)] == [(kind, 0)]


def test_a_whole_answer_with_another_number() -> None:
    choice = {"index": 1, "message": {"content": "Hello"}, "finish_reason": "stop"}
    _, _, shown = read(json.dumps({"choices": [choice]}).encode())
    assert shown == "Hello"


def test_a_flood_of_answers_takes_no_room() -> None:
    _, events, shown = read(*(chunk((n, "x")) for n in range(3_000)))
    assert shown == "x"
    assert len({e.choice for e in events if isinstance(e, Delta)}) == 1_001


def shown_by_the_meter(events: list[Event]) -> tuple[str, str]:
    tally = Tally()
    tally.feed(events)
    return str(tally.content), str(tally.reasoning)


def test_the_meter_takes_it_for_an_answer() -> None:
    _, events, _ = read(chunk((1, "Hello")), chunk((1, " you")))
    assert shown_by_the_meter(events) == ("Hello you", "")


def test_number_0_is_shown_as_soon_as_it_speaks() -> None:
    reader, events, _ = read(
        chunk((1, "<think>hm</think>Sal")), chunk((0, "Hel")), chunk((1, "ut")), chunk((0, "lo"))
    )
    assert shown_by_the_meter(events) == ("Hello", "")
    assert (reader.decoder.content_chars, reader.decoder.reasoning_chars) == (5, 0)
    assert reader.decoder.content_tail == "Hello"
    assert "number 0 is shown" in (reader.decoder.choices.note() or "")


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        # A silent answer beside the one shown says nothing of it: before, within and after it.
        ([((0, "Hi"), "stop"), ((1, None), "content_filter")], "stop"),
        ([((0, "Hi"), None), ((1, None), "content_filter"), ((0, None), "stop")], "stop"),
        ([((1, None), "content_filter"), ((0, "Hi"), None), ((0, None), "stop")], "stop"),
        # The only thing that was said.
        ([((1, None), "content_filter")], "content_filter"),
        ([((0, None), "stop")], "stop"),
        # Texts numbered from 1, their end 0; and a real 0 that has been silent.
        ([((1, "Hi"), None), ((0, None), "length")], "length"),
        ([((0, None), "content_filter"), ((1, "Hi"), None), ((1, None), "stop")], "stop"),
        ([((1, "Hi"), "stop"), ((0, None), "content_filter")], "stop"),
    ],
)
def test_why_the_answer_shown_ended(
    chunks: list[tuple[tuple[Any, str | None], str | None]], reason: str
) -> None:
    reader, _, _ = read(*(chunk(choice, finish=finish) for choice, finish in chunks))
    assert reader.decoder.finish_reason == reason
