"""The border that every text passes: nothing secret, nothing a terminal obeys, right units."""

from __future__ import annotations

import base64
import json
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvtui import text

KEY = "tt-4f9A/b+c=D7e8G1h2J3k4L5m6"


@pytest.mark.parametrize(
    "dress",
    [
        KEY,
        quote(KEY, safe=""),
        json.dumps(KEY),
        repr(KEY),
        "\n".join([KEY[:9], KEY[9:]]),
        KEY[:9] + r"\n" + KEY[9:],
        KEY[:-3],
        KEY[5:],
        "\u200b".join(["Bearer " + KEY, ""]),
    ],
)
def test_a_known_key_is_hidden_in_every_dress(dress: str) -> None:
    hidden = text.redact(f"before {dress} after", KEY)
    assert hidden.startswith("before ")
    assert "after" in hidden
    letters = "".join(hidden.split()).replace(r"\n", "")
    assert not any(KEY[at : at + 8] in letters for at in range(len(KEY) - 8))


def spelt(pattern: str) -> str:
    return "".join(pattern % ord(char) for char in KEY)


@pytest.mark.parametrize(
    "dress",
    [
        base64.b64encode(f"Bearer {KEY}".encode()).decode(),
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        base64.urlsafe_b64encode(f"api:{KEY}:x".encode()).decode(),
        base64.encodebytes(f"Authorization: Bearer {KEY} and much more".encode()).decode(),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        spelt("\\u%04x"),
        spelt("\\\\u%04X"),
        spelt("\\x%02x"),
        spelt("%%%02x"),
        spelt("&#%d;"),
        spelt("&#x%x;"),
        KEY.replace("/", "\\/"),
        KEY[::-1],
        KEY.upper(),
        KEY.lower(),
        KEY[1:-1],
        KEY[3:15],
        "\u200b".join(KEY),
        " ".join(KEY),
    ],
)
def test_a_known_key_is_hidden_in_every_spelling(dress: str) -> None:
    for around in ("", "x", "xy", "abcdefghi"):
        hidden = text.redact(f"it is {around} {dress} after", KEY)
        assert hidden.startswith(f"it is {around}")
        assert hidden.endswith(" after")
        assert text.REDACTED in hidden
        middle = len(dress) // 2
        assert dress[middle - 6 : middle + 6] not in hidden


@given(st.text(max_size=30), st.text(max_size=30), st.integers(0, 16), st.integers(12, 28))
@example("%", "", 3, 12)  # which looks as if the key's 4f were an escape
def test_any_long_run_of_a_key_is_hidden(before: str, after: str, at: int, size: int) -> None:
    run = KEY[at : at + size]
    if len(run) >= 12:
        assert run not in text.redact(before + run + after, KEY)


def test_what_is_hidden_is_hidden_once() -> None:
    said = text.redact(f"Authorization: Bearer {KEY} (x-api-key: {KEY})", KEY)
    assert said == "Authorization: Bearer [redacted] (x-api-key: [redacted])"


def test_a_short_run_of_a_key_stays() -> None:
    assert text.redact("model fine-tune-7b", "fine-lm-key-0123456789") == "model fine-tune-7b"


@pytest.mark.parametrize(
    ("shown", "secret"),
    [
        ("Authorization: Bearer abcdef123456", "abcdef123456"),
        ("Authorization: Bearer\nabcdef123456", "abcdef123456"),
        ("Authorization: Bearer \r\n  abcdef123456\r\nHost: h", "abcdef123456"),
        ("it said: bearer\nabcdef123456", "abcdef123456"),
        ("'authorization': 'Basic dXNlcjpwYXNz'", "dXNlcjpwYXNz"),
        ("x-api-key=topsecretvalue", "topsecretvalue"),
        ("https://user:hunter22@proxy.example:8080/", "hunter22"),
        ("Incorrect API key provided: sk-proj-ab12****************wxyz.", "wxyz"),
        ("https://h/v1?api_key=zzzzz9999&x=1", "zzzzz9999"),
        ("AIzaSyA1234567890abcdefg", "SyA1234567890"),
        ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "eyJhbGciOiJIUzI1NiJ9"),
        ("gsk_abcdefgh12345", "abcdefgh12345"),
    ],
)
def test_what_has_the_shape_of_a_key_is_hidden(shown: str, secret: str) -> None:
    assert secret not in text.redact(shown)


@pytest.mark.parametrize(
    "plain",
    [
        "max_tokens must be at most 4096",
        "key_not_found: the task-oriented model is missing",
        "https://api.example.com/v1/chat/completions",
        "The model `gpt-4o-mini` does not exist",
        "**bold** text and ***",
        "www-authenticate: Bearer\ncontent-type: text/plain",
        "www-authenticate: Basic\r\nx_request-id : 123456",
    ],
)
def test_ordinary_text_stays(plain: str) -> None:
    assert text.redact(plain, None, "", "ab") == plain


@given(st.text())
def test_nothing_is_left_that_a_terminal_obeys(anything: str) -> None:
    for char in text.sanitise(anything):
        assert char == "\n" or unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"}
        assert char not in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\u061c"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b]0;owned\x07", "␛]0;owned␇"),
        ("\x9b31m", "\ufffd31m"),
        ("a\tb", "a    b"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("x\u2028y", "x\ny"),
        ("abc\u202edef", "abc␦def"),
        ("zero\u200bwidth", "zerowidth"),
        ("👩\u200d👩\u200d👧 ✔\ufe0f 缓存", "👩\u200d👩\u200d👧 ✔\ufe0f 缓存"),
        ("[bold red]markup[/]", "[bold red]markup[/]"),
        ("e" + "\u0301" * 40, "e" + "\u0301" * 8),
    ],
)
def test_sanitised_text(raw: str, shown: str) -> None:
    assert text.sanitise(raw) == shown


def test_units() -> None:
    assert text.gib(15 << 30) == "15.00"
    assert text.gib(None) == "—"
    assert text.binary_size(5_120 * 2_048) == "10.00 MiB"
    assert text.binary_size(512) == "512 B"
    assert text.count(131_072) == "131,072"
    assert [text.milliseconds(ms) for ms in (4.63, 41.3, 412.0, 999.6, 1_940.0)] == [
        "4.63 ms",
        "41.3 ms",
        "412 ms",
        "1.00 s",
        "1.94 s",
    ]
    assert [text.rate(tps) for tps in (7.416, 74.16, 741.6, 12_345.0)] == [
        "7.42",
        "74.2",
        "742",
        "12,345",
    ]


def test_one_is_no_plural() -> None:
    assert [text.many(n, "request") for n in (0, 1, 2, 2000)] == [
        "0 requests", "1 request", "2 requests", "2,000 requests",
    ]  # fmt: skip


def test_did_you_mean() -> None:
    assert text.did_you_mean("base_ulr", ["base_url", "model"]) == " (did you mean base_url?)"
    assert text.did_you_mean("zzz", ["base_url", "model"]) == ""


def test_chinese_is_wrapped_by_cells_and_its_marks_stay_with_it() -> None:
    said = "预填充用 40.0 ms 读完提示词，随后解码逐个生成 token：这就是 TTFT（首 token 延迟）。"
    lines = text.wrapped(said, 24, "✓ ", "  ")
    assert all(len(line) + text.wide_in(line) <= 24 for line in lines)
    assert not any(line.strip()[0] in "，。：）" for line in lines)
    assert "".join("".join(lines).split()) == "✓" + "".join(said.split())
    assert text.wrapped("one two three", 9, "", "  ") == ["one two", "  three"]
    assert text.padded("显卡", 6) == "显卡  "
