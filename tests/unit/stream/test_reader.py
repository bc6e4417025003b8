"""The reader takes bytes in any split, whole or broken, and never gives more than was sent."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvtui.stream.events import Delta, Event, Finish, KeepAlive, PromptProgress, Replaced, Usage
from kvtui.stream.models import parse_models
from kvtui.stream.reader import Reader
from kvtui.stream.shapes import usage_counts
from tests.wire.replay_server import ANSWERS, data, repeated

STREAMS = [
    case
    for case in ANSWERS
    if "send" in case and len(json.dumps(case)) < 20_000 and "encoding:" not in case["name"]
]


def read(pieces: list[bytes]) -> tuple[Reader, list[Event]]:
    reader = Reader()
    events: list[Event] = []
    for t, piece in enumerate(pieces):
        reader.feed(piece, float(t), events)
    reader.finish(float(len(pieces)), events)
    return reader, events


def texts(events: list[Event]) -> dict[str, str]:
    found = {"content": "", "reasoning": "", "tool_call": "", "refusal": ""}
    for event in events:
        if isinstance(event, Delta) and event.choice == 0:
            found[event.kind] += event.text
        elif isinstance(event, Replaced):
            found[event.kind] = event.text
    return found


def body_of(case: dict) -> bytes:
    items = [item for item in case["send"] if "wait_ms" not in item and "gzip" not in item]
    return b"".join(map(data, items))


def chunk(**delta: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case["name"])
def test_a_split_after_every_byte_changes_nothing(case: dict) -> None:
    body = body_of(case)
    whole, events = read([body])
    cut, cut_events = read([body[i : i + 1] for i in range(len(body))])
    assert texts(cut_events) == texts(events)
    for name in ("data_events", "bad_events", "bad_tail", "done"):
        assert getattr(cut, name) == getattr(whole, name), name
    for name in ("finish_reason", "completion_tokens", "error", "text_chunks", "cumulative"):
        assert getattr(cut.decoder, name) == getattr(whole.decoder, name), name


@given(
    case=st.sampled_from(STREAMS),
    cuts=st.lists(st.integers(0, 3000), max_size=12),
    damage=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=4),
    end=st.integers(0, 4000),
)
@example(case=STREAMS[0], cuts=[], damage=[], end=0)
def test_whatever_comes_is_read(
    case: dict, cuts: list[int], damage: list[tuple[int, int]], end: int
) -> None:
    body = bytearray(body_of(case)[:end])
    for place, value in damage:
        if place < len(body):
            body[place] = value
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    pieces = [bytes(body[a:b]) for a, b in pairwise(places)]

    reader, events = read(pieces)

    # Never more than was sent: a delta costs its own text and an event of its own.
    sent = sum(len(text) for text in texts(events).values())
    assert sent <= len(body)
    chunks = sum(isinstance(event, Delta) and not event.joined for event in events)
    assert chunks <= body.count(b"{")
    assert reader.data_events <= body.count(b"{") + body.lower().count(b"error") + body.count(b"d")


def test_pretty_printed_events_and_events_without_blank_lines() -> None:
    pretty = json.dumps({"choices": [{"index": 0, "delta": {"content": "a"}}]}, indent=1)
    body = "".join(f"data: {line}\n" for line in pretty.split("\n")).encode() + b"\n"
    body += chunk(content="b").replace(b"\n\n", b"\n") + chunk(content="c").replace(b"\n\n", b"\n")
    reader, events = read([body])
    assert texts(events)["content"] == "abc"
    assert (reader.bad_events, reader.data_events) == (0, 3)


def test_events_without_blank_lines_come_out_at_once() -> None:
    reader = Reader()
    events: list[Event] = []
    reader.feed(chunk(content="a").removesuffix(b"\n"), 1.0, events)
    assert events == [Delta(1.0, "content", "a")]


def test_a_broken_event_does_not_hide_the_next() -> None:
    body = b'data: {"choices"\n' + chunk(content="b").removesuffix(b"\n") + b"data: [DONE]\n"
    reader, events = read([body])
    assert texts(events)["content"] == "b"
    assert (reader.bad_events, reader.done) == (1, True)
    assert reader.bad_event == '{"choices"'


def test_pings_are_no_life_and_no_data() -> None:
    reader, events = read([b': hi\n\ndata: {"type":"ping"}\n\ndata: ping\n\n\n\ndata:\n\n'])
    assert reader.data_events == 0
    assert all(isinstance(event, KeepAlive) for event in events)


def test_repeated_text_is_found_and_only_what_is_new_follows() -> None:
    parts = ["The", "The quick", "The quick brown", "The quick brown fox", "The quick brown fox"]
    reader, events = read([chunk(content=part) for part in parts])
    assert reader.decoder.cumulative
    assert texts(events)["content"] == "The quick brown fox"
    assert reader.decoder.content_chars == len("The quick brown fox")


def test_a_phrase_that_the_model_repeats_is_no_repeated_text() -> None:
    parts = ["ha", "ha", "haha", "hahaha", "hahahaha"]
    reader, events = read([chunk(content=part) for part in parts])
    assert not reader.decoder.cumulative
    assert texts(events)["content"] == "".join(parts)


def test_usage_on_every_chunk_is_marked_until_the_finish() -> None:
    def with_usage(count: int, finish: str | None) -> bytes:
        choice = {"index": 0, "delta": {"content": "a"}, "finish_reason": finish}
        usage = {"prompt_tokens": 1, "completion_tokens": count}
        return f"data: {json.dumps({'choices': [choice], 'usage': usage})}\n\n".encode()

    _, events = read([with_usage(1, None), with_usage(2, None), with_usage(3, "stop")])
    usages = [event for event in events if isinstance(event, Usage)]
    assert [(usage.completion_tokens, usage.continuous) for usage in usages] == [
        (1, True),
        (2, True),
        (3, False),
    ]


def test_prompt_progress() -> None:
    progress = {"total": 100, "cache": 10, "processed": 60, "time_ms": 5}
    _, events = read(
        [f"data: {json.dumps({'choices': [], 'prompt_progress': progress})}\n\n".encode()]
    )
    assert events == [PromptProgress(0.0, 100, 10, 60)]


def test_text_of_a_chunk_with_finish_comes_before_its_finish() -> None:
    choice = {"index": 0, "delta": {"content": "a"}, "finish_reason": "length"}
    _, events = read([f"data: {json.dumps({'choices': [choice]})}\n\n".encode()])
    assert events == [Delta(0.0, "content", "a"), Finish(0.0, "length")]


@pytest.mark.parametrize("depth", [200, 5000, 200_000])
def test_deep_nesting_is_no_way_in(depth: int) -> None:
    reader, _ = read([b"data: " + b"[" * depth + b"\n\n", chunk(content="a")])
    assert reader.bad_events == 1


def test_fixture_texts_are_what_the_reader_gives() -> None:
    for case in STREAMS:
        if any("gzip" in item for item in case["send"]) or "closed only" in case["name"]:
            continue
        _, events = read([body_of(case)])
        assert texts(events)["content"] == repeated(case["expect"].get("content", "")), case["name"]


@pytest.mark.parametrize("odd", [b"null", b"[]", b"[1]", b'"s"', b"5", b"true", b"{}"])
def test_json_that_is_no_chunk_is_no_bad_event(odd: bytes) -> None:
    reader, events = read([chunk(content="a") + b"data: " + odd + b"\n\n" + chunk(content="b")])
    assert texts(events)["content"] == "ab"
    assert reader.bad_events == 0
    assert not reader.bad_tail


@pytest.mark.parametrize("split", [True, False])
def test_nothing_after_done_is_read_into_the_answer(split: bool) -> None:
    late = b'data: {"error": {"message": "late"}}\n\n'
    pieces = [chunk(content="a"), b"data: [DONE]\n\n", chunk(content="b"), late]
    reader, events = read(pieces if split else [b"".join(pieces)])
    assert texts(events)["content"] == "a"
    assert reader.decoder.error is None
    assert reader.done


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 11}}, (10, None, None)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 10}}, (10, None, 10)),
        ({"input_tokens": 10, "cache_read_input_tokens": 900}, (10, None, 900)),
        ({"completion_tokens": 5, "reasoning_tokens": 6}, (None, None, None)),
        ({"completion_tokens": 5, "reasoning_tokens": 5}, (None, 5, None)),
        ({"prompt_tokens": -5, "prompt_tokens_details": {"cached_tokens": 2.5}}, (None,) * 3),
    ],
)
def test_impossible_counts_are_not_believed(
    usage: dict[str, object], counts: tuple[int | None, ...]
) -> None:
    found = usage_counts(usage)
    assert (found.prompt, found.reasoning, found.cached) == counts


def test_a_long_list_of_models_is_counted_whole() -> None:
    body = json.dumps({"data": [{"id": f"model-{n}"} for n in range(10_000)]})
    listed = parse_models(body)
    assert listed is not None
    assert len(listed.ids) == 10_000
