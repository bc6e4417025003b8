"""The bytes of a response body → events: server-sent events, a whole JSON answer, or neither."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from kvtui.stream.decode import Decoder
from kvtui.stream.events import Event, KeepAlive
from kvtui.stream.shapes import is_chunk
from kvtui.stream.sse import LineSplitter

Mode: TypeAlias = Literal["unknown", "sse", "json", "other"]

MAX_BODY = 32 << 20
"""Bytes of a whole JSON answer that are kept."""
MAX_HEAD = 64 << 10
"""Bytes of a body that is no stream which the evidence keeps."""
_MAX_PENDING = 4 << 20
_SPACE = b" \t\r\n\xef\xbb\xbf"


def _is_json(payload: bytes) -> bool:
    try:
        msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


class Reader:
    """Feed it the body in any split; it appends events and keeps the counts of the wire.

    ``done`` is True once ``[DONE]`` came. What the body is shows in its first character: ``{`` or
    ``[`` is a whole answer in JSON, ``<`` a web page, all else is read as a stream.
    """

    def __init__(self) -> None:
        self.decoder = Decoder()
        self.mode: Mode = "unknown"
        self.done = False
        self.data_events = 0
        self.bad_events = 0
        self.bad_event: str | None = None
        self.bad_tail = False
        self._lines = LineSplitter()
        self._head = bytearray()
        self._body: list[bytes] = []
        self._body_size = 0
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._event = b""
        self._bare = False  # what is pending are lines without "data:"
        self._one_line: bool | None = None
        """Whether a body that looks like JSON is a stream of it; None while that is not clear."""

    @property
    def body(self) -> bytes | None:
        """The beginning of the body where no data event was found in it."""
        return bytes(self._head) if not self.data_events and self._head.strip() else None

    def feed(self, data: bytes, t: float, out: list[Event]) -> None:
        """Append the events that ``data``, read at ``t``, completes."""
        if self.mode == "sse":
            if not self.data_events:
                self._keep_head(data)
            self._sse(self._lines.feed(data), t, out)
        elif self.mode == "unknown":
            self._sniff(data, t, out)
        else:
            self._keep_head(data)
            if self.mode == "json":
                self._keep_body(data)
                self._unframe(t, out)

    def finish(self, t: float, out: list[Event]) -> None:
        """The body ended (or was cut): use what is complete in the rest."""
        if self.mode == "json":
            self._whole(t, out)
        elif self.mode in ("sse", "unknown"):
            rest = self._lines.flush()
            if rest.strip() and not self.done:
                self._sse([rest], t, out)
                if not rest.startswith((b"data", b":", b"event", b"id", b"retry", b"{")):
                    self.bad_tail = self.data_events > 0
            if self._pending and not self._dispatch(t, out, last=True):
                self.bad_tail = True
        self.bad_events += self._lines.overlong
        self.decoder.flush(out)

    # --- what the body is -------------------------------------------------------------------------

    def _sniff(self, data: bytes, t: float, out: list[Event]) -> None:
        self._keep_head(data)
        start = bytes(self._head).lstrip(_SPACE)[:1]
        if start in (b"{", b"["):
            self.mode = "json"
            self._keep_body(bytes(self._head))
            self._unframe(t, out)
        elif start == b"<":
            self.mode = "other"
        elif start:
            self.mode = "sse"
            self._sse(self._lines.feed(bytes(self._head)), t, out)
        else:
            out.append(KeepAlive(t))
            del self._head[:-3]

    def _unframe(self, t: float, out: list[Event]) -> None:
        """A body whose first line is a chunk of a stream is one, an object a line."""
        if self._one_line is not None:
            return
        body = b"".join(self._body)
        line, end, _ = body.lstrip(_SPACE).partition(b"\n")
        if not end and self._body_size < MAX_HEAD:
            return
        self._one_line = bool(end) and is_chunk(line)
        if self._one_line:
            self.mode = "sse"
            self._body = []
            self._sse(self._lines.feed(body), t, out)

    def _keep_head(self, data: bytes) -> None:
        if self.mode == "unknown":
            self._head += data
        elif (room := MAX_HEAD - len(self._head)) > 0:
            self._head += data[:room]

    def _keep_body(self, data: bytes) -> None:
        self._body_size += len(data)
        if self._body_size <= MAX_BODY:
            self._body.append(data)

    def _whole(self, t: float, out: list[Event]) -> None:
        body = b"".join(self._body).lstrip(_SPACE)
        self._body = []
        if self._body_size > MAX_BODY:
            self.bad_tail = True
            return
        if self.decoder.whole(body, t, out):
            return
        # Several JSON documents, one a line; else an answer that was cut.
        for line in body.splitlines():
            if line.strip():
                if self.decoder.decode(line, t, out):
                    self.data_events += 1
                else:
                    self.bad_tail = True

    # --- server-sent events -----------------------------------------------------------------------

    def _sse(self, lines: list[bytes], t: float, out: list[Event]) -> None:
        decode = self.decoder.decode
        if self.done:
            return  # what comes after [DONE] is no part of the answer
        for line in lines:
            if line[:6] == b"data: ":
                payload = line[6:]
            elif line[:5] == b"data:":
                payload = line[5:]
            else:
                self._other_line(line, t, out)
                continue
            if not self._pending and decode(payload, t, out):
                self._count(out)
                continue
            if self._pending:
                self._add_pending(payload, t, out)
            else:
                self._undecodable(payload, t, out)
            if self.done:
                return

    def _count(self, out: list[Event]) -> None:
        if not (out and isinstance(out[-1], KeepAlive)):
            self.data_events += 1
        if self._event == b"error" and self.decoder.error is None:
            self.decoder.error = "error"  # whatever it says, it was called one

    def _other_line(self, line: bytes, t: float, out: list[Event]) -> None:
        if not line:
            if self._pending:
                self._dispatch(t, out)
            self._event = b""
        elif line[:1] == b":":
            out.append(KeepAlive(t))
        elif line[:6] == b"event:":
            self._event = line[6:].strip()
        elif line[:6] == b"error:":  # the field that llama.cpp once had for it
            self._event = b"error"
            self._data(line[6:], t, out)
        elif line.lstrip()[:1] == b"{" and not self._pending:
            self._data(line, t, out)  # an object that lost its "data:"
            self._bare = bool(self._pending)
        elif self._bare and self._pending:
            self._add_pending(line, t, out)

    def _data(self, payload: bytes, t: float, out: list[Event]) -> None:
        """A payload from an unusual line."""
        if self.decoder.decode(payload, t, out):
            self._count(out)
        else:
            self._undecodable(payload, t, out)

    def _undecodable(self, payload: bytes, t: float, out: list[Event]) -> None:
        """A payload that is no JSON object by itself: the end, a word, or part of an object."""
        word = payload.strip()
        if word.startswith(b"data:"):  # two layers of a gateway put theirs in front
            self._data(word[5:], t, out)
        elif word.upper() in (b"[DONE]", b"DONE"):
            self.done = True
        elif word[:1] in b'["' and word and _is_json(word):
            out.append(KeepAlive(t))  # JSON with nothing of an answer in it
        elif word[:1] in b'{["<' and word:
            self._pending = [payload]
            self._pending_size = len(payload)
        elif self._event == b"error" or b"error" in word.lower():
            self.data_events += 1
            self.decoder.error = self.decoder.error or word[:MAX_HEAD].decode("utf-8", "replace")
        else:
            out.append(KeepAlive(t))

    def _add_pending(self, payload: bytes, t: float, out: list[Event]) -> None:
        """A further data line of one event, or the next event where no blank line stood between."""
        own = payload.startswith(b"{") and b'"choices"' in payload
        if payload.strip() == b"[DONE]" or self._pending_size > _MAX_PENDING:
            self._dispatch(t, out)
            self._undecodable(payload, t, out)
        elif own and self.decoder.decode(payload, t, out):
            self._bad(self._pending[0])
            self._pending = []
            self._count(out)
        else:
            self._pending.append(payload)
            self._pending_size += len(payload)

    def _dispatch(self, t: float, out: list[Event], *, last: bool = False) -> bool:
        """Decode the data lines that were held: joined, else each; False where one stays unread.

        The one that stays unread at the end of the stream was cut there and is not counted as bad.
        """
        pending, self._pending = self._pending, []
        self._bare = False
        if len(pending) > 1 and self.decoder.decode(b"\n".join(pending), t, out):
            self._count(out)
            return True
        clean = True
        for payload in pending:
            if len(pending) > 1 and self.decoder.decode(payload, t, out):
                self._count(out)
            else:
                clean = False
                if not last:
                    self._bad(payload)
        return clean

    def _bad(self, payload: bytes) -> None:
        self.data_events += 1
        self.bad_events += 1
        if self.bad_event is None:
            self.bad_event = payload[:300].decode("utf-8", "replace")
