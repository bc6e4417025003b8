"""A server's own tokenizer, where it has an endpoint for it.

In vLLM's and SGLang's form, which the embedded engine has too, in llama.cpp's, and in that of
Hugging Face's text-generation-inference.

This module imports openai: only the session's own thread may import it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx2
from openai import OpenAIError

from kvtui.config import Endpoint
from kvtui.proxy import ProxySettingError, proxy_for
from kvtui.stream.client import Clients, request_headers
from kvtui.stream.sending import Flight, current_flight

FORMS = ("prompt", "content", "inputs")
"""The field that holds the text: vLLM, SGLang and the embedded engine; llama.cpp; TGI."""
_ANSWER_S = 10.0
_AT_ONCE = 8


async def count_tokens(
    clients: Clients, endpoint: Endpoint, base_url: str, model: str, texts: Sequence[str]
) -> list[int] | None:
    """The tokens of each text, as the server's tokenizer counts; None where it has no endpoint.

    A count may hold a token for the beginning; that is the same for all.
    """
    root = base_url.rstrip("/").removesuffix("/v1")
    for form in FORMS:
        first = await _count(clients, endpoint, root, _body(form, model, texts[0]))
        if first is None:
            continue
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(text: str, form: str = form, turn: asyncio.Semaphore = turn) -> int | None:
            async with turn:
                return await _count(clients, endpoint, root, _body(form, model, text))

        rest = await asyncio.gather(*(one(text) for text in texts[1:]))
        known = [count for count in rest if count is not None]
        return [first, *known] if len(known) == len(rest) else None
    return None


def _body(form: str, model: str, text: str) -> dict[str, Any]:
    return {"model": model, "prompt": text} if form == "prompt" else {form: text}


async def _count(
    clients: Clients, endpoint: Endpoint, root: str, body: dict[str, Any]
) -> int | None:
    """One answer's count; None where it is none."""
    try:
        token = current_flight.set(Flight(proxy_for(root)))
    except ProxySettingError:
        return None
    try:
        async with asyncio.timeout(_ANSWER_S):
            response = await clients.of(endpoint, root).post(
                "/tokenize",
                cast_to=httpx2.Response,
                body=body,
                options={"headers": request_headers(endpoint, {})},
            )
        return counted(json.loads(response.text))
    except (OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError):
        return None
    except (TimeoutError, OSError, TypeError):
        return None
    finally:
        current_flight.reset(token)


def counted(answer: Any) -> int | None:
    """The count in an answer of any of the forms; None where there is none above zero."""
    if isinstance(answer, dict):
        count, tokens = answer.get("count"), answer.get("tokens")
        if count is None and isinstance(tokens, list):
            count = len(tokens)
    else:
        count = len(answer) if isinstance(answer, list) else None
    if not isinstance(count, int) or isinstance(count, bool):
        return None
    return count if count > 0 else None
