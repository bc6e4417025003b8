"""How an engine lays the cache out on one rank: the interface, and the layout without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from . import kv as _kv
from .model import Layer, Model, State, group
from .precision import Precision
from .units import ceil_div


class Store(Protocol):
    """The cache of one pipeline stage on one rank, in bytes."""

    def sequence_bytes(self, context: int) -> int:
        """What one sequence of `context` tokens takes."""

    def token_bytes(self, context: int) -> int:
        """By how much that grows per token there, rounded down."""

    def total_bytes(self, context: int, sequences: int) -> int:
        """What so many sequences take together."""

    def ratio(self, budget: int, context: int) -> float:
        """How many sequences of that length a budget holds; infinite where they cost nothing."""

    def details(self, budget: int, context: int, sequences: int) -> dict[str, Any]:
        """The engine's own figures."""


def times(budget: int, one: int) -> float:
    """How many times `one` goes into a budget; infinite where it is nothing."""
    return max(budget, 0) / one if one else float("inf")


class LogicalStore(NamedTuple):
    """The formula alone.

    Attributes:
        model: the model, for the precision of states.
        layers: the stage's layers as the rank stores them.
        k: precision of the keys.
        v: precision of the values.
        cp: ranks that share the tokens of attention layers.
    """

    model: Model
    layers: Sequence[Layer]
    k: Precision
    v: Precision
    cp: int = 1

    def sequence_bytes(self, context: int) -> int:
        """Bytes of one sequence; context parallel ranks hold every cp-th token."""
        mine = ceil_div(context, self.cp)
        total = 0
        for cache, layers in group(self.layers):
            if isinstance(cache, State):
                total += layers * _kv.state_bytes(cache, self.model)
            else:
                # Windows are not shared between context parallel ranks.
                tokens = context if _kv.is_local(cache) else mine
                total += (
                    layers
                    * _kv.stored_tokens(cache, tokens)
                    * _kv.token_bytes(cache, self.k, self.v)
                )
        return total

    def token_bytes(self, context: int) -> int:
        """Bytes that the next token adds, in the mean of the context parallel ranks."""
        shared = own = 0
        for cache, layers in group(self.layers):
            if isinstance(cache, State):
                continue
            grown = _kv.stored_tokens(cache, context + 1) - _kv.stored_tokens(cache, context)
            size = layers * grown * _kv.token_bytes(cache, self.k, self.v)
            if _kv.is_local(cache):
                own += size
            else:
                shared += size
        return shared // self.cp + own

    def total_bytes(self, context: int, sequences: int) -> int:
        """Sequences share nothing."""
        return sequences * self.sequence_bytes(context)

    def ratio(self, budget: int, context: int) -> float:
        """Budget over one sequence."""
        return times(budget, self.sequence_bytes(context))

    def details(self, budget: int, context: int, sequences: int) -> dict[str, Any]:  # noqa: ARG002
        """Nothing beyond the formula."""
        return {}
