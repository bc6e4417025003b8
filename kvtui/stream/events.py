"""What can happen on the wire during one request, as typed events.

The reader (``kvtui.stream``) makes them, the meter (``kvtui.measure``) consumes them. All times are
``time.perf_counter()`` seconds (monotonic), stamped when the bytes were read from the transport:
every event that came out of one read carries the same ``t``.

Events come in batches, one batch a read, to a ``Sink``.

Texts are as the server sent them (decoded with ``errors="replace"``); whoever draws or prints them
sanitises them first (``kvtui.text.sanitise``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from kvtui.failure import Evidence

DeltaKind: TypeAlias = Literal["content", "reasoning", "tool_call", "refusal"]


@dataclass(frozen=True, slots=True)
class Connected:
    """The socket is ready (DNS, TCP and TLS done). ``connect_s`` is 0.0 on a reused connection."""

    t: float
    connect_s: float
    reused: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """The last byte of the request was about to be handed to the connected socket: ``t_send``."""

    t: float


@dataclass(frozen=True, slots=True)
class Headers:
    """The response's status line and headers arrived."""

    t: float
    status: int
    content_type: str
    server_ms: float | None = None
    """The server's own time from its headers (``openai-processing-ms`` and the like)."""


class Delta(msgspec.Struct, frozen=True, gc=False):
    """A non-empty piece of text. ``tokens`` where the wire itself counts it (token ids), else None.

    A msgspec struct, as are the other frequent events: making one costs a tenth of a dataclass.
    """

    t: float
    kind: DeltaKind
    text: str
    tokens: int | None = None
    choice: int = 0
    """Which of several answers (``n`` > 1) it belongs to: 0 is the one whose text is shown."""
    joined: bool = False
    """It came in the same data event as the delta before it, so it is no chunk of its own."""


class Replaced(msgspec.Struct, frozen=True, gc=False):
    """The server turned out to repeat all text in every delta: the text so far is ``text``.

    Deltas that follow hold only what is new again.
    """

    t: float
    kind: DeltaKind
    text: str
    joined: bool = False


class Role(msgspec.Struct, frozen=True, gc=False):
    """A chunk that carries no token: role only, empty content, or no choices and no usage."""

    t: float


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Token counts the server gave; None where it gave none. Cumulative, never to be summed."""

    t: float
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    continuous: bool = False
    """True when it rode on a chunk before the stream's end (one with choices, but no finish)."""


class Timings(msgspec.Struct, frozen=True, gc=False):
    """llama.cpp's own timings object: a token count and the server's speeds."""

    t: float
    prompt_n: int | None
    predicted_n: int | None
    prompt_ms: float | None
    predicted_ms: float | None
    cache_n: int | None = None


class PromptProgress(msgspec.Struct, frozen=True, gc=False):
    """Prefill progress where the server reports it (llama.cpp ``return_progress``)."""

    t: float
    total: int
    cached: int
    processed: int


@dataclass(frozen=True, slots=True)
class Finish:
    """A ``finish_reason`` was seen (raw value). The stream goes on: usage often comes later."""

    t: float
    reason: str


@dataclass(frozen=True, slots=True)
class ModelName:
    """The model the server says it answered with."""

    t: float
    model: str


class KeepAlive(msgspec.Struct, frozen=True, gc=False):
    """A comment or ping: bytes, but no life."""

    t: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The one last event of every request, whatever happened.

    ``evidence`` holds all that is known for ``kvtui.failure.classify``; ``stopped`` is True when
    the user stopped the request; ``streamed`` is False when the answer came whole.
    """

    t: float
    evidence: Evidence
    stopped: bool = False
    streamed: bool = True
    notes: tuple[str, ...] = field(default=())
    """What was changed on the way and must be said (``/v1`` added, a refused parameter dropped)."""


Event: TypeAlias = (
    Connected
    | Sent
    | Headers
    | Delta
    | Replaced
    | Role
    | Usage
    | Timings
    | PromptProgress
    | Finish
    | ModelName
    | KeepAlive
    | Ended
)

Sink: TypeAlias = Callable[[Sequence[Event]], None]
"""Takes the events of one read, on the thread that read them; it must not block."""
