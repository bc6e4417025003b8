"""Lines are cut at LF, CR and CRLF, whatever the reads were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.stream import sse
from kvtui.stream.sse import LineSplitter


def lines_of(pieces: list[bytes]) -> tuple[list[bytes], bytes]:
    splitter = LineSplitter()
    lines = [line for piece in pieces for line in splitter.feed(piece)]
    return lines, splitter.flush()


@pytest.mark.parametrize(
    ("data", "lines", "rest"),
    [
        (b"a\nb\n\nc", [b"a", b"b", b""], b"c"),
        (b"a\rb\r\rc\r", [b"a", b"b", b"", b"c"], b""),
        (b"a\r\nb\r\n\r\n", [b"a", b"b", b""], b""),
        (b"a\n\rb\n", [b"a", b"", b"b"], b""),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", [b"a", b"\xef\xbb\xbfb"], b""),
        ("a\u2028b\u0085c\n".encode(), ["a\u2028b\u0085c".encode()], b""),
        (b"\xef\xbb", [], b"\xef\xbb"),
        (b"", [], b""),
    ],
)
def test_lines_whole_and_byte_by_byte(data: bytes, lines: list[bytes], rest: bytes) -> None:
    assert lines_of([data]) == (lines, rest)
    assert lines_of([data[i : i + 1] for i in range(len(data))]) == (lines, rest)


@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", b"data: x", b"", b"\xe2\x80\xa8"])))
def test_any_split_gives_the_same_lines(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    normal = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    assert lines_of(pieces) == (normal[:-1], normal[-1])


def test_an_endless_line_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_LINE", 100)
    splitter = LineSplitter()
    lines = splitter.feed(b"short\n")
    for _ in range(50):
        lines += splitter.feed(b"x" * 10)
    lines += splitter.feed(b"end\nnext\n")
    assert lines == [b"short", b"next"]
    assert splitter.overlong == 1
