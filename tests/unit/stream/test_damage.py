"""Streams cut and damaged at random: no exception, no more than was sent, always a verdict.

Bytes are dropped, doubled, moved, changed and put in; lines grow huge; the whole may be compressed
and damaged again after that. What comes out is measured and judged as any answer is.
"""

from __future__ import annotations

import gzip
import json
import zlib
from datetime import timedelta
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvtui.failure import Evidence, classify
from kvtui.failure.taxonomy import NAMES
from kvtui.measure.meter import Meter
from kvtui.stream.encoding import Inflater, UndecodableError
from kvtui.stream.events import Delta, Ended, Event, Replaced
from kvtui.stream.reader import Reader
from tests.wire.replay_server import ANSWERS, data

BODIES = [
    b"".join(data(item) for item in case["send"] if "wait_ms" not in item)
    for case in ANSWERS
    if "send" in case and len(json.dumps(case)) < 20_000 and "gzip" not in json.dumps(case)
]
BODIES += [str(case["body"]).encode() for case in ANSWERS if len(str(case.get("body", ""))) > 40]

PLACES = st.integers(0, 4000)
SIZES = st.integers(1, 400)
WORDS = [b"\r", b"\n\n", b"data: ", b"{", b'"', b"[DONE]"]
CHANGES = st.one_of(
    st.tuples(st.just("drop"), PLACES, SIZES),
    st.tuples(st.just("double"), PLACES, SIZES),
    st.tuples(st.just("move"), PLACES, SIZES),
    st.tuples(st.just("set"), PLACES, st.integers(0, 255)),
    st.tuples(st.just("put"), PLACES, st.binary(max_size=30)),
    st.tuples(st.just("put"), PLACES, st.sampled_from(WORDS)),
    st.tuples(st.just("grow"), PLACES, st.sampled_from([1_000, 300_000])),
)  # fmt: skip


def changed(body: bytes, changes: list[tuple[str, int, int | bytes]]) -> bytes:
    for what, place, how in changes:
        at = place % (len(body) + 1)
        if isinstance(how, bytes):
            body = body[:at] + how + body[at:]
        elif what == "drop":
            body = body[:at] + body[at + how :]
        elif what == "double":
            body = body[:at] + body[at : at + how] * 2 + body[at + how :]
        elif what == "move":
            body = body[:at] + body[at + how :] + body[at : at + how]
        elif what == "grow":
            body = body[:at] + b"x" * how + body[at:]
        elif at < len(body):
            body = body[:at] + bytes([how]) + body[at + 1 :]
    return body


def read(pieces: list[bytes], encoding: str | None) -> tuple[Reader, list[Event], int]:
    """What a reader makes of the pieces, and how many bytes they were uncompressed."""
    reader, inflater, events = Reader(), Inflater(encoding), list[Event]()
    size = 0
    try:
        for t, piece in enumerate(pieces):
            plain = inflater.feed(piece)
            size += len(plain)
            reader.feed(plain, float(t), events)
    except UndecodableError:
        pass
    reader.finish(float(len(pieces)), events)
    return reader, events, size


@settings(deadline=timedelta(seconds=5))
@given(
    body=st.sampled_from(BODIES),
    changes=st.lists(CHANGES, max_size=6),
    encoding=st.sampled_from([None, "gzip", "deflate"]),
    after=st.lists(CHANGES, max_size=2),
    cuts=st.lists(st.integers(0, 6000), max_size=12),
)
@example(body=BODIES[0], changes=[("grow", 9, 300_000)] * 3, encoding="gzip", after=[], cuts=[7])
@example(body=BODIES[0], changes=[("put", 0, b"{" * 2000)], encoding=None, after=[], cuts=[])
def test_whatever_is_done_to_a_stream(
    body: bytes,
    changes: list[tuple[str, int, int | bytes]],
    encoding: str | None,
    after: list[tuple[str, int, int | bytes]],
    cuts: list[int],
) -> None:
    body = changed(body, changes)
    sent = body
    if encoding is not None:
        body = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    body = changed(body, after)
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})

    reader, events, size = read([body[a:b] for a, b in pairwise(places)], encoding)

    meter = Meter(keep_pieces=True)
    meter.feed(events)
    decoder = reader.decoder
    evidence = Evidence(
        status=200, data_events=reader.data_events, bad_events=reader.bad_events,
        content_chars=decoder.content_chars, reasoning_chars=decoder.reasoning_chars,
        tool_calls=decoder.tool_calls, refusal=decoder.refusal, done_seen=reader.done,
        finish_reason=decoder.finish_reason, sse_error=decoder.error,
        streamed=reader.mode in ("sse", "unknown"),
    )  # fmt: skip
    meter.feed([Ended(1e9, evidence)])
    figures = meter.conclude(classify)

    assert f"{figures.verdict.cls}.{figures.verdict.subcode}" in NAMES
    texts = [event for event in events if isinstance(event, Delta | Replaced)]
    limit = size if after else len(sent)
    assert len(figures.content) + len(figures.reasoning) <= limit
    assert sum(not event.joined for event in texts) <= (sent.count(b"{") if not after else limit)
    assert figures.chunks <= (sent.count(b"{") if not after else limit)
    shown = sum(len(piece.text) for piece in meter.drain() if not piece.replaces)
    assert shown <= limit
