"""An answer as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from .budget import Answer
from .flags import flags
from .need import Choice
from .units import gib

_WIDTH = 18


def render_text(told: Answer, choices: Sequence[Choice] = ()) -> str:
    """The answer, a line for each figure, units and formulas beside them.

    Args:
        told: the answer.
        choices: cards that would hold the need, smallest first; the first three are shown.
    """
    question, budget, split = told.question, told.budget, told.split
    cards = split.cards
    precision = told.k.name if told.k == told.v else f"{told.k.name} / {told.v.name}"
    many = f"{question.concurrency:,} × {question.context:,} tokens"
    lines = [
        f"{question.model.name} · {_engine(told)} · KV {precision} · "
        f"{cards} × {question.card.name} ({gib(question.card.memory_bytes)})",
        "",
        _row("per token", f"{told.bytes_per_token:,} B"),
        _row("per sequence", f"{gib(told.bytes_per_sequence)} of {question.context:,} tokens"),
    ]
    if told.constant_bytes_per_sequence:
        lines.append(_row("of it constant", gib(told.constant_bytes_per_sequence)))
    lines.append(_row("KV in all", f"{gib(told.total_bytes)} for {many}"))
    if cards > 1:
        lines.append(_row("KV per card", gib(told.per_gpu_total_bytes)))
    lines += ["", f"Budget of {'each card' if cards > 1 else 'the card'}:"]
    spread = ""
    if budget.overhead_high_bytes > budget.overhead_bytes:
        spread = f"  ({gib(budget.overhead_low_bytes)} to {gib(budget.overhead_high_bytes)})"
    weights = "unknown" if told.weights_bytes is None else gib(budget.weights_bytes)
    lines += [
        _row("  weights", weights, told.weights_formula if told.weights_bytes else ""),
        _row("  overhead", gib(budget.overhead_bytes) + spread),
        _row("  KV cache", gib(budget.kv_bytes)),
        _row("  outside", gib(budget.outside_bytes)),
        "",
        _row("fits", _verdict(told)),
        _row("longest context", f"{told.max_context:,} tokens for {question.concurrency:,}"),
        _row(
            "most sequences",
            f"{told.max_concurrency:,} of {question.context:,} tokens "
            f"({told.concurrency_ratio:,.2f} ×)",
        ),
    ]
    if told.bounds:
        shown = ", ".join(
            f"{bound.tokens_per_s:,.0f} at {bound.batch}" for bound in told.bounds[::2]
        )
        lines.append(_row("decode at most", f"{shown} (tokens/s by bandwidth, an upper bound)"))
    if choices:
        shown = ", ".join(f"{item.number} × {item.card.name}" for item in choices[:3])
        lines.append(_row("smallest cards", shown))
    lines += ["", f"formula  {told.formula}", f"budget   {told.overhead_formula}"]
    command = flags(told, question.engine)
    if command:
        lines.append(f"flags    {command}")
    lines += [f"note     {note}" for note in told.notes]
    return "\n".join(lines)


def _engine(told: Answer) -> str:
    question = told.question
    if question.engine == "vllm":
        return f"vLLM {question.utilisation:g}"
    return {"llamacpp": "llama.cpp", "sglang": "SGLang", "logical": "formula"}[question.engine]


def _verdict(told: Answer) -> str:
    need, have = told.per_gpu_total_bytes, told.budget.kv_bytes
    word = "yes" if told.fits else "no"
    unknown = "" if told.weights_bytes is not None else ", weights not counted"
    return f"{word}: {gib(need)} needed of {gib(have)} per card{unknown}"


def _row(label: str, figure: str, beside: str = "") -> str:
    text = f"{label:<{_WIDTH}}{figure}"
    return f"{text}  {beside}" if beside else text
