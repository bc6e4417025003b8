"""A chat completions server of known timing: raw asyncio, a stamp before every write.

The *model* in the request selects what is sent (see ``plan``). ``GET /log`` gives the records of
the finished requests and forgets them: ``prompt``, ``t_request`` (its first byte arrived), ``sent``
(one stamp a write that carries tokens). Stamps are ``time.perf_counter()``, a clock that processes
of one machine share.

    python -m tests.wire.timing_server [--ttft MS] [--itl MS] [-n TOKENS]

prints its port and runs until its stdin closes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
from time import perf_counter
from typing import Any

TOKEN = " hello"
SPEC = (1, 3, 2, 4)
"""Tokens of the chunks of the model ``spec``, over and over."""


class Plan:
    """What one answer sends: (seconds after the request, bytes, tokens), then the tail."""

    def __init__(self, model: str, ttft: float, itl: float, n: int) -> None:
        self.model = model
        self.writes: list[tuple[float, bytes, int]] = []
        self.tail = b""
        self.end = "clean"
        kind = model.partition("-")[0]
        usage = {"prompt_tokens": 7, "completion_tokens": n, "total_tokens": 7 + n}
        if kind == "role":
            self.add(ttft / 4, {"role": "assistant", "content": ""}, tokens=0)
        if kind == "multi":
            for k in range(0, n, 4):
                self.add(ttft + itl * k, {"content": TOKEN * 4}, tokens=4)
        elif kind == "spec":  # one to four tokens a chunk, counted as it goes
            done = 0
            for k, size in enumerate(SPEC * n):
                size = min(size, n - done)
                done += size
                running = {**usage, "completion_tokens": done}
                self.add(ttft + itl * k, {"content": TOKEN * size}, tokens=size, usage=running)
                if done == n:
                    break
        elif kind == "stalls":  # one gap of half a second before the middle, pings meanwhile
            for k in range(n):
                if k == n // 2:
                    for ping in (0.1, 0.2):
                        self.writes.append((ttft + itl * k + ping, b": still here\n\n", 0))
                late = 0.5 if k >= n // 2 else 0.0
                self.add(ttft + itl * k + late, {"content": TOKEN})
        elif kind == "coalesce":
            for k in range(0, n, 4):
                block = b"".join(self.event({"content": TOKEN}) for _ in range(4))
                self.writes.append((ttft + itl * k, block, 4))
        elif kind == "burst":
            late = ttft + itl * n
            block = b"".join(self.event({"content": TOKEN}) for _ in range(n))
            self.writes.append((late, block + self.event({}, "stop"), n))
        else:
            for k in range(n):
                key = "content"
                if kind == "think" and k < n // 2:
                    key = "reasoning_content"
                running = {**usage, "completion_tokens": k + 1} if kind == "continuous" else None
                last = "length" if k == n - 1 else None
                self.add(ttft + itl * k, {key: TOKEN}, finish=last, usage=running)
        if kind in ("drop", "stall", "sseerr"):
            self.writes = self.writes[: len(self.writes) // 2]
            self.end = kind
        if kind == "endtoken":  # the server counts an end token, which comes with the finish
            usage["completion_tokens"] = n + 1
            self.writes[-1] = (self.writes[-1][0], self.event({"content": TOKEN}), 1)
            self.add(ttft + itl * n, {}, finish="stop")
        if kind == "sseerr":
            error = {"message": "CUDA error: out of memory", "type": "InternalServerError"}
            self.tail = self.sse({"error": error})
        elif self.end == "clean":
            if kind not in ("nousage", "continuous"):
                self.tail = self.event(None, usage=usage)
            self.tail += b"data: [DONE]\n\n"

    def add(self, at: float, delta: dict[str, Any], *, tokens: int = 1, **more: Any) -> None:
        self.writes.append((at, self.event(delta, **more), tokens))

    def event(
        self, delta: dict[str, Any] | None, finish: str | None = None, usage: Any = None
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        table: dict[str, Any] = {
            "id": "cmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": self.model,
            "choices": [] if delta is None else [choice],
        }
        if usage is not None:
            table["usage"] = usage
        return self.sse(table)

    @staticmethod
    def sse(table: dict[str, Any]) -> bytes:
        return b"data: " + json.dumps(table, separators=(",", ":")).encode() + b"\n\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"cache-control: no-cache\r\n\r\n"
)


class Connection(asyncio.Protocol):
    """One client's connection: requests are stamped when their first byte is read."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.buffer = b""
        self.t_request = 0.0
        self.gone = False
        self.room = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        self.room.set()

    def pause_writing(self) -> None:
        self.room.clear()

    def resume_writing(self) -> None:
        self.room.set()

    def data_received(self, data: bytes) -> None:
        if not self.buffer:
            self.t_request = perf_counter()
        self.buffer += data
        head, blank, rest = self.buffer.partition(b"\r\n\r\n")
        fields = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
        size = next((int(v) for k, _, v in fields if k.lower() == b"content-length"), 0)
        if not blank or len(rest) < size:
            return
        self.buffer = rest[size:]
        method, path, _ = head.split(b"\r\n")[0].decode().split(" ", 2)
        request = json.loads(rest[:size] or b"{}")
        headers = {k.decode().lower(): v.decode().strip() for k, _, v in fields}
        work = self.server.answer(method, path, headers, request, self.t_request, self)
        self.task = asyncio.create_task(work)

    def write(self, data: bytes) -> None:
        if self.gone:
            raise ConnectionResetError
        self.transport.write(data)

    async def drain(self) -> None:
        await self.room.wait()
        if self.gone:
            raise ConnectionResetError


class Server:
    """Answers every connection; what was asked and when it was answered is in ``log``."""

    def __init__(self, ttft: float, itl: float, n: int) -> None:
        self.ttft, self.itl, self.n = ttft, itl, n
        self.log: list[dict[str, Any]] = []

    async def answer(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        request: dict[str, Any],
        t_request: float,
        writer: Connection,
    ) -> None:
        if method == "GET" and path == "/log":
            self.json(writer, self.log)
            self.log = []
            return
        if method == "GET" and path.endswith("/v1/models"):
            entry = {"id": "plain", "object": "model", "owned_by": "test"}
            self.json(writer, {"object": "list", "data": [entry]})
            return
        if not path.endswith("/v1/chat/completions"):
            self.send(writer, b"<html>404 page not found</html>", "text/html", 404)
            return
        model = str(request.get("model"))
        prompt = str(request["messages"][-1]["content"])
        record = {"prompt": prompt, "model": model, "t_request": t_request, "sent": []}
        record["body"] = {k: v for k, v in request.items() if k != "messages"}
        record["headers"] = headers
        if model == "html":
            self.send(writer, b"<html><body>upstream error</body></html>", "text/html", 200)
            self.log.append(record)
        elif model.startswith("fire"):
            await self.fire(int(model.removeprefix("fire") or 20_000), record, writer)
        else:
            await self.stream(Plan(model, self.ttft, self.itl, self.n), record, writer)

    async def stream(self, plan: Plan, record: dict[str, Any], writer: Connection) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        head = HEAD
        try:
            for at, data, tokens in plan.writes:
                if (wait := start + at - loop.time()) > 0.0002:
                    await asyncio.sleep(wait)
                if tokens:
                    record["sent"].append(perf_counter())
                writer.write(head + chunk(data))
                head = b""
            if plan.end == "stall":
                while True:
                    await asyncio.sleep(0.05)
                    writer.write(chunk(b": still here\n\n"))
            if plan.end == "drop":
                writer.transport.abort()
                return
            writer.write(chunk(plan.tail) + b"0\r\n\r\n")
            await writer.drain()
        except ConnectionError:
            record["gone"] = perf_counter()
        finally:
            self.log.append(record)

    async def fire(self, n: int, record: dict[str, Any], writer: Connection) -> None:
        plan = Plan("plain", 0, 0, 1)
        one = chunk(plan.event({"content": TOKEN}))
        per = max(1, 65536 // len(one))
        record["sent"].append(perf_counter())
        writer.write(HEAD)
        left = n
        while left:
            k = min(per, left)
            writer.write(one * k)
            left -= k
            await writer.drain()
        usage = {"prompt_tokens": 7, "completion_tokens": n, "total_tokens": 7 + n}
        writer.write(chunk(plan.event(None, usage=usage) + b"data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()
        self.log.append(record)

    def json(self, writer: Connection, table: Any) -> None:
        self.send(writer, json.dumps(table).encode(), "application/json", 200)

    @staticmethod
    def send(writer: Connection, body: bytes, kind: str, status: int) -> None:
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)


async def serve(ttft: float, itl: float, n: int) -> None:
    answering = Server(ttft, itl, n)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(answering), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    closed = asyncio.Event()

    def wait_for_parent() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(closed.set)

    threading.Thread(target=wait_for_parent, daemon=True).start()
    await closed.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ttft", type=float, default=200.0)
    parser.add_argument("--itl", type=float, default=10.0)
    parser.add_argument("-n", type=int, default=128)
    given = parser.parse_args()
    asyncio.run(serve(given.ttft / 1000, given.itl / 1000, given.n))
