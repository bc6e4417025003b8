"""What cannot be sent, and answers that break off, lie or never end: each named for what it is."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.session import Session
from kvtui.config import Endpoint, Settings, config_path
from kvtui.failure.taxonomy import NAMES
from kvtui.measure.figures import RunFigures
from kvtui.stream import transport
from kvtui.stream.request import Request, Timeouts
from tests.wire.threaded import in_thread

KEY = "sk-fixture-0123456789abcdefghij"
NOWHERE = "http://127.0.0.1:1/v1"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(RunOptions(base_url=NOWHERE, model="m", settings=Settings(config_path()))) as s:
        yield s


# --- what cannot be sent --------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"extra_body": {"a": {"b": [1.0, float("nan")]}}}, "a.b[1] is NaN"),
        ({"messages": ({"role": "user", "content": "a", "w": float("inf")},)}, "messages[0].w is"),
        ({"prompt": "h\ud800i"}, "the prompt has half a surrogate pair (U+D800) at character 2"),
        ({"system": "\udfff"}, "the system text has half"),
        ({"extra_body": {"x": ["\udc00"]}}, "x[0] has half"),
        ({"extra_body": {"x\udc00": 1}}, "the body has a name"),
        ({"extra_headers": {"X-A": "a中"}}, "the value of the header X-A holds"),
        ({"extra_headers": {"X-A": "a\nb"}}, "character 2 is a control character"),
        ({"extra_headers": {"X-中": "a"}}, "the name of the header X-\\u4e2d holds"),
        ({"extra_body": {"x": {1, 2}}}, "not JSON serializable"),
    ],
)
def test_a_request_that_cannot_be_sent_names_the_part(
    session: Session, key: str | None, more: dict[str, Any], named: str
) -> None:
    endpoint = Endpoint(NOWHERE, "test", api_key=key, key_from=key and "TEST_KEY")
    request = Request(endpoint, "m", **({"prompt": "Hi"} | more))

    figures = session.start(request, keep_pieces=False).result(20)

    verdict = figures.verdict
    assert (verdict.cls, verdict.subcode) == ("parameter", "invalid_request")
    assert verdict.message.startswith("The request cannot be sent: ")
    assert named in verdict.message
    assert verdict.fixes
    assert figures.evidence.phase == "settings"


@pytest.mark.parametrize("key", [None, KEY])
def test_a_base_url_with_a_login(session: Session, key: str | None) -> None:
    endpoint = Endpoint("http://bob:hunter22@127.0.0.1:1/v1", "test", key, key and "TEST_KEY")
    figures = session.start(Request(endpoint, "m", "Hi"), keep_pieces=False).result(20)
    assert (figures.verdict.cls, figures.verdict.subcode) == ("parameter", "base_url_invalid")
    assert "carries a login" in figures.verdict.message
    assert figures.verdict.fixes[0] == f"Write {NOWHERE}"
    assert "hunter22" not in repr(figures)


def test_a_key_that_no_header_carries_is_still_the_keys_fault(session: Session) -> None:
    endpoint = Endpoint(NOWHERE, "test", api_key="sk-\u4e2d" + KEY, key_from="TEST_KEY")
    figures = session.start(Request(endpoint, "m", "Hi"), keep_pieces=False).result(20)
    assert (figures.verdict.cls, figures.verdict.subcode) == ("auth", "key_malformed")


# --- answers that break off, hang or are no HTTP --------------------------------------------------

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
QUICK = Timeouts(connect=5, headers=5, first_token=5, idle=5)


def token(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\n"


def chunked(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@contextlib.contextmanager
def raw(
    *writes: bytes, hold: bool = True, endless: bytes = b"", pause: float = 0.0
) -> Iterator[str]:
    """A server that answers anything with these bytes, then holds the line (or closes it)."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            for data in writes:
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(pause)
            while endless:
                writer.write(endless)
                await writer.drain()
                await asyncio.sleep(0.005)
            if hold:
                await reader.read()
        writer.close()

    with in_thread(lambda: asyncio.start_server(serve, "127.0.0.1", 0)) as port:
        yield f"http://127.0.0.1:{port}/v1"


def asked(session: Session, url: str, timeouts: Timeouts = QUICK) -> RunFigures:
    endpoint = Endpoint(url, "test", api_key=KEY, key_from="TEST_KEY")
    request = Request(endpoint, "m", "Hi", timeouts=timeouts)
    return session.start(request, keep_pieces=False).result(20)


def outcome(figures: RunFigures) -> str:
    return f"{figures.verdict.cls}.{figures.verdict.subcode}"


def test_the_cap_on_a_lively_stream_is_not_called_silence(session: Session) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    with raw(head, endless=token("w ")) as url:
        figures = asked(session, url, replace(QUICK, total=0.3))
    assert outcome(figures) == "network.read_timeout"
    assert figures.evidence.capped
    assert figures.verdict.message.startswith("Stopped after --timeout 0.3 s while tokens were")
    assert not any("idle" in fix for fix in figures.verdict.fixes)
    assert "--timeout," in figures.verdict.fixes[0]
    assert figures.content.startswith("w w ")
    assert figures.partial


@pytest.mark.parametrize(
    ("status", "expected"), [("401 X", "auth.invalid_key"), ("500 X", "server.internal")]
)
@pytest.mark.parametrize("drips", [b"", b"x"])
def test_an_error_whose_body_hangs_or_drips_keeps_its_status(
    session: Session, monkeypatch: pytest.MonkeyPatch, status: str, expected: str, drips: bytes
) -> None:
    monkeypatch.setattr(transport, "ERROR_BODY_S", 0.2)
    monkeypatch.setattr(transport, "ERROR_SILENCE_S", 0.1)
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n\r\n".encode()
    with raw(head, b'{"error":{"message":"it is bad"}}', endless=drips) as url:
        figures = asked(session, url)
    assert outcome(figures) == expected
    assert figures.evidence.status == int(status[:3])
    assert (figures.evidence.body or "").startswith('{"error":{"message":"it is bad"}}')


def test_the_cap_in_the_body_of_an_error_keeps_its_status(session: Session) -> None:
    with raw(b"HTTP/1.1 401 X\r\nContent-Length: 9\r\n\r\n") as url:
        figures = asked(session, url, replace(QUICK, total=0.2))
    assert outcome(figures) == "auth.invalid_key"


@pytest.mark.parametrize("first", [b"SSH-2.0-OpenSSH_9.0\r\n", b"x\r\n", b"\x00\x1b[31m\r\n"])
def test_what_is_no_http_is_called_so(session: Session, first: bytes) -> None:
    with raw(first, hold=False) as url:
        figures = asked(session, url)
    assert outcome(figures) == "network.server_disconnected"
    assert "is no HTTP" in figures.verdict.message
    assert "\x1b" not in figures.verdict.message
    if first.startswith(b"SSH"):
        assert "SSH-2.0-OpenSSH_9.0" in figures.verdict.message
    assert not any("https://" in fix for fix in figures.verdict.fixes)


@pytest.mark.parametrize("together", [True, False])
def test_a_broken_chunk_keeps_the_text_and_does_not_wait(session: Session, together: bool) -> None:
    writes = [CHUNKED, chunked(token("hi ")), chunked(token("there")), b"zzz\r\nfoo"]
    with raw(*([b"".join(writes)] if together else writes), pause=0.02) as url:
        figures = asked(session, url, replace(QUICK, idle=19))
    assert outcome(figures) == "network.stream_interrupted"
    assert figures.content == "hi there"
    assert "no valid HTTP" in figures.verdict.message


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    cuts=st.lists(st.integers(0, 900), max_size=8),
    damage=st.lists(st.tuples(st.integers(0, 900), st.binary(max_size=4)), max_size=3),
    end=st.integers(0, 900),
    hold=st.booleans(),
)
def test_whatever_comes_over_the_line_ends_in_a_verdict(
    session: Session, cuts: list[int], damage: list[tuple[int, bytes]], end: int, hold: bool
) -> None:
    answer = CHUNKED + b"".join(chunked(token(word)) for word in ("one ", "two ", "three "))
    answer += chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n"
    for place, what in damage:
        answer = answer[:place] + what + answer[place + 1 :]
    answer = answer[: end or len(answer)]
    places = sorted({0, len(answer), *(cut for cut in cuts if cut < len(answer))})
    writes = [answer[a:b] for a, b in itertools.pairwise(places)]
    with raw(*writes, hold=hold) as url:
        figures = asked(session, url, Timeouts(connect=5, headers=0.3, first_token=0.3, idle=0.3))
    assert outcome(figures) in NAMES
    assert figures.chunks <= answer.count(b"{")
    assert len(figures.content) <= len(answer)
    assert figures.verdict.message


@pytest.mark.parametrize("body", [b'{"error":[]}', b"{}", b"null", b""])
def test_an_error_without_words_was_made_and_refused(session: Session, body: bytes) -> None:
    head = b"HTTP/1.1 400 X\r\nContent-Length: %d\r\n\r\n" % len(body)
    with raw(head + body) as url:
        figures = asked(session, url)
    assert outcome(figures) == "parameter.invalid_request"
    assert "refused the request (400)" in figures.verdict.message
    assert "BadRequestError" not in figures.verdict.message
    assert (body.decode() or "does not say why") in figures.verdict.message


def test_a_status_that_http_does_not_know(session: Session) -> None:
    with raw(b"HTTP/1.1 777 X\r\nContent-Length: 0\r\n\r\n") as url:
        figures = asked(session, url)
    assert outcome(figures) == "server.internal"
    assert "the status 777, which HTTP does not know" in figures.verdict.message


@pytest.mark.parametrize("status", [101, 204, 304])
def test_a_status_without_a_body_that_has_one_ends(session: Session, status: int) -> None:
    with raw(b"HTTP/1.1 %d X\r\nContent-Length: 5\r\n\r\nwords" % status) as url:
        figures = asked(session, url)
    assert figures.verdict.is_failure
    assert figures.evidence.status == status


@pytest.mark.parametrize("wanted", ["MY_KEY", "api_key_command of profile box"])
@pytest.mark.parametrize("status", [200, 401])
def test_a_key_that_was_not_found_is_said(session: Session, wanted: str, status: int) -> None:
    head = b"HTTP/1.1 %d X\r\nConnection: close\r\n\r\n" % status
    with raw(head, token("hi") + b"data: [DONE]\n\n", hold=False) as url:
        endpoint = Endpoint(url, "test", key_wanted_from=wanted)
        request = Request(endpoint, "m", "Hi", timeouts=QUICK)
        figures = session.start(request, keep_pieces=False).result(20)
    if status == 401:
        assert outcome(figures) == "auth.key_missing"
        assert wanted in figures.verdict.message
        assert ("is not set" in figures.verdict.message) == (wanted == "MY_KEY")
    else:
        said = [hint.message for hint in figures.hints if hint.subcode == "key_not_found"]
        assert len(said) == 1
        assert wanted in said[0]
