"""Bytes in any split → lines: the lowest rules of server-sent events."""

from __future__ import annotations

MAX_LINE = 16 << 20
"""Bytes of one line that are kept; a longer one is dropped whole, so that memory stays bounded."""

_BOM = b"\xef\xbb\xbf"


class LineSplitter:
    """Cuts a byte stream into lines at LF, CR and CRLF, and nowhere else.

    U+2028 and its like stay inside a line. A leading byte order mark is dropped. What follows the
    last line end is kept for the next ``feed``.
    """

    __slots__ = ("_kept", "_overlong", "_parts", "_skip_lf", "_start", "overlong")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._kept = 0
        self._skip_lf = False
        self._start = True
        self._overlong = False
        self.overlong = 0
        """Lines that were dropped for their length."""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes, without their ends."""
        if self._start:
            if self._parts:
                data = self._parts.pop() + data
                self._kept = 0
            if len(data) < 3 and _BOM.startswith(data):
                self._parts = [data] if data else []
                return []
            data = data.removeprefix(_BOM)
            self._start = False
        if self._skip_lf and data:
            self._skip_lf = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._skip_lf = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts = []
            self._kept = 0
        if lines and self._overlong:
            self._overlong = False
            del lines[0]
        if rest:
            self._keep(rest)
        return lines

    def flush(self) -> bytes:
        """What stood after the last line end when the stream ended (empty where nothing did)."""
        rest = b"" if self._overlong else b"".join(self._parts)
        self._parts = []
        self._kept = 0
        return rest.removeprefix(_BOM) if self._start else rest

    def _keep(self, rest: bytes) -> None:
        if self._overlong:
            return
        self._kept += len(rest)
        if self._kept > MAX_LINE:
            self._parts = []
            self._kept = 0
            self._overlong = True
            self.overlong += 1
            return
        self._parts.append(rest)
