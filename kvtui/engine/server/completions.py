"""`/v1/chat/completions` and `/v1/completions`.

Beyond OpenAI's fields a request may carry vLLM's `ignore_eos`, `min_tokens` and
`stream_options.continuous_usage_stats`, a prompt of token ids, and `kv_cache: false`, which
recomputes the whole prefix for every token. A stream has one event per token, the token that
ends the answer included, so that events, usage and time agree; the event's text may be empty
while a character or a stop text is incomplete.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiohttp import web

from kvtui.engine.engine import Engine
from kvtui.engine.errors import EngineStoppedError, QueueFullError
from kvtui.engine.generate import Finish, Request, Token
from kvtui.engine.scheduler import Ticket
from kvtui.engine.server.demo import DEMO_MODELS
from kvtui.engine.server.errors import ApiError, context_too_long, json_response
from kvtui.engine.server.info import unknown_model
from kvtui.engine.server.prompts import chat_ids, text_ids
from kvtui.engine.server.schema import (
    DEFAULT_MAX_TOKENS,
    ChatRequest,
    CompletionRequest,
    read_body,
)
from kvtui.engine.server.state import STATE, State
from kvtui.engine.server.stream import EventStream


async def chat_completions(request: web.Request) -> web.StreamResponse:
    """`POST /v1/chat/completions`."""
    body = await read_body(request, ChatRequest)
    if (demo := DEMO_MODELS.get(body.model or "")) is not None:
        return await demo(request)
    engine = request.app[STATE].engine
    _check_model(body.model, engine)
    body.check()
    ids = await chat_ids(engine, body.conversation)
    return await _answer(request, body, ids, _ChatShape(engine.model_id))


async def completions(request: web.Request) -> web.StreamResponse:
    """`POST /v1/completions`."""
    body = await read_body(request, CompletionRequest)
    if (demo := DEMO_MODELS.get(body.model or "")) is not None:
        return await demo(request)
    engine = request.app[STATE].engine
    _check_model(body.model, engine)
    body.check()
    ids = await text_ids(engine, body.single_prompt)
    return await _answer(request, body, ids, _TextShape(engine.model_id))


def _check_model(name: str | None, engine: Engine) -> None:
    """A request without a model means the one there is, as with vLLM."""
    if name is not None and name != engine.model_id:
        raise unknown_model(name)


async def _answer(
    request: web.Request, body: ChatRequest | CompletionRequest, ids: list[int], shape: _Shape
) -> web.StreamResponse:
    engine = request.app[STATE].engine
    max_tokens = _room(engine, len(ids), body)
    generation = _Generation(
        request.app[STATE],
        Request(
            ids=tuple(ids),
            max_tokens=max_tokens,
            sampling=body.sampling,
            stop=body.stops,
            kv_cache=body.kv_cache is not False,
            ignore_eos=bool(body.ignore_eos),
            min_tokens=min(body.min_tokens or 0, max_tokens),
        ),
    )
    with generation:
        if body.stream:
            return await _stream(request, body, generation, shape)
        return await _whole(generation, shape)


def _room(engine: Engine, prompt: int, body: ChatRequest | CompletionRequest) -> int:
    """Tokens to generate.

    Raises:
        ApiError: 400 where prompt and completion exceed the context.
    """
    context = engine.geometry.context
    asked = body.limit
    if asked is None:
        asked = max(1, min(DEFAULT_MAX_TOKENS, context - prompt))
    if prompt + asked > context:
        raise context_too_long(
            context,
            f"you requested {prompt + asked} tokens ({prompt} in the {body.prompt_field}, "
            f"{asked} in the completion)",
            body.prompt_field,
        )
    return asked


class _Generation:
    """A request in the engine, its tokens as they come; leaving the context lets it go."""

    def __init__(self, state: State, request: Request) -> None:
        self.request = request
        self._state = state
        self._tokens: asyncio.Queue[Token] = asyncio.Queue()
        self._ticket: Ticket | None = None

    def __enter__(self) -> _Generation:
        listener = partial(self._state.mailbox.put, self._tokens.put_nowait)
        try:
            self._ticket = self._state.engine.scheduler.submit(self.request, listener)
        except QueueFullError as error:
            raise ApiError(
                503,
                f"The server is overloaded: {error}",
                type_="server_error",
                code="overloaded",
                headers={"Retry-After": "1"},
            ) from error
        except EngineStoppedError as error:
            raise ApiError(503, str(error), type_="server_error") from error
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._ticket is not None:
            self._ticket.cancel()

    async def tokens(self) -> AsyncIterator[Token]:
        """The tokens, the last with its reason to finish.

        Raises:
            ApiError: 503 where the engine gave up.
        """
        while True:
            token = await self._tokens.get()
            if token.finish in (Finish.ERROR, Finish.CANCELLED):
                raise ApiError(503, "The engine has stopped.", type_="server_error")
            yield token
            if token.finish is not None:
                return

    def usage(self, completion_tokens: int) -> dict[str, Any]:
        """OpenAI's usage after so many tokens."""
        prompt = len(self.request.ids)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
        }


async def _whole(generation: _Generation, shape: _Shape) -> web.Response:
    started = time.perf_counter()
    texts, last = [], None
    async for token in generation.tokens():
        texts.append(token.text)
        last = token
    assert last is not None
    assert last.finish is not None
    body = shape.whole("".join(texts), last.finish.value)
    body["usage"] = generation.usage(last.count)
    elapsed = (time.perf_counter() - started) * 1000
    return json_response(
        body, headers={"openai-processing-ms": f"{elapsed:.0f}", "x-request-id": shape.id}
    )


async def _stream(
    request: web.Request,
    body: ChatRequest | CompletionRequest,
    generation: _Generation,
    shape: _Shape,
) -> web.StreamResponse:
    """One event per token, the last with `finish_reason`; usage as the request asks for it."""
    options = body.stream_options
    include = bool(options and options.include_usage)
    continuous = include and bool(options and options.continuous_usage_stats)
    stream = EventStream(request, shape.id)

    async def send(event: dict[str, Any], count: int) -> None:
        if include:
            event["usage"] = generation.usage(count) if continuous else None
        await stream.send(event)

    try:
        await stream.open()
        count = 0
        if (first := shape.first()) is not None:
            await send(first, 0)
        async for token in generation.tokens():
            count = token.count
            await send(shape.piece(token.text, token.finish and token.finish.value), count)
        if include:
            await stream.send(shape.event([]) | {"usage": generation.usage(count)})
        return await stream.done()
    except ApiError as error:  # the status is out: the stream carries the error
        await stream.send({"error": error.body})
        return await stream.end()
    except ConnectionError:  # the client has gone; its slot is freed on the way out
        return stream.cut()


@dataclass(slots=True)
class _Shape:
    """What is common to the two kinds of answers."""

    model: str
    id: str = ""
    created: int = 0

    prefix = ""
    whole_object = ""
    event_object = ""

    def __post_init__(self) -> None:
        self.id = f"{self.prefix}-{uuid.uuid4().hex}"
        self.created = int(time.time())

    def _envelope(self, object_: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": object_,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        }

    def event(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """One event's body."""
        return self._envelope(self.event_object, choices)

    def first(self) -> dict[str, Any] | None:
        """The event before the first token, if there is one."""
        return None

    def piece(self, text: str, finish: str | None) -> dict[str, Any]:
        """The event of one token."""
        raise NotImplementedError

    def whole(self, text: str, finish: str) -> dict[str, Any]:
        """The answer in one."""
        raise NotImplementedError


class _ChatShape(_Shape):
    prefix = "chatcmpl"
    whole_object = "chat.completion"
    event_object = "chat.completion.chunk"

    def first(self) -> dict[str, Any]:
        return self._delta({"role": "assistant", "content": ""}, None)

    def piece(self, text: str, finish: str | None) -> dict[str, Any]:
        return self._delta({"content": text}, finish)

    def whole(self, text: str, finish: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        return self._envelope(self.whole_object, [choice])

    def _delta(self, delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
        return self.event([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])


class _TextShape(_Shape):
    prefix = "cmpl"
    whole_object = "text_completion"
    event_object = "text_completion"

    def piece(self, text: str, finish: str | None) -> dict[str, Any]:
        return self.event([{"index": 0, "text": text, "logprobs": None, "finish_reason": finish}])

    def whole(self, text: str, finish: str) -> dict[str, Any]:
        return self.piece(text, finish)
