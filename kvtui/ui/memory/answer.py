"""The answer to a memory question as the frozen state that pane 2 draws."""

from __future__ import annotations

from dataclasses import replace

from kvtui.language import tr
from kvtui.memory import budget, kv, precision
from kvtui.memory import model as models
from kvtui.ui.state import BarPart, MemoryState, Rung, VariantRow

TABLE_PRECISIONS = ("fp16", "fp8", "int8", "int4")
LADDER = (
    (4_096, "4k"),
    (8_192, "8k"),
    (16_384, "16k"),
    (32_768, "32k"),
    (65_536, "64k"),
    (131_072, "128k"),
)


def describe(question: budget.Question, told: budget.Answer, *, as_if: bool) -> MemoryState:
    """The answer to a question as pane 2 shows it while no token is there.

    A question to the bare formula is that of the embedded engine, which runs on no card.
    """
    model, part = question.model, told.budget
    own = question.engine == "logical"
    outside = _left_alone(question) if question.engine == "vllm" else ""
    free = max(0, part.kv_bytes)
    return MemoryState(
        ready=True,
        card=question.card.name,
        card_bytes=question.card.memory_bytes,
        model=model.name,
        weights="" if own else question.weights_dtype or model.weights_dtype,
        kv_dtype=told.k.name,
        engine=_engine(question),
        as_if=as_if,
        users=question.concurrency,
        parts=(
            BarPart("weights", part.weights_bytes, "weights", "▓"),
            BarPart("overhead", part.overhead_bytes, "overhead", "▚"),
            BarPart("KV in use", 0, "used", "█"),
            BarPart("KV free", free, "free", "░"),
            BarPart("unused", max(0, part.outside_bytes), "outside", "·", outside),
        ),
        fits=told.fits,
        reserved_tokens=question.context * question.concurrency,
        free_tokens=None,
        bytes_per_token=told.bytes_per_token,
        constant_bytes=told.constant_bytes_per_sequence,
        max_context=told.max_context,
        model_context=model.max_context,
        max_requests=told.max_concurrency,
        context=question.context,
        variants=_variants(question, columns(told.k)),
        precisions=columns(told.k),
        ladder=tuple(_rung(question, size, label) for size, label in LADDER),
        formula=told.formula,
        notes=told.notes if question.engine == "vllm" else (),
    )


def _engine(question: budget.Question) -> str:
    if question.engine == "vllm":
        return f"vLLM {question.utilisation:g}"
    return "llama.cpp" if question.engine == "llamacpp" else ""


def _left_alone(question: budget.Question) -> str:
    """Who leaves a part of the card alone: vLLM's fraction, and a driver that shows less of it."""
    assert question.card is not None
    share = f"{1 - question.utilisation:.0%}".replace("%", " %")
    hidden = question.card.usable_total_bytes not in (None, question.card.memory_bytes)
    return f"vLLM {share}" + (f" + {tr('driver')}" if hidden else "")


def without_answer(question: budget.Question, problem: str) -> MemoryState:
    """Why there is none."""
    assert question.card is not None
    return MemoryState(
        ready=True,
        problem=problem,
        card=question.card.name,
        card_bytes=question.card.memory_bytes,
        model=question.model.name,
    )


def with_tokens(
    still: MemoryState,
    question: budget.Question,
    budget_kv: int,
    live_tokens: int,
    *,
    cache_off: bool,
) -> MemoryState:
    """The state while each sequence holds so many tokens; ``budget_kv`` bytes are the cache's."""
    sequences = question.concurrency
    used = kv.kv_bytes(question.model, question.k, question.v, [live_tokens]) * sequences
    free = max(0, budget_kv - used)
    sizes = {"used": used, "free": free}  # used also where there is no room for it
    return replace(
        still,
        parts=tuple(replace(part, size=sizes.get(part.role, part.size)) for part in still.parts),
        live_tokens=live_tokens * sequences,
        cache_off=cache_off,
        used_bytes=used,
        free_tokens=free // still.bytes_per_token if still.bytes_per_token else None,
    )


def _rung(question: budget.Question, size: int, label: str) -> Rung:
    told = budget.answer(replace(question, context=size))
    limit = question.model.max_context
    return Rung(
        label,
        told.fits,
        over_model=limit is not None and size > limit,
        sequence_bytes=told.bytes_per_sequence,
        most=told.max_concurrency,
    )


def _variants(question: budget.Question, names: tuple[str, ...]) -> tuple[VariantRow, ...]:
    rows = []
    for label, heads, variant in models.head_variants(question.model):
        sizes = tuple(
            kv.bytes_per_sequence(variant, name, name, question.context) for name in names
        )
        rows.append(VariantRow(label, heads, sizes, heads == question.model.kv_heads))
    return tuple(rows)


def columns(used: precision.Precision) -> tuple[str, ...]:
    """The table's precisions: the one in force always among them, the largest first, four in all.

    bf16 stands in for fp16, which takes the same; any other for int8, which takes what fp8 takes.
    """
    if used.name in TABLE_PRECISIONS:
        return TABLE_PRECISIONS
    gone = "fp16" if used.name == "bf16" else "int8"
    names = [used.name, *(name for name in TABLE_PRECISIONS if name != gone)]
    return tuple(sorted(names, key=lambda name: -precision.parse(name).bits))
