"""The border of evidence: nothing secret passes it, whatever the text."""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.config import Endpoint
from kvtui.stream.gather import Redactor, cannot_be_sent, server_ms

KEY = "wholly-own-form/Zx81+Qa77=Lm20"
OWN = "header-secret-5577aa"
ENDPOINT = Endpoint(
    "https://user:pass-word-99@host.test/v1",
    "test",
    api_key=KEY,
    headers={"X-Api-Key": OWN, "X-Harmless": "visible"},
)
REDACTOR = Redactor(ENDPOINT, {"Authorization": "Bearer other-secret-1234"}, ())
SECRETS = (KEY, OWN, "pass-word-99", "other-secret-1234")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "dress",
    [
        "{}",
        "Illegal header value b'Bearer {}'",
        'body {{"key": "{}"}} end',
        "https://host.test/v1?key={}&x=1",
        "{}{}",
    ],
)
def test_every_secret_in_every_dress(secret: str, dress: str) -> None:
    for worn in (secret, quote(secret, safe="")):
        text = REDACTOR.text(dress.format(worn, worn))
        assert secret not in text
        assert worn not in text


def test_values_headers_and_chains() -> None:
    table = {"error": {"message": f"bad {KEY}", "list": [KEY, 1, None]}, KEY: "as a name"}
    assert KEY not in repr(REDACTOR.value(table))
    assert REDACTOR.value({"n": 1, "ok": True}) == {"n": 1, "ok": True}
    headers = REDACTOR.headers(
        {"Set-Cookie": "id=1", "X-RateLimit-Remaining-Tokens": "42", "X-Note": f"k={KEY}"}
    )
    assert headers["set-cookie"] == "[redacted]"
    assert headers["x-ratelimit-remaining-tokens"] == "42"
    assert KEY not in headers["x-note"]
    outer = RuntimeError("outer")
    outer.__cause__ = ValueError(f"Bearer {KEY}")
    chain = REDACTOR.chain(outer)
    assert [link.type for link in chain] == ["RuntimeError", "ValueError"]
    assert KEY not in repr(chain)


def test_an_exception_that_cannot_say_what_it_is() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert REDACTOR.chain(Mute())[0].text == ""


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, 20_000))
def test_no_text_around_it_lets_a_key_through(before: str, after: str, fill: int) -> None:
    assert KEY not in REDACTOR.text("x" * fill + before + KEY + after)
    assert KEY not in (REDACTOR.body(("y" * fill + KEY + after).encode("utf-8", "replace")) or "")


@pytest.mark.parametrize("word", ["x", "*", "a.", "sk-", "eyJ", "a://", f"{KEY[0]}\n"])
def test_no_body_keeps_the_reader_busy(word: str) -> None:
    short, long = word * (4_000 // len(word)), word * (64_000 // len(word))
    seconds = []
    for text in (short, long):
        begun = time.process_time()
        REDACTOR.body(text)
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 60 * max(seconds[0], 0.001), "redaction must stay linear"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"openai-processing-ms": "123"}, 123.0),
        ({"x-litellm-response-duration-ms": "12.5"}, 12.5),
        ({"x-inference-time": "77 ms"}, 77.0),
        ({"openai-processing-ms": "soon"}, None),
        ({"openai-processing-ms": "-5"}, None),
        ({}, None),
    ],
)
def test_the_servers_own_time(headers: dict[str, str], expected: float | None) -> None:
    assert server_ms(headers) == expected


@pytest.mark.parametrize(
    ("url", "key", "headers", "refused"),
    [
        ("http://127.0.0.1:8000/v1", None, {}, False),
        ("http://127.0.0.1:8000/v1", "sk-xxxx", {}, False),
        ("http://127.0.0.1:8000/v1", "ends with space ", {}, True),
        ("https://api.openai.com/v1", None, {}, True),
        ("https://api.openai.com/v1", None, {"Authorization": "Bearer x"}, False),
        ("https://api.openai.com/v1", "sk-xxxx", {}, True),
        ("https://models.example.test/v1", "gho_0123456789abcdefghij", {}, False),
        ("host:8000", None, {}, True),
    ],
)
def test_what_is_not_even_tried(
    url: str, key: str | None, headers: dict[str, str], refused: bool
) -> None:
    assert cannot_be_sent(Endpoint(url, "test", api_key=key), url, headers) is refused
