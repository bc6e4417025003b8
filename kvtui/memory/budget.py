"""The memory question and its answer: what fits on the card.

A `Question` is frozen; change one field with `dataclasses.replace` and ask again. `answer` takes
well under 10 ms. Budgets are per card, of the fullest rank, and sum exactly to what the card holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import kv as _kv
from . import precision as _precision
from .cards import Card
from .errors import BadValueError, UnknownNameError
from .model import MAX_TOKENS, Model, check
from .units import GIB, ceil_div, gib

ENGINES: tuple[str, ...] = ("logical", "vllm")

MAX_CARDS = 65_536
MAX_SEQUENCES = 10**9

# vLLM 0.33 on an H100 with default batches (llm-d-planner PR 205): the activation peak is 0.8 to
# 4.0 GiB by model, 1.89 for an 8B Llama; what is not torch's is 0.25 GiB on one card and 2.1 with
# NCCL; CUDA graphs take 0.51 to 1.85 GiB, 1.04 in the mean.
ACTIVATION_BYTES = round(1.9 * GIB)
NON_TORCH_BYTES = GIB // 4
NON_TORCH_NCCL_BYTES = round(2.1 * GIB)
GRAPHS_BYTES = round(1.04 * GIB)
OVERHEAD_BAND_BYTES = GIB


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        model: the model.
        card: the card.
        gpus: how many of them, tensor parallel.
        engine: one of `ENGINES`. "logical" is the formula alone: no padding, no overhead, and
            the whole card.
        k: precision of the keys, by name; "auto" is the model's own.
        v: precision of the values.
        context: tokens of one sequence.
        concurrency: sequences at once.
        weights_bytes: size of all weights when known; else parameters × bits.
        weights_dtype: precision of the weights where it is not the checkpoint's.
        kv_budget_bytes: bytes for the KV cache per card, where that is set by hand.
        utilisation: vLLM's `gpu_memory_utilization`: weights and activations come out of it.
        activation_bytes: vLLM's activation peak; None takes a preset.
        non_torch_bytes: CUDA context and NCCL; None takes a preset.
        graphs_bytes: CUDA graphs; None takes a preset.
    """

    model: Model
    card: Card
    gpus: int = 1
    engine: str = "logical"
    k: str = "auto"
    v: str = "auto"
    context: int = 2048
    concurrency: int = 1
    weights_bytes: int | None = None
    weights_dtype: str | None = None
    kv_budget_bytes: int | None = None
    utilisation: float = 0.92
    activation_bytes: int | None = None
    non_torch_bytes: int | None = None
    graphs_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
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


@dataclass(frozen=True)
class Answer:
    """What fits.

    Attributes:
        question: what was asked.
        k: precision of the keys.
        v: precision of the values.
        bytes_per_token: the next token's cost at this context, over all cards.
        bytes_per_sequence: one sequence's cost at this context, over all cards.
        constant_bytes_per_sequence: what of it does not grow with the context.
        total_bytes: the cost of all sequences, over all cards.
        per_gpu_bytes_per_token: the same four on the fullest card.
        per_gpu_bytes_per_sequence: see above.
        per_gpu_constant_bytes_per_sequence: see above.
        per_gpu_total_bytes: see above.
        weights_bytes: weights over all cards; None when the parameters are unknown.
        budget: the fullest card's budget.
        fits: the sequences asked for fit.
        max_context: the longest context at this concurrency that memory allows; the model's own
            limit where memory sets none.
        max_concurrency: the most sequences at this context.
        concurrency_ratio: how many times one sequence fits (vLLM's "maximum concurrency").
        formula: the KV formula with its numbers.
        notes: what a reader should know, one sentence each.
    """

    question: Question
    k: _precision.Precision
    v: _precision.Precision
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
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The document that `kvtui plan --json` prints (schema kvtui.plan/1)."""
        question, card, budget = self.question, self.question.card, self.budget
        return {
            "schema": "kvtui.plan/1",
            "model": question.model.name,
            "engine": question.engine,
            "kv": {
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
            "weights_bytes": self.weights_bytes,
            "gpu": {
                "name": card.name,
                "memory_bytes": card.memory_bytes,
                "usable_total_bytes": card.usable_total_bytes,
                "count": question.gpus,
            },
            "budget": {
                "weights_bytes": budget.weights_bytes,
                "overhead_bytes": budget.overhead_bytes,
                "kv_bytes": budget.kv_bytes,
                "outside_bytes": budget.outside_bytes,
            },
            "fits": self.fits,
            "max_context": self.max_context,
            "max_concurrency": self.max_concurrency,
            "concurrency_ratio": self.concurrency_ratio,
            "formula": self.formula,
            "notes": list(self.notes),
        }


def answer(question: Question) -> Answer:
    """Answer it.

    Raises:
        BadValueError: a number that makes no sense; names the field.
        UnknownNameError: an unknown engine or precision.
        PlanError: a precision that this cache cannot have.
    """
    _validate(question)
    model, gpus = question.model, question.gpus
    k, v = _kv.resolve(model, question.k), _kv.resolve(model, question.v)
    ranked = _rank(model, gpus)

    def per_rank(context: int) -> int:
        return _kv.bytes_per_sequence(ranked, k, v, context)

    sequence = per_rank(question.context)
    token = _kv.bytes_per_token(ranked, k, v, question.context)
    total = question.concurrency * sequence
    weights = weights_bytes(question)
    budget = _budget(question, 0 if weights is None else ceil_div(weights, gpus))
    available = budget.kv_bytes
    notes = _notes(question, k, v, weights, budget)
    return Answer(
        question=question,
        k=k,
        v=v,
        bytes_per_token=gpus * token,
        bytes_per_sequence=gpus * sequence,
        constant_bytes_per_sequence=gpus * (sequence - question.context * token),
        total_bytes=gpus * total,
        per_gpu_bytes_per_token=token,
        per_gpu_bytes_per_sequence=sequence,
        per_gpu_constant_bytes_per_sequence=sequence - question.context * token,
        per_gpu_total_bytes=total,
        weights_bytes=weights,
        budget=budget,
        fits=0 <= total <= available,
        max_context=longest_context(
            lambda context: question.concurrency * per_rank(context) <= available,
            unbounded=model.max_context or question.context,
        ),
        max_concurrency=max(available, 0) // sequence if sequence else MAX_SEQUENCES,
        concurrency_ratio=max(available, 0) / sequence if sequence else float(MAX_SEQUENCES),
        formula=_kv.formula(model, k, v, question.context, question.concurrency),
        notes=tuple(notes),
    )


def weights_bytes(question: Question) -> int | None:
    """Bytes of all weights: as given, as measured, or parameters × bits; None when unknown."""
    model = question.model
    if question.weights_bytes is not None:
        return question.weights_bytes
    if question.weights_dtype is None and model.weights_bytes is not None:
        return model.weights_bytes
    if model.params is None:
        return None
    return _precision.parse(question.weights_dtype or model.weights_dtype).bytes(model.params)


def longest_context(fits: Callable[[int], bool], unbounded: int) -> int:
    """The largest number of tokens for which `fits` holds, 0 if none; `fits` is monotone.

    Args:
        fits: whether a context of that many tokens fits.
        unbounded: the answer where memory sets no limit.
    """
    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        low, high = high, high * 2
        if high > MAX_TOKENS:
            return unbounded
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def requested_bytes(total: int, utilisation: float) -> int:
    """What vLLM asks of a card: ceil(total × utilisation), in decimal arithmetic."""
    from fractions import Fraction

    share = Fraction(str(utilisation))
    return ceil_div(total * share.numerator, share.denominator)


def _rank(model: Model, gpus: int) -> Model:
    """The model as one tensor parallel rank stores it: heads divided, replicated when too few."""
    if gpus == 1:
        return model
    from dataclasses import replace

    from .model import Attention, Cross, State

    def share(cache: Any) -> Any:
        if isinstance(cache, Attention | Cross):
            return replace(cache, kv_heads=max(1, cache.kv_heads // gpus))
        if isinstance(cache, State):
            return replace(
                cache,
                channels=ceil_div(cache.channels, gpus),
                elements=ceil_div(cache.elements, gpus),
            )
        return cache

    return replace(
        model, layers=tuple(tuple(share(cache) for cache in layer) for layer in model.layers)
    )


def _budget(question: Question, weights: int) -> Budget:
    card = question.card
    memory = card.memory_bytes
    if question.engine == "vllm":
        requested = requested_bytes(card.engine_total_bytes, question.utilisation)
        terms = (
            (question.activation_bytes, ACTIVATION_BYTES),
            (
                question.non_torch_bytes,
                NON_TORCH_BYTES if question.gpus == 1 else NON_TORCH_NCCL_BYTES,
            ),
            (question.graphs_bytes, GRAPHS_BYTES),
        )
        overhead = sum(preset if given is None else given for given, preset in terms)
        band = OVERHEAD_BAND_BYTES if question.activation_bytes is None else 0
    else:
        requested, overhead, band = memory, 0, 0
    kv_bytes = requested - weights - overhead
    if question.kv_budget_bytes is not None:
        kv_bytes = question.kv_budget_bytes
    return Budget(
        weights_bytes=weights,
        overhead_bytes=overhead,
        kv_bytes=kv_bytes,
        outside_bytes=memory - weights - overhead - kv_bytes,
        overhead_low_bytes=max(overhead - band, 0),
        overhead_high_bytes=overhead + band,
    )


def _notes(
    question: Question,
    k: _precision.Precision,
    v: _precision.Precision,
    weights: int | None,
    budget: Budget,
) -> list[str]:
    model, card, notes = question.model, question.card, []
    if weights is None:
        notes.append(f"{model.name}: parameters unknown, so no weights are counted")
    if budget.kv_bytes < 0:
        notes.append(f"weights and overhead alone miss {gib(-budget.kv_bytes)} on this card")
    elif budget.outside_bytes < 0:
        notes.append(f"the parts exceed the card by {gib(-budget.outside_bytes)}")
    if model.max_context is not None and question.context > model.max_context:
        notes.append(f"{model.name} itself takes {model.max_context:,} tokens at most")
    if question.engine == "vllm" and card.usable_total_bytes is not None:
        notes.append(
            f"the driver shows an engine {gib(card.usable_total_bytes)} of {card.name}'s "
            f"{gib(card.memory_bytes)}"
        )
    if question.engine == "logical":
        notes.append("the formula alone: no engine's padding, overhead or reserve is counted")
    notes.extend(
        f"{precision.name}: {precision.note}"
        for precision in dict.fromkeys((k, v))
        if precision.note
    )
    if not model.verified:
        notes.append(f"{model.name}'s geometry is {model.source}")
    return notes


def _validate(question: Question) -> None:
    if question.engine not in ENGINES:
        raise UnknownNameError(
            "engine", question.engine, ENGINES, listing="known: " + " ".join(ENGINES)
        )
    check("gpus", question.gpus, MAX_CARDS)
    check("context", question.context, MAX_TOKENS)
    check("concurrency", question.concurrency, MAX_SEQUENCES)
    share = question.utilisation
    if not 0 < share <= 1:
        raise BadValueError("utilisation", f"must be above 0 and at most 1, not {share}")
    for field in (
        "weights_bytes",
        "kv_budget_bytes",
        "activation_bytes",
        "non_torch_bytes",
        "graphs_bytes",
    ):
        value = getattr(question, field)
        if value is not None:
            check(field, value, 1 << 60, least=0)
