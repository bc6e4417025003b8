"""What the adviser knows: the latest runs, what is asked of the card, the server's own bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from kvtui.measure.figures import RunFigures
    from kvtui.ui.state import CacheCompared


class Advice(NamedTuple):
    """What is said, and the figures behind it."""

    say: str
    """One sentence without a full stop, in the language in use."""
    why: str
    """The formula with its numbers; several lines."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that ended with an answer; None is "not known"."""

    model: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    """Prompt tokens that the server found in its prefix cache."""
    tokens: int | None = None
    max_tokens: int | None = None
    connect_ms: float | None = None
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    tps: float | None = None
    """Decode rate, tokens per second."""
    e2e_ms: float | None = None
    lag_ms: float | None = None
    """Longest that kvtui's own reading loop stood still meanwhile."""
    client_bound: bool = False
    """It was late for the first or the last token: TTFT or TPOT may be off by as much."""
    kv_cache: bool = True

    @property
    def cold(self) -> bool:
        """Nothing of its prompt came from a prefix cache."""
        return not self.cached_tokens


@dataclass(frozen=True, slots=True)
class StepBound:
    """What one decode step of one sequence reads, and the bandwidth of the server's own card."""

    card: str
    where: Literal["profile", "local"]
    """Who says that the server runs on it: its profile, or the card found on this machine."""
    model: str
    weights_bytes: int
    kv_bytes: int
    """Cache read at the middle of the answer."""
    tokens_per_s: float

    @property
    def kv_share(self) -> float:
        """Share of the step's bytes that is cache, 0..1."""
        return self.kv_bytes / (self.weights_bytes + self.kv_bytes)


class Smaller(NamedTuple):
    """The same question with the cache in another precision."""

    kv_dtype: str
    most: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What the Memory pane asks of the card."""

    card: str
    model: str
    kv_dtype: str
    context: int
    users: int
    sequence_bytes: int
    budget_bytes: int
    """What is left for the cache."""
    most: int
    """Sequences of that context that fit."""
    smaller: Smaller | None = None
    """The first smaller precision in which more fit."""

    @property
    def fits(self) -> bool:
        """All sequences asked for have room."""
        return self.most >= self.users


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that the rules look at."""

    runs: tuple[Ran, ...] = ()
    """Newest first."""
    compared: CacheCompared | None = None
    asked: Asked | None = None
    asked_last: bool = False
    """The latest thing that happened is a choice of the Memory pane, not a run."""
    bound: StepBound | None = None
    """Only of the card that the server is known to run on."""

    @property
    def latest(self) -> Ran | None:
        """The run shown."""
        return self.runs[0] if self.runs else None


def ran(figures: RunFigures, *, model: str, max_tokens: int | None, kv_cache: bool) -> Ran | None:
    """A finished run as the adviser keeps it; None of one that failed or was stopped."""
    if figures.verdict.is_failure or figures.stopped or figures.partial:
        return None
    return Ran(
        model=figures.model_answered or model,
        prompt_tokens=figures.prompt_tokens,
        cached_tokens=figures.cached_prompt_tokens,
        tokens=figures.completion_tokens,
        max_tokens=max_tokens,
        connect_ms=figures.connect_ms,
        ttft_ms=figures.ttft_ms,
        tpot_ms=figures.tpot_ms,
        tps=figures.decode_tps,
        e2e_ms=figures.e2e_ms,
        lag_ms=figures.loop_lag_ms,
        client_bound=any(hint.subcode == "client_bound" for hint in figures.hints),
        kv_cache=kv_cache,
    )
