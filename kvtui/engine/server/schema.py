"""Requests: their fields, their limits, and what they ask of the engine."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Meta, Struct

from kvtui.engine.chat import Message
from kvtui.engine.sampling import SamplingParams
from kvtui.engine.server.errors import ApiError

MAX_BODY = 1 << 20
"""Bytes of a request body."""

_BODY_TIMEOUT_S = 30.0

DEFAULT_MAX_TOKENS = 512
"""Tokens generated where a request names no limit and the context reaches as far."""

DEFAULTS = SamplingParams(temperature=0.3, top_p=0.9)
"""Sampling where a request names none: cool, since small models wander soon at OpenAI's 1.0."""

Count = Annotated[int, Meta(ge=1, le=1 << 31)]
Natural = Annotated[int, Meta(ge=0, le=1 << 31)]
Text = Annotated[str, Meta(max_length=MAX_BODY)]
StopText = Annotated[str, Meta(min_length=1, max_length=1024)]


class StreamOptions(Struct):
    """What a stream reports of its own."""

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None


class Part(Struct):
    """One part of a message's content; only texts can be read here."""

    type: str
    text: str | None = None


class ChatMessage(Struct):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None


class _Generation(Struct):
    """Fields that chat and plain completions share; unknown fields are ignored."""

    model: str | None = None
    max_tokens: Count | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    seed: int | None = None
    stop: StopText | Annotated[list[StopText], Meta(max_length=4)] | None = None
    n: int | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    kv_cache: bool | None = None
    ignore_eos: bool | None = None
    min_tokens: Natural | None = None
    logprobs: bool | int | None = None
    logit_bias: dict[str, Any] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    best_of: int | None = None

    @property
    def limit(self) -> int | None:
        """The most tokens to generate, as far as the request says."""
        return self.max_tokens

    @property
    def sampling(self) -> SamplingParams:
        """How to draw tokens."""
        return SamplingParams(
            DEFAULTS.temperature if self.temperature is None else self.temperature,
            DEFAULTS.top_p if self.top_p is None else self.top_p,
            None if self.seed is None else self.seed % (1 << 64),
        )

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts that end the answer."""
        if self.stop is None:
            return ()
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    def check(self) -> None:
        """Refuse what would otherwise be left out without a word.

        Raises:
            ApiError: 400, naming the field.
        """
        if self.n not in (None, 1) or self.best_of not in (None, 1):
            raise unsupported("n" if self.n not in (None, 1) else "best_of", "only 1 is supported")
        if self.stream_options is not None and not self.stream:
            raise ApiError(
                400,
                "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
                param="stream_options",
            )
        for name in ("logprobs", "logit_bias", "frequency_penalty", "presence_penalty"):
            if getattr(self, name):
                raise unsupported(name, "this server does not implement it")


class CompletionRequest(_Generation):
    """`POST /v1/completions`."""

    prompt_field: ClassVar[str] = "prompt"

    prompt: Text | list[int | Text | list[int]] = ""
    echo: bool | None = None
    suffix: str | None = None

    def check(self) -> None:
        """Refuse what would otherwise be left out without a word."""
        super().check()
        for name in ("echo", "suffix"):
            if getattr(self, name):
                raise unsupported(name, "this server does not implement it")

    @property
    def single_prompt(self) -> str | list[int]:
        """The one prompt, as text or as token ids.

        Raises:
            ApiError: 400 for none or several.
        """
        prompt = self.prompt
        if isinstance(prompt, str):
            return prompt
        ids = [item for item in prompt if isinstance(item, int)]
        if prompt and len(ids) == len(prompt):
            return ids
        first = prompt[0] if len(prompt) == 1 else None
        if first is None or isinstance(first, int):
            raise ApiError(400, "Exactly one prompt is supported per request.", param="prompt")
        return first


class ChatRequest(_Generation):
    """`POST /v1/chat/completions`."""

    prompt_field: ClassVar[str] = "messages"

    messages: Annotated[list[ChatMessage], Meta(min_length=1)] | None = None
    max_completion_tokens: Count | None = None
    tools: list[Any] | None = None
    response_format: dict[str, Any] | None = None

    @property
    def limit(self) -> int | None:
        """The most tokens to generate, as far as the request says."""
        if self.max_completion_tokens is not None:
            return self.max_completion_tokens
        return self.max_tokens

    def check(self) -> None:
        """Refuse what would otherwise be left out without a word."""
        super().check()
        if self.messages is None:
            raise ApiError(400, "Missing required parameter: 'messages'.", param="messages")
        if self.tools:
            raise unsupported("tools", "this server does not implement it")
        if self.response_format and self.response_format.get("type", "text") != "text":
            raise unsupported("response_format", "only text is supported")

    @property
    def conversation(self) -> list[Message]:
        """The messages as plain texts.

        Raises:
            ApiError: 400 for content other than text.
        """
        return [
            Message("system" if m.role == "developer" else m.role, _text_of(m.content, i))
            for i, m in enumerate(self.messages or ())
        ]


class TokenizeRequest(Struct):
    """`POST /tokenize`, in vLLM's shape."""

    prompt: Text | None = None
    messages: Annotated[list[ChatMessage], Meta(min_length=1)] | None = None


class DetokenizeRequest(Struct):
    """`POST /detokenize`, in vLLM's shape."""

    tokens: list[int]


def unsupported(param: str, why: str) -> ApiError:
    """400 for a field this server cannot honour."""
    return ApiError(
        400, f"Unsupported value for '{param}': {why}.", param=param, code="unsupported_value"
    )


def _text_of(content: str | list[Part] | None, index: int) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type != "text" or part.text is None:
            raise ApiError(
                400,
                f"This model reads text only; a part of message {index} is '{part.type[:40]}'.",
                param=f"messages[{index}].content",
            )
    return "".join(part.text or "" for part in content)


R = TypeVar("R", bound=Struct)


async def read_body(request: web.Request, kind: type[R]) -> R:
    """The request's body as `kind`.

    Raises:
        ApiError: 400 for anything else, naming the field where there is one; 408 for a body that
            does not come.
    """
    raw = await _read(request)
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at ")
        param = path.strip("`").removeprefix("$").removeprefix(".") or None
        subject = f"'{param}'" if param else "the request body"
        raise ApiError(400, f"Invalid {subject}: {problem}.", param=param) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(
            400, f"We could not parse the JSON body of your request: {error}."
        ) from error
    except RecursionError as error:
        raise ApiError(400, "The JSON body of your request is nested too deeply.") from error


async def _read(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(_BODY_TIMEOUT_S):
            return await request.read()
    except TimeoutError:
        raise ApiError(408, "The request body did not arrive in time.") from None
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise ApiError(400, "The request body could not be read as it was sent.") from error
