"""The answer's form, and its JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import roofline
from .parallel import Parallel
from .precision import Precision
from .question import Question


class Budget(NamedTuple):
    """One card, in bytes; the four parts sum to what it holds.

    Attributes:
        weights_bytes: the weights on this card.
        overhead_bytes: activations, CUDA context, graphs, buffers.
        kv_bytes: what is left for the KV cache; negative by as much as is missing.
        outside_bytes: what the engine leaves alone.
        overhead_low_bytes: the overhead could be as little as this,
        overhead_high_bytes: or as much as this.
    """

    weights_bytes: int
    overhead_bytes: int
    kv_bytes: int
    outside_bytes: int
    overhead_low_bytes: int
    overhead_high_bytes: int


class Answer(NamedTuple):
    """What fits.

    Attributes:
        question: what was asked.
        split: how the cards share the model.
        k: precision of the keys.
        v: precision of the values.
        bytes_per_token: the next token's cost at this context, over all cards that hold it.
        bytes_per_sequence: one sequence's cost at this context, over all cards that hold it.
        constant_bytes_per_sequence: what of it is not context × bytes_per_token.
        total_bytes: the cost of all sequences, over all cards.
        per_gpu_bytes_per_token: the same four on the fullest card.
        per_gpu_bytes_per_sequence: see above.
        per_gpu_constant_bytes_per_sequence: see above.
        per_gpu_total_bytes: see above.
        weights_bytes: all weights once; None when the parameters are unknown.
        budget: the fullest card's budget.
        fits: the sequences asked for fit.
        max_context: the longest context at this concurrency that memory allows; the model's own
            limit where memory sets none.
        max_concurrency: the most sequences at this context.
        concurrency_ratio: how many times one sequence fits (vLLM's "maximum concurrency").
        formula: the KV formula with its numbers.
        overhead_formula: the budget's terms with their numbers.
        weights_formula: how the weights' size was found.
        bounds: decode's upper bound by bandwidth for some batch sizes; empty when unknown.
        details: the engine's own figures (blocks, groups, cells).
        notes: what a reader should know, one sentence each.
    """

    question: Question
    split: Parallel
    k: Precision
    v: Precision
    bytes_per_token: int
    bytes_per_sequence: int
    constant_bytes_per_sequence: int
    total_bytes: int
    per_gpu_bytes_per_token: int
    per_gpu_bytes_per_sequence: int
    per_gpu_constant_bytes_per_sequence: int
    per_gpu_total_bytes: int
    weights_bytes: int | None
    budget: Budget
    fits: bool
    max_context: int
    max_concurrency: int
    concurrency_ratio: float
    formula: str
    overhead_formula: str
    weights_formula: str
    bounds: tuple[roofline.Bound, ...]
    notes: tuple[str, ...]
    details: dict[str, Any]

    @property
    def beyond_model(self) -> int | None:
        """The model's own limit where memory allows a longer context than it takes, else None."""
        limit = self.question.model.max_context
        return limit if limit is not None and self.max_context > limit else None

    def to_json(self) -> dict[str, Any]:
        """The document that `kvtui plan --json` prints (schema kvtui.plan/1)."""
        question, card, budget = self.question, self.question.card, self.budget
        return {
            "schema": "kvtui.plan/1",
            "model": question.model.name,
            "engine": question.engine,
            "kv": {
                "k_dtype": self.k.name,
                "v_dtype": self.v.name,
                "bytes_per_token": self.bytes_per_token,
                "bytes_per_sequence": self.bytes_per_sequence,
                "constant_bytes_per_sequence": self.constant_bytes_per_sequence,
                "total_bytes": self.total_bytes,
                "per_gpu": {
                    "bytes_per_token": self.per_gpu_bytes_per_token,
                    "bytes_per_sequence": self.per_gpu_bytes_per_sequence,
                    "constant_bytes_per_sequence": self.per_gpu_constant_bytes_per_sequence,
                    "total_bytes": self.per_gpu_total_bytes,
                },
            },
            "context": question.context,
            "concurrency": question.concurrency,
            "weights_bytes": self.weights_bytes,
            "gpu": {
                "name": card.name,
                "memory_bytes": card.memory_bytes,
                "usable_total_bytes": card.usable_total_bytes,
                "usable_source": card.usable_source or None,
                "count": self.split.cards,
            },
            "budget": {
                "weights_bytes": budget.weights_bytes,
                "overhead_bytes": budget.overhead_bytes,
                "kv_bytes": budget.kv_bytes,
                "outside_bytes": budget.outside_bytes,
                "overhead_low_bytes": budget.overhead_low_bytes,
                "overhead_high_bytes": budget.overhead_high_bytes,
            },
            "fits": self.fits,
            "max_context": self.max_context,
            "max_concurrency": self.max_concurrency,
            "concurrency_ratio": self.concurrency_ratio,
            "decode_upper_bound": [
                {"batch": bound.batch, "tokens_per_s": round(bound.tokens_per_s, 1)}
                for bound in self.bounds
            ],
            "formula": self.formula,
            "overhead_formula": self.overhead_formula,
            "weights_formula": self.weights_formula,
            "details": self.details,
            "notes": list(self.notes),
        }
