"""What is known about one request, gathered for the classifier. No secret may be in it.

Whoever fills it passes every text through ``kvtui.text.redact`` with the key in use: redaction
happens at this border, so that nothing behind it (classifier, screen, record) can show a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

Phase: TypeAlias = Literal["settings", "connect", "send", "headers", "stream", "done"]
WaitingFor: TypeAlias = Literal["connect", "tls", "headers", "first_token", "data", "end"]


@dataclass(frozen=True, slots=True)
class ExceptionFact:
    """One link of an exception chain: the class's name and its redacted text."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What may be said of a key without showing it."""

    origin: str | None = None
    """Where it came from: ``TAOTOKEN_API_KEY``, ``profile vllm-box``, ... None: no key was sent."""
    length: int = 0
    problem: str | None = None
    """E.g. ``ends with a space (character 52)``; None where nothing is wrong with its form."""
    other_variables: tuple[str, ...] = ()
    """Key variables that are set in the environment but were not used."""
    kind: str | None = None
    """``placeholder``, ``oauth`` (a login token, not an API key), or None."""
    wanted_variable: str | None = None
    """The variable that was asked to hold it (``--api-key-env``), whether it is set or not."""
    belongs_to: str | None = None
    """Whose key its form says it is (``OpenRouter``), where the form is one provider's alone."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All facts of one finished request. Unknown is None."""

    phase: Phase = "done"
    """How far the request came when it ended."""
    method: str = "POST"
    url: str = ""
    host: str = ""
    model: str = ""
    embedded: bool = False
    key: KeyFacts = KeyFacts()
    proxy: str | None = None
    """The proxy in effect (credentials redacted), None for a direct connection."""
    proxy_from: str | None = None
    """The variable it came from, e.g. ``HTTPS_PROXY``."""
    proxy_unused: str | None = None
    """The variable that names a proxy which was left out because the host is local."""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Response headers, lower-case names."""
    body: str | None = None
    """The whole body of an error answer or of one that was no stream, cut at 64 KiB."""
    sse_error: Any = None
    """The parsed error object that arrived inside the stream (dict, list or string)."""
    exceptions: tuple[ExceptionFact, ...] = ()
    """Outermost first."""
    waiting_for: WaitingFor | None = None
    """What was awaited when a watchdog fired or the connection broke."""
    waited_s: float | None = None
    capped: bool = False
    """It was ``--timeout``, the limit for the whole request, that ran out."""
    quiet_s: float | None = None
    """How long nothing that was awaited had come when a time limit ran out."""
    finish_reason: str | None = None
    done_seen: bool = False
    streamed: bool = True
    data_events: int = 0
    bad_events: int = 0
    """Data events that could not be decoded."""
    bad_event: str | None = None
    """The first of them, cut."""
    bad_tail: bool = False
    """The last data event was cut off by the end of the stream; it is not one of ``bad_events``."""
    content_chars: int = 0
    reasoning_chars: int = 0
    tool_calls: int = 0
    refusal: str = ""
    cumulative: bool = False
    """Deltas repeated what came before them."""
    completion_tokens: int | None = None
    prompt_tokens: int | None = None
    reasoning_tokens: int | None = None
    max_tokens: int | None = None
    stopped: bool = False
    """The user stopped it: never a failure."""
    base_url: str = ""
    """The base URL that was asked for, before any correction."""
    base_url_answers: str | None = None
    """A base URL that was probed and answers, where the one given does not."""
    models_offered: tuple[str, ...] = ()
    stream_asked: bool = True
    """False where the request itself said ``stream: false``."""
    text_chunks: int = 0
    """Data events that carried content or reasoning."""
    content_tail: str = ""
    """The last 80 characters of the answer, to see whether it ends in the middle of a sentence."""
    buffered: bool = False
    """The measurement found that something on the way held the stream back."""
    filter_categories: tuple[str, ...] = ()
    """Categories that a ``content_filter_results`` inside the stream marks as filtered."""
    context_length: int | None = None
    """The context the server gives one sequence, where it is known."""
