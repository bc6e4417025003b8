"""Bodies that come compressed unasked: undone in any split, plain ones left alone, bombs cut."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.stream.encoding import Inflater, UndecodableError

TEXT = b'data: {"choices": [{"delta": {"content": "hi"}}]}\n\n' * 40


def raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


def undone(encoding: str | None, *pieces: bytes) -> bytes:
    inflater = Inflater(encoding)
    return b"".join(inflater.feed(piece) for piece in pieces)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        (" GZIP ", gzip.compress(TEXT)),
        (None, gzip.compress(TEXT)),  # not said
        ("identity", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:])),
        ("gzip", gzip.compress(TEXT) + b"\0\0\0"),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("gzip", TEXT),  # said, not done
        ("deflate", TEXT),
        ("br", TEXT),
        (None, TEXT),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_every_encoding_in_every_split(encoding: str | None, body: bytes, size: int) -> None:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert undone(encoding, *pieces) == TEXT


def test_what_came_before_the_damage_is_given() -> None:
    squeeze = zlib.compressobj(wbits=31)
    first = squeeze.compress(TEXT) + squeeze.flush(zlib.Z_SYNC_FLUSH)
    inflater = Inflater("gzip")
    assert inflater.feed(first) == TEXT
    with pytest.raises(UndecodableError, match="while decompressing"):
        inflater.feed(b"\xff\xff\xff\xff")


@pytest.mark.parametrize("encoding", ["br", "zstd", "x" * 300])
def test_an_encoding_that_nothing_here_can_undo_is_named(encoding: str) -> None:
    with pytest.raises(UndecodableError) as caught:
        Inflater(encoding).feed(b"\x8b\x00\x80\x01")
    assert encoding[:40] in str(caught.value)
    assert len(str(caught.value)) < 150


def test_a_bomb_is_cut() -> None:
    with pytest.raises(UndecodableError, match="64 MiB"):
        Inflater("gzip").feed(gzip.compress(bytes(80 << 20), 9))


@given(
    encoding=st.sampled_from([None, "gzip", "deflate", "br", "odd"]),
    pieces=st.lists(st.binary(max_size=40), max_size=6),
    whole=st.booleans(),
    damage=st.tuples(st.integers(0, 60), st.integers(0, 255)),
)
def test_no_bytes_raise_anything_else(
    encoding: str | None, pieces: list[bytes], whole: bool, damage: tuple[int, int]
) -> None:
    if whole:
        body = bytearray(gzip.compress(b"".join(pieces)))
        body[damage[0] % len(body)] = damage[1]
        pieces = [bytes(body[:9]), bytes(body[9:])]
    inflater = Inflater(encoding)
    try:
        for piece in pieces:
            inflater.feed(piece)
    except UndecodableError:
        pass
