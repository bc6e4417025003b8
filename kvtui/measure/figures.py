"""The figures of one request: live (``Snapshot``) and final (``RunFigures``). DESIGN defines each.

None always means "no honest figure here"; it is drawn as an em dash and printed as null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from kvtui.failure import Evidence, Hint, Verdict

LivePhase: TypeAlias = Literal[
    "idle", "connecting", "sending", "prefill", "decode", "done", "stopped", "failed"
]
TokenSource: TypeAlias = Literal["usage", "continuous", "token_ids", "timings", "estimate", "none"]
FirstToken: TypeAlias = Literal["content", "reasoning", "tool_call", "refusal", "usage", "none"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a request at one moment: what a frame draws. Cheap to make, never mutated."""

    phase: LivePhase = "idle"
    elapsed_s: float = 0.0
    """Since the request was started."""
    connect_ms: float | None = None
    prefill_ms: float | None = None
    """TTFT so far while prefill runs, TTFT itself afterwards."""
    decode_s: float | None = None
    prefill_done: int | None = None
    """Prompt tokens worked out so far, of ``prefill_total``, where the server reports progress."""
    prefill_total: int | None = None
    running_tps: float | None = None
    running_tps_estimated: bool = False
    """Drawn with a ``~`` in front."""
    ttft_ms: float | None = None
    ttfa_ms: float | None = None
    tpot_ms: float | None = None
    decode_tps: float | None = None
    itl_p50_ms: float | None = None
    itl_p99_ms: float | None = None
    tokens_per_chunk: float | None = None
    prompt_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    tokens: int | None = None
    """Completion tokens so far."""
    token_source: TokenSource = "none"
    chunks: int = 0
    finish_reason: str | None = None
    partial: bool = False
    loop_lag_ms: float | None = None
    """Largest lag of our own event loop over the request: the tool as bottleneck."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One finished request: ``kvtui run --json``'s run object is made from it."""

    started_at: str
    """UTC, ISO 8601."""
    verdict: Verdict
    evidence: Evidence
    partial: bool
    connect_ms: float | None
    ttft_ms: float | None
    ttfa_ms: float | None
    tpot_ms: float | None
    decode_tps: float | None
    e2e_tps: float | None
    e2e_ms: float | None
    server_ms: float | None
    first_token: FirstToken
    prompt_tokens: int | None
    cached_prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    estimated_tokens: int | None
    token_source: TokenSource
    chunks: int
    finish_reason: str | None
    model_answered: str | None
    content: str
    reasoning: str
    hints: tuple[Hint, ...] = ()
    itl_p50_ms: float | None = None
    itl_p99_ms: float | None = None
    tokens_per_chunk: float | None = None
    formulas: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Figure name -> its formula with the numbers filled in."""
    loop_lag_ms: float | None = None
    """Largest lag of our own event loop from the first to the last token."""
    stamp_lag_ms: float | None = None
    """Largest lag that touched the first or the last token's stamp: what TTFT and TPOT can be off.
    """
    stopped: bool = False
