"""One frozen answer of a server about itself, and the rates between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from kvtui.language import tr
from kvtui.text import one_line, redact

Kind = Literal[
    "vllm",
    "sglang",
    "llamacpp",
    "tgi",
    "dynamo",
    "litellm",
    "ollama",
    "lmstudio",
    "kvtui",
    "unknown",
]
HitBasis = Literal["interval", "totals", "gauge"]

_MOST_MODELS = 500
"""A gateway may list thousands; nobody reads them here."""


class Source(NamedTuple):
    """Where a figure comes from: the metric or field, and the page it stood on."""

    metric: str
    url: str

    def __str__(self) -> str:
        return f"{self.metric}, {self.url}"


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What a server says of itself at one moment. None is "it does not say".

    Every field that holds a figure has its origin under the same name in ``sources``.
    """

    kind: Kind = "unknown"
    answered: bool = True
    """False where no page could be had; ``notes`` says why."""
    at: float = 0.0
    """When it was read, seconds of ``time.monotonic``."""
    urls: tuple[str, ...] = ()
    """The pages that told something."""
    models: tuple[str, ...] = ()
    context: int | None = None
    """Tokens reserved for one sequence (``max_model_len``, a slot's ``n_ctx``)."""

    kv_usage: float | None = None
    """Share of the KV cache in use, 0..1; with several engines that of the fullest."""
    kv_tokens_used: int | None = None
    kv_tokens_total: int | None = None
    kv_bytes_used: int | None = None
    kv_bytes_total: int | None = None
    running: int | None = None
    waiting: int | None = None
    preemptions: int | None = None
    """Sequences thrown out of the cache (vLLM) or retracted (SGLang) since the server's start."""

    prefix_hit_share: float | None = None
    """Prompt tokens found in the prefix cache over those looked up, 0..1."""
    prefix_hit_basis: HitBasis | None = None
    """Of the last seconds (two looks), of all since the server's start, or the server's gauge."""
    prefix_queries: int | None = None
    """Counter: prompt tokens looked up."""
    prefix_hits: int | None = None
    """Counter: prompt tokens found."""
    prompt_tokens: int | None = None
    """Counter: prompt tokens processed."""
    generation_tokens: int | None = None
    """Counter: tokens generated."""
    prompt_tps: float | None = None
    generation_tps: float | None = None
    """Tokens per second over all requests: between two looks, else the server's own gauge."""

    sources: Mapping[str, Source] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()


FIGURES = tuple(
    f.name
    for f in fields(ServerStatus)
    if f.name
    not in ("kind", "answered", "at", "urls", "models", "prefix_hit_basis", "sources", "notes")
)
"""The fields that hold a figure with a source."""


class Draft:
    """Collects figures with their sources on one page, then becomes a ``ServerStatus``."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.values: dict[str, Any] = {}
        self.sources: dict[str, Source] = {}
        self.notes: list[str] = []

    def put(self, name: str, value: float | None, metric: str) -> None:
        """Take a figure unless it is unknown or already known from a better metric."""
        if value is not None and name not in self.values:
            self.values[name] = value
            self.sources[name] = Source(metric, self.url)

    def whole(self, name: str, value: float | None, metric: str) -> None:
        """Take a count: as ``put``, rounded to a whole number; a negative one is unknown."""
        if value is not None and value >= 0:
            self.put(name, round(value), metric)

    def share(self, name: str, value: float | None, metric: str) -> bool:
        """Take a share, 0..1. Negative ones mean "none yet"; above 1 it is no share, and noted."""
        if value is None or value < 0:
            return False
        if value > 1.001:
            self.notes.append(
                tr(
                    "{metric} reads {value:g}, which is no share of 1: left out.",
                    metric=metric,
                    value=value,
                )
            )
            return False
        self.put(name, min(value, 1.0), metric)
        return True

    def hits(self, hits: float | None, queries: float | None, metric: str) -> None:
        """Take the prefix cache's counters and the share over the server's lifetime."""
        self.whole("prefix_hits", hits, metric)
        self.whole("prefix_queries", queries, metric)
        if hits is not None and queries and self.share("prefix_hit_share", hits / queries, metric):
            self.values.setdefault("prefix_hit_basis", "totals")

    def gauge_hits(self, value: float | None, metric: str) -> None:
        """Take a hit share that the server worked out itself, where no counters tell it."""
        if self.share("prefix_hit_share", value, metric):
            self.values.setdefault("prefix_hit_basis", "gauge")

    def spread(self, usages: list[float]) -> None:
        """Say how far the KV usages of several engines lie apart."""
        if len(usages) > 1:
            mean = sum(usages) / len(usages)
            self.note(
                tr(
                    "{n} engines: KV usage is that of the fullest, {most:.1%}; the mean is"
                    " {mean:.1%}, the emptiest has {least:.1%}.",
                    n=len(usages),
                    most=max(usages),
                    mean=mean,
                    least=min(usages),
                )
            )

    def note(self, text: str) -> None:
        """Add one sentence; what comes from outside in it is made harmless here."""
        self.notes.append(clean(text, 300))

    def freeze(self, kind: Kind, models: tuple[str, ...] = ()) -> ServerStatus:
        """The status, with model names made harmless."""
        return ServerStatus(
            kind=kind,
            urls=(self.url,),
            models=clean_names(models),
            sources=MappingProxyType(dict(self.sources)),
            notes=tuple(self.notes),
            **self.values,
        )


def clean(text: str, limit: int = 200) -> str:
    """A text from outside on one line, without control characters and anything like a key."""
    return redact(one_line(text, limit))


def clean_names(names: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Names from outside: harmless, each once, in their order, at most 500."""
    shown = dict.fromkeys(clean(name, 120) for name in names[:_MOST_MODELS])
    return tuple(name for name in shown if name)


def overlay(first: ServerStatus, second: ServerStatus) -> ServerStatus:
    """``first``, its gaps filled from another page of the same server."""
    missing = {
        name: value
        for name in FIGURES
        if getattr(first, name) is None and (value := getattr(second, name)) is not None
    }
    if "prefix_hit_share" in missing:
        missing["prefix_hit_basis"] = second.prefix_hit_basis
    sources = {name: second.sources[name] for name in missing if name in second.sources}
    return replace(
        first,
        kind=first.kind if first.kind != "unknown" else second.kind,
        urls=tuple(dict.fromkeys((*first.urls, *second.urls))),
        models=first.models or second.models,
        sources=MappingProxyType({**first.sources, **sources}),
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
        **missing,
    )


def with_rates(
    later: ServerStatus, earlier: ServerStatus | None, hits_since: ServerStatus | None = None
) -> ServerStatus:
    """``later`` with what happened since ``earlier``: tokens per second and the hit share.

    Args:
        later: The newest look.
        earlier: The look before it; None leaves ``later`` as it is.
        hits_since: An older look for the hit share, which is jumpy over a second; else ``earlier``.

    Counters that went back mean a restarted server: no rate is made of them.
    """
    if earlier is None or earlier.kind != later.kind or later.at <= earlier.at:
        return later
    changes: dict[str, Any] = {}
    sources = dict(later.sources)
    seconds = later.at - earlier.at
    for counter, rate in (("prompt_tokens", "prompt_tps"), ("generation_tokens", "generation_tps")):
        done = _grown(earlier, later, counter)
        if done is None:
            continue
        changes[rate] = done / seconds
        origin = later.sources[counter]
        metric = f"({origin.metric})" if " + " in origin.metric else origin.metric
        sources[rate] = Source(f"Δ {metric} / {seconds:.1f} s", origin.url)
    old = hits_since if hits_since is not None and hits_since.kind == later.kind else earlier
    hits, queries = _grown(old, later, "prefix_hits"), _grown(old, later, "prefix_queries")
    if hits is not None and queries and hits <= queries:
        changes["prefix_hit_share"] = hits / queries
        changes["prefix_hit_basis"] = "interval"
        origin = later.sources["prefix_hits"]
        sources["prefix_hit_share"] = Source(
            f"{origin.metric}, last {later.at - old.at:.0f} s", origin.url
        )
    return replace(later, sources=MappingProxyType(sources), **changes)


def _grown(earlier: ServerStatus, later: ServerStatus, counter: str) -> int | None:
    """How far a counter went on between two looks; None where it is unknown or went back."""
    before, after = getattr(earlier, counter), getattr(later, counter)
    if before is None or after is None or after < before:
        return None
    return int(after - before)
