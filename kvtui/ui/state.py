"""The frozen states that the panes draw. Nothing here is ever changed in place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtui.bench.requests.curl import Sent
    from kvtui.failure import Evidence, Hint, Verdict
    from kvtui.measure.figures import RunFigures, Snapshot
    from kvtui.measure.gaps import Gaps

RUNNING_PHASES = frozenset({"connecting", "sending", "prefill", "decode"})


def is_demo(model: str) -> bool:
    """The embedded engine answers this one as a provider would that fails so."""
    return model.startswith("demo-")


@dataclass(frozen=True, slots=True)
class PromptForm:
    """What the next request asks for, as edited in place."""

    prompt: str = ""
    system: str = ""
    max_tokens: int | None = 512
    temperature: float | None = None
    repeats: int = 1
    same_prompt: bool = False
    kv_cache: bool = True


@dataclass(frozen=True, slots=True)
class EndpointView:
    """Where requests go, as the header says it."""

    label: str = "embedded"
    model: str = ""
    key: str = "no key needed"
    embedded: bool = True
    note: str = ""
    """One line about the model or the endpoint (a demo model's label, a corrected URL)."""
    ready: bool = False
    problem: str = ""
    """Why it cannot be used, one line."""
    models: tuple[str, ...] = ()
    waiting: bool = False
    """Run was asked for: it begins when the endpoint is ready."""
    mark: str = ""
    """What tells it from a live one (``replay ×2``)."""


@dataclass(frozen=True, slots=True)
class Median:
    """Figures over the complete, cold runs of a repeat."""

    n: int
    ttft_ms: float | None
    tpot_ms: float | None
    decode_tps: float | None
    tps_low: float | None = None
    tps_high: float | None = None


@dataclass(frozen=True, slots=True)
class CacheCompared:
    """Decode rates with and without the KV cache, over the same stretch of two runs."""

    off_tps: float
    on_tps: float
    tokens: int
    """Where the stretch ends: the last token that both runs came to."""


@dataclass(frozen=True, slots=True)
class StreamState:
    """What the Stream pane draws above its text."""

    snapshot: Snapshot
    series: tuple[tuple[float, float], ...] = ()
    """Tokens so far and the running TPS then, oldest first."""
    gaps: Gaps | None = None
    """Between chunks, where a chart asked for them."""
    max_tokens: int | None = None
    run: int = 0
    """Which repeat runs, counted from 1; 0 before the first."""
    repeats: int = 1
    median: Median | None = None
    kv_cache: bool = True
    outcome: str = ""
    """Subcode of the finished request's verdict, empty while it runs."""
    failed: bool = False
    compared: CacheCompared | None = None

    @property
    def running(self) -> bool:
        """A request is on its way."""
        return self.snapshot.phase in RUNNING_PHASES


@dataclass(frozen=True, slots=True)
class Failure:
    """One finished request that is worth the Errors pane."""

    at: str
    """Local time of day, ``12:04:11``."""
    verdict: Verdict
    evidence: Evidence | None = None
    model: str = ""
    times: int = 1
    """How many in a row were the same."""
    figures: RunFigures | None = None
    sent: Sent | None = field(default=None, repr=False)
    """What was asked; it holds the key, so it is only handed on to what hides it."""


@dataclass(frozen=True, slots=True)
class ErrorsState:
    """What the Errors pane draws."""

    failures: tuple[Failure, ...] = ()
    """Newest first."""
    counts: tuple[tuple[str, int], ...] = ()
    """Class -> requests, ``ok`` first, then ``stopped`` (by the user: neither ok nor failed)."""
    hints: tuple[Hint, ...] = ()
    """Of the latest request."""
    last_ok: bool = False
    """The latest request did not fail: the failure shown is history."""
    last_stopped: bool = False
    """The user stopped the latest request."""
    demo: bool = False
    """The endpoint offers failures on demand (the embedded engine's ``demo-*`` models)."""
    failed: int = 0
    """Requests that failed; outcomes such as ``max_tokens`` are none."""
    shown: int = 0
    """Which failure is looked at, 0 the latest."""
    wait_s: int | None = None
    """Seconds left of what the server of the latest failure asked to wait; 0 when it is over."""

    @property
    def latest(self) -> Failure | None:
        """The latest failure."""
        return self.failures[0] if self.failures else None

    @property
    def selected(self) -> Failure | None:
        """The failure shown."""
        return self.failures[min(self.shown, len(self.failures) - 1)] if self.failures else None

    @property
    def requests(self) -> int:
        """All finished requests."""
        return sum(count for _, count in self.counts)


@dataclass(frozen=True, slots=True)
class BarPart:
    """One segment of the card: a name, bytes, and a short remark."""

    name: str
    size: int
    role: str
    glyph: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One row of the heads x precision table: bytes of one sequence for each precision."""

    label: str
    kv_heads: int
    sizes: tuple[int, ...]
    own: bool = False


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of the context ladder."""

    label: str
    fits: bool
    over_model: bool = False
    """Longer than the model itself takes."""
    sequence_bytes: int = 0
    most: int = 0
    """Most sequences of this length."""


@dataclass(frozen=True, slots=True)
class ServerKV:
    """What the server says of its own KV cache; None is "it does not say"."""

    share: float | None = None
    """In use, 0..1."""
    tokens_used: int | None = None
    tokens_total: int | None = None
    bytes_used: int | None = None
    running: int | None = None
    waiting: int | None = None
    source: str = ""
    """The metric or field, sanitised."""
    stale: bool = False
    """Said before the run ended that the pane shows."""


@dataclass(frozen=True, slots=True)
class MemoryState:
    """What the Memory pane draws."""

    ready: bool = False
    problem: str = ""
    card: str = ""
    card_bytes: int = 0
    model: str = ""
    weights: str = ""
    """Precision of the weights."""
    kv_dtype: str = ""
    engine: str = ""
    """How the card is divided: ``vLLM 0.92`` and the like."""
    as_if: bool = False
    example: str = ""
    """Why the model is one that nobody chose; empty where it is not."""
    users: int = 1
    parts: tuple[BarPart, ...] = ()
    fits: bool = True
    live_tokens: int = 0
    """KV in use, tokens over all sequences shown."""
    cache_off: bool = False
    """The engine runs without its cache: nothing is kept, every step recomputes its prefix."""
    reserved_tokens: int = 0
    """Context reserved for them."""
    used_bytes: int = 0
    free_tokens: int | None = None
    bytes_per_token: int | None = None
    constant_bytes: int = 0
    max_context: int | None = None
    model_context: int | None = None
    max_requests: int | None = None
    context: int = 0
    variants: tuple[VariantRow, ...] = ()
    precisions: tuple[str, ...] = ()
    ladder: tuple[Rung, ...] = ()
    formula: str = ""
    notes: tuple[str, ...] = field(default=())
    server: ServerKV | None = None
