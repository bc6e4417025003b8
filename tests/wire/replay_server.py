"""Replays the answers of ``tests/fixtures/wire/answers.json``: case N is at ``/N/v1``.

An answer is a ``body`` (content length) or a list ``send``, each item of it one HTTP chunk and one
write: ``{"delta": …, "finish": …, "usage": …}`` is a chunk of the usual form, ``"done"`` its end,
``{"text": …}`` and ``{"hex": …}`` are sent as they are, ``{"together": […]}`` is one write of
several, ``{"gzip": […]}`` the same compressed, ``{"repeat": [text, n]}`` a long delta,
``{"wait_ms": n}`` a pause. ``end``: clean, cut (no last chunk), reset, open (never closed),
reset_at_once and silent (no answer at all). ``framing``: chunked (default) or eof.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.wire.threaded import in_thread

ANSWERS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "fixtures/wire/answers.json").read_text(encoding="utf-8")
)


def data(item: Any) -> bytes:
    """The bytes of one item of ``send``."""
    if item == "done":
        return b"data: [DONE]\n\n"
    if "text" in item:
        return str(item["text"]).encode()
    if "hex" in item:
        return bytes.fromhex(item["hex"])
    if "together" in item:
        return b"".join(map(data, item["together"]))
    if "gzip" in item:
        return gzip.compress(b"".join(map(data, item["gzip"])))
    if "repeat" in item:
        item = {"delta": {"content": repeated(item)}}
    table: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "model": "m"}
    choice = {"index": 0, "delta": item.get("delta"), "finish_reason": item.get("finish")}
    table["choices"] = [choice] if "delta" in item else []
    if "usage" in item:
        table["usage"] = item["usage"]
    return f"data: {json.dumps(table, ensure_ascii=False)}\n\n".encode()


def repeated(value: Any) -> Any:
    """``{"repeat": [text, n]}`` as the text it stands for."""
    if isinstance(value, dict):
        text, times = value["repeat"]
        return text * times
    return value


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            fields = (line.partition(b":") for line in head.split(b"\r\n")[1:])
            size = next((int(v) for k, _, v in fields if k.lower() == b"content-length"), 0)
            await reader.readexactly(size)
            if not await play(ANSWERS[int(path.split("/")[1])], writer):
                break
    writer.close()


async def play(case: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
    """Send one answer; whether the connection may be used again."""
    end = case.get("end", "clean")
    if end == "reset_at_once":
        reset(writer)
        return False
    if end == "silent":
        await asyncio.sleep(30)
    chunked = "send" in case and case.get("framing", "chunked") == "chunked"
    kind = "text/event-stream" if "send" in case else "application/json"
    headers = {"content-type": kind, **{k.lower(): v for k, v in case.get("headers", {}).items()}}
    if chunked:
        headers["transfer-encoding"] = "chunked"
    elif "send" in case:
        headers["connection"] = "close"
    else:
        headers["content-length"] = str(len(str(case.get("body", "")).encode()))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    first = f"HTTP/1.1 {case.get('status', 200)} X\r\n{lines}\r\n".encode("latin-1")
    for item in case.get("send", []):
        if isinstance(item, dict) and "wait_ms" in item:
            await asyncio.sleep(item["wait_ms"] / 1000)
            continue
        piece = data(item)
        writer.write(first + (b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece))
        first = b""
        await writer.drain()
    if "send" not in case:
        writer.write(first + str(case.get("body", "")).encode())
    elif end == "clean" and chunked:
        writer.write(first + b"0\r\n\r\n")
    await writer.drain()
    if end == "reset":
        await asyncio.sleep(0.05)
        reset(writer)
    elif end == "open":
        await asyncio.sleep(30)
    return end == "clean" and (chunked or "send" not in case)


def reset(writer: asyncio.StreamWriter) -> None:
    """End the connection with a RST."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextlib.contextmanager
def replay_server() -> Iterator[str]:
    """Run the server in a thread; gives ``http://127.0.0.1:PORT``."""
    with in_thread(lambda: asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 22)) as port:
        yield f"http://127.0.0.1:{port}"
