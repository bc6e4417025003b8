"""What a request came to: one class, one subcode, one sentence, the fixes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

FailureClass: TypeAlias = Literal[
    "ok", "auth", "network", "parameter", "filter", "rate_or_quota", "server", "truncated"
]

OUTCOMES = frozenset({"max_tokens", "context_full", "repetition", "reasoning_exhausted"})
"""Subcodes of ``truncated`` that are outcomes: complete figures, exit status 0, not a failure."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Something worth saying that is not a failure (buffered stream, estimated count, ...)."""

    subcode: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The classification of one request. Texts are plain, sanitised and free of secrets."""

    cls: FailureClass
    subcode: str
    message: str = ""
    fixes: tuple[str, ...] = ()
    """In the order to try, for this evidence."""
    retryable: bool = False
    retry_after_s: float | None = None
    code: str | None = None
    """The server's error code, lower case."""
    type: str | None = None
    """The server's error type."""
    hints: tuple[Hint, ...] = ()

    @property
    def is_failure(self) -> bool:
        """True where the exit status is 1 and the figures are partial."""
        if self.cls == "ok":
            return False
        return not (self.cls == "truncated" and self.subcode in OUTCOMES)
