"""Bodies that come compressed though none was asked for: undone a piece at a time.

Gateways compress streams whatever ``Accept-Encoding`` says, call gzip by other names, say it of
plain text, or compress without saying so. What a damaged body gave before the damage is kept.
"""

from __future__ import annotations

import zlib

_GZIP = 0x1F
"""The first byte of gzip; no text begins with it."""
_TEXT = frozenset(b'{[<:"dDeEiIrR \t\r\n\xef')
"""First bytes of an event stream, a JSON value, a web page."""
_MOST = 64 << 20
"""Bytes that one piece may become; more is a bomb."""


class UndecodableError(ValueError):
    """A body whose compression cannot be undone; says which and why."""


class Inflater:
    """Undoes the compression of one body; give it the pieces as they come.

    Args:
        encoding: The ``Content-Encoding`` header's value, or None. A body that is called plain and
            is gzip is undone, one that is called compressed and is plain is left alone.
    """

    __slots__ = ("_encoding", "_inflate", "_over", "plain")

    def __init__(self, encoding: str | None) -> None:
        self._encoding = (encoding or "").strip().lower()
        self._inflate: zlib._Decompress | None = None
        self._over = False  # what follows the compressed body is no part of it
        self.plain = False
        """True once it is known that nothing is to be undone."""

    def feed(self, data: bytes) -> bytes:
        """What ``data`` gives; it may be nothing yet.

        Raises:
            UndecodableError: It is damaged, or in an encoding that nothing here can undo.
        """
        if self.plain or not data:
            return data
        if self._inflate is None:
            bits = self._window(data[0])
            if bits is None:
                self.plain = True
                return data
            self._inflate = zlib.decompressobj(wbits=bits)
        given: list[bytes] = []
        while data and not self._over:
            if self._inflate.eof:  # gateways that join pieces send several, one after the other
                data = data.lstrip(b"\0")
                self._over = bool(data) and data[0] != _GZIP
                if not data or self._over:
                    break
                self._inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
            try:
                given.append(self._inflate.decompress(data, _MOST))
            except zlib.error as error:
                raise UndecodableError(f"while decompressing: {error}") from error
            if self._inflate.unconsumed_tail:
                raise UndecodableError("while decompressing: one piece became more than 64 MiB")
            data = self._inflate.unused_data
        return b"".join(given)

    def _window(self, first: int) -> int | None:
        """Zlib's ``wbits`` for a body that begins with this byte; None: it is plain."""
        if first == _GZIP:
            return 16 + zlib.MAX_WBITS
        if self._encoding in ("", "identity", "gzip", "x-gzip") or first in _TEXT:
            return None
        if self._encoding == "deflate":  # with zlib's header, as it should be, or without
            return zlib.MAX_WBITS if first & 0x0F == 8 else -zlib.MAX_WBITS
        raise UndecodableError(
            f"while decompressing: the body is in {self._encoding[:40]!r}, which was not asked for"
        )
