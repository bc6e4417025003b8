"""The clients that ``bench_wire`` compares, each a process of its own.

    python -m tests.benchmarks.wire_clients CLIENT BASE_URL MODEL STREAMS [ROUNDS]

``ours`` is what kvtui ships (session, reader, meter). ``bare`` is aiohttp and msgspec with the same
reading rules and the same t_send, and nothing else: no failure is told, no figure kept but its own.
``typed`` is the openai package's typed iteration, ``raw`` its bytes through its own transport.

Each warms its connections with one short round, then prints one JSON object: ``ttft_ms`` by prompt,
``tpot_ms`` by prompt, ``chunks``, ``cpu_s`` and ``wall_s`` of the measured round.
"""

from __future__ import annotations

import asyncio
import json
import sys
from time import perf_counter, process_time
from typing import Any

import msgspec

Result = tuple[str, float, float, float, int, int]
"""prompt, t_send, t_first, t_last, chunks, tokens"""


def body_of(model: str, prompt: str) -> dict[str, Any]:
    return {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100_000,
    }


def report(results: list[Result], cpu: float, wall: float) -> None:
    ttft, tpot = {}, {}
    for prompt, send, first, last, _, tokens in results:
        ttft[prompt] = (first - send) * 1000
        tpot[prompt] = (last - first) * 1000 / max(1, tokens - 1)
    chunks = sum(result[4] for result in results)
    table = {"ttft_ms": ttft, "tpot_ms": tpot, "chunks": chunks, "cpu_s": cpu, "wall_s": wall}
    print(json.dumps(table))


# --- ours -----------------------------------------------------------------------------------------


def ours(base_url: str, model: str, streams: int) -> None:
    from kvtui.bench.requests.options import RunOptions
    from kvtui.bench.requests.session import Session
    from kvtui.stream.request import Request

    with Session(RunOptions(base_url=base_url, model=model)) as session:
        prepared = session.prepare().result()

        def round_of(name: str, kind: str) -> dict[str, Any]:
            runs = {
                f"{name}-{i}": session.start(
                    Request(prepared.endpoint, kind, f"{name}-{i}", max_tokens=100_000),
                    keep_pieces=False,
                )
                for i in range(streams)
            }
            return {prompt: run.result(120) for prompt, run in runs.items()}

        round_of("warm", "plain")
        cpu, wall = process_time(), perf_counter()
        figures = round_of("run", model)
        cpu, wall = process_time() - cpu, perf_counter() - wall
    table = {
        "ttft_ms": {prompt: one.ttft_ms for prompt, one in figures.items()},
        "tpot_ms": {prompt: one.tpot_ms for prompt, one in figures.items()},
        "chunks": sum(one.chunks for one in figures.values()),
        "cpu_s": cpu,
        "wall_s": wall,
    }
    print(json.dumps(table))


# --- bare -----------------------------------------------------------------------------------------


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    completion_tokens: int = 0


class _Chunk(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None
    error: msgspec.Raw | None = None


async def bare(base_url: str, model: str, streams: int, rounds: int = 1) -> None:
    import aiohttp
    from aiohttp import payload

    decode = msgspec.json.Decoder(_Chunk).decode

    class Body(payload.BytesPayload):
        sent = 0.0

        async def write_with_length(self, writer: Any, content_length: int | None) -> None:
            self.sent = perf_counter()
            await super().write_with_length(writer, content_length)

    async def one(http: aiohttp.ClientSession, kind: str, prompt: str) -> Result:
        body = Body(json.dumps(body_of(kind, prompt)).encode())
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        first = last = 0.0
        chunks = tokens = 0
        text: list[str] = []
        rest = b""
        async with http.post(f"{base_url}/chat/completions", data=body, headers=headers) as answer:
            async for data in answer.content.iter_any():
                now = perf_counter()
                lines = (rest + data).split(b"\n")
                rest = lines.pop()
                for line in lines:
                    if not line.startswith(b"data:"):
                        continue
                    content = line[5:].strip()
                    if content == b"[DONE]":
                        continue
                    chunk = decode(content)
                    if chunk.usage is not None:
                        tokens = max(tokens, chunk.usage.completion_tokens)
                    for choice in chunk.choices:
                        piece = choice.delta.content or choice.delta.reasoning_content
                        if piece:
                            text.append(piece)
                            chunks += 1
                            last = now
                            first = first or now
        return prompt, body.sent, first, last, chunks, tokens

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, read_bufsize=2**18) as http:

        async def stream(name: str, kind: str, times: int) -> list[Result]:
            return [await one(http, kind, f"{name}-{k}") for k in range(times)]

        async def round_of(name: str, kind: str, times: int) -> list[Result]:
            work = (stream(f"{name}-{i}", kind, times) for i in range(streams))
            return [result for part in await asyncio.gather(*work) for result in part]

        await round_of("warm", "plain", 1)
        cpu, wall = process_time(), perf_counter()
        results = await round_of("run", model, rounds)
        report(results, process_time() - cpu, perf_counter() - wall)


# --- the openai package ---------------------------------------------------------------------------


async def openai_client(base_url: str, model: str, streams: int, typed: bool) -> None:
    import openai

    client = openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=300)

    async def one_typed(kind: str, prompt: str) -> Result:
        send = perf_counter()
        first = last = 0.0
        chunks = tokens = 0
        stream: Any = await client.chat.completions.create(**body_of(kind, prompt))
        async for chunk in stream:
            if chunk.usage is not None:
                tokens = max(tokens, chunk.usage.completion_tokens)
            for choice in chunk.choices:
                if choice.delta.content:
                    chunks += 1
                    last = perf_counter()
                    first = first or last
        return prompt, send, first, last, chunks, tokens

    async def one_raw(kind: str, prompt: str) -> Result:
        send = perf_counter()
        first = last = 0.0
        chunks = tokens = 0
        rest = b""
        create = client.chat.completions.with_streaming_response.create
        async with create(**body_of(kind, prompt)) as answer:
            async for data in answer.iter_bytes():
                now = perf_counter()
                lines = (rest + data).split(b"\n")
                rest = lines.pop()
                for line in lines:
                    if line.startswith(b"data: {"):
                        table = msgspec.json.decode(line[6:])
                        tokens = (table.get("usage") or {}).get("completion_tokens", tokens)
                        if any(c["delta"].get("content") for c in table["choices"]):
                            chunks += 1
                            last = now
                            first = first or now
        return prompt, send, first, last, chunks, tokens

    one = one_typed if typed else one_raw

    async def round_of(name: str, kind: str) -> list[Result]:
        return list(await asyncio.gather(*(one(kind, f"{name}-{i}") for i in range(streams))))

    await round_of("warm", "plain")
    cpu, wall = process_time(), perf_counter()
    results = await round_of("run", model)
    report(results, process_time() - cpu, perf_counter() - wall)


def main() -> None:
    client, base_url, model, streams = sys.argv[1:5]
    if client == "ours":
        ours(base_url, model, int(streams))
    elif client == "bare":
        rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 1
        asyncio.run(bare(base_url, model, int(streams), rounds))
    else:
        asyncio.run(openai_client(base_url, model, int(streams), typed=client == "typed"))


if __name__ == "__main__":
    main()
