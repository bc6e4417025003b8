"""A server whose answers a test scripts, and which keeps what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.wire.threaded import in_thread


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Reply = Callable[[Asked], Any]
"""Gives (status, content type, body[, headers]); None: no answer ever; "close": a closed door."""


@dataclass
class Scripted:
    """Where it listens and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)

    def posts(self) -> list[Asked]:
        return [one for one in self.asked if one.method == "POST"]


def sse(*deltas: str, finish: str | None = "stop", done: bool = True) -> tuple[int, str, bytes]:
    """A small stream as a whole body."""
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in deltas]
    if finish is not None:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return 200, "text/event-stream", (body + "data: [DONE]\n\n" * done).encode()


def error(status: int, message: str, **more: Any) -> tuple[int, str, bytes]:
    """An error in OpenAI's shape."""
    return status, "application/json", json.dumps({"error": {"message": message, **more}}).encode()


def models(*names: str, owner: str = "test") -> tuple[int, str, bytes]:
    """A model list."""
    entries = [{"id": name, "object": "model", "owned_by": owner} for name in names]
    return 200, "application/json", json.dumps({"object": "list", "data": entries}).encode()


@contextlib.contextmanager
def scripted(reply: Reply) -> Iterator[Scripted]:
    """Run it in a thread."""
    server = Scripted("")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                method, path, _ = lines[0].split(" ", 2)
                fields = (line.partition(":") for line in lines[1:] if line)
                headers = {name.lower(): value.strip() for name, _, value in fields}
                size = int(headers.get("content-length", 0))
                raw = await reader.readexactly(size)
                asked = Asked(method, path, headers, json.loads(raw or b"{}"))
                server.asked.append(asked)
                answer = reply(asked)
                if answer is None:
                    await asyncio.sleep(60)
                if answer == "close":
                    break
                status, kind, body = answer[:3]
                more = "".join(f"{k}: {v}\r\n" for k, v in (answer[3:] or ({},))[0].items())
                first = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{more}"
                writer.write(f"{first}content-length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        writer.close()

    with in_thread(lambda: asyncio.start_server(serve, "127.0.0.1", 0)) as port:
        server.url = f"http://127.0.0.1:{port}"
        yield server
