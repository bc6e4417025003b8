"""Prompts to token ids, off the event loop and within bounds; `/tokenize` and `/detokenize`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from aiohttp import web

from kvtui.engine.chat import Message
from kvtui.engine.engine import Engine
from kvtui.engine.server.errors import ApiError, context_too_long, json_response
from kvtui.engine.server.schema import (
    ChatRequest,
    DetokenizeRequest,
    TokenizeRequest,
    read_body,
)
from kvtui.engine.server.state import STATE

_SHORT = 2048
"""Characters that are tokenised on the spot; more go to a thread."""


async def chat_ids(engine: Engine, messages: Sequence[Message]) -> list[int]:
    """The ids of a conversation.

    Raises:
        ApiError: 400 where it cannot fit the context whatever its tokens.
    """
    size = sum(len(message.text) for message in messages)
    _refuse_hopeless(engine, size, "messages")
    return await _encode(size, lambda: engine.render(messages))


async def text_ids(engine: Engine, prompt: str | list[int]) -> list[int]:
    """The ids of a prompt given as text (special tokens are read as such) or as ids.

    Raises:
        ApiError: 400 for ids out of range, no token at all, or a text that cannot fit.
    """
    if isinstance(prompt, str):
        _refuse_hopeless(engine, len(prompt), "prompt")
        ids = await _encode(len(prompt), lambda: _encoded(engine, prompt))
    else:
        ids = _checked_ids(engine, prompt, "prompt")
    if not ids:
        raise ApiError(400, "The prompt is empty.", param="prompt")
    return ids


def _encoded(engine: Engine, prompt: str) -> list[int]:
    tokenizer = engine.tokenizer
    ids = tokenizer.encode(prompt, specials=True)
    if tokenizer.bos_id is not None and ids[:1] != [tokenizer.bos_id]:
        ids.insert(0, tokenizer.bos_id)
    return ids


def _checked_ids(engine: Engine, ids: list[int], param: str) -> list[int]:
    vocabulary = engine.geometry.vocab
    wrong = next((i for i in ids if not 0 <= i < vocabulary), None)
    if wrong is not None:
        raise ApiError(
            400, f"Token id {wrong} is out of vocabulary (0 to {vocabulary - 1}).", param=param
        )
    return ids


def _refuse_hopeless(engine: Engine, size: int, param: str) -> None:
    """A text too long for the context even at its longest tokens is not worth tokenising."""
    context = engine.geometry.context
    least = size // engine.tokenizer.longest
    if least > context:
        raise context_too_long(
            context, f"your {param} contain at least {least} input tokens", param
        )


async def _encode(size: int, work: Callable[[], list[int]]) -> list[int]:
    return work() if size <= _SHORT else await asyncio.to_thread(work)


async def tokenize(request: web.Request) -> web.Response:
    """`POST /tokenize`, in vLLM's shape: a prompt or messages to ids."""
    body = await read_body(request, TokenizeRequest)
    engine = request.app[STATE].engine
    if body.messages is not None:
        ids = await chat_ids(engine, ChatRequest(messages=body.messages).conversation)
    elif body.prompt is not None:
        text = body.prompt
        _refuse_hopeless(engine, len(text), "prompt")
        ids = await _encode(len(text), lambda: _encoded(engine, text))
    else:
        raise ApiError(400, "Either 'prompt' or 'messages' is required.", param="prompt")
    return json_response(
        {
            "count": len(ids),
            "max_model_len": engine.geometry.context,
            "tokens": ids,
            "token_strs": None,
        }
    )


async def detokenize(request: web.Request) -> web.Response:
    """`POST /detokenize`, in vLLM's shape: ids to text."""
    body = await read_body(request, DetokenizeRequest)
    engine = request.app[STATE].engine
    ids = _checked_ids(engine, body.tokens, "tokens")
    return json_response({"prompt": engine.tokenizer.decode(ids)})
