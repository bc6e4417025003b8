"""An answer as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.language import tr
from kvtui.text import padded

from .budget import Answer
from .flags import fewer, that_fit
from .need import Choice
from .units import gib

_WIDTH = 18
_TAIL = 9


def render_text(told: Answer, choices: Sequence[Choice] = ()) -> str:
    """The answer, a line for each figure, units and formulas beside them.

    Args:
        told: the answer.
        choices: cards that would hold the need, smallest first; the first three are shown.
    """
    question, budget, split = told.question, told.budget, told.split
    cards = split.cards
    precision = told.k.name if told.k == told.v else f"{told.k.name} / {told.v.name}"
    many = tr("{users:,} × {n:,} tokens", users=question.concurrency, n=question.context)
    lines = [
        f"{question.model.name} · {_engine(told)} · KV {precision} · "
        f"{cards} × {question.card.name} ({gib(question.card.memory_bytes)})",
        "",
        _row(tr("per token"), f"{told.bytes_per_token:,} B"),
        _row(
            tr("per sequence"),
            tr("{size} of {n:,} tokens", size=gib(told.bytes_per_sequence), n=question.context),
        ),
    ]
    if told.constant_bytes_per_sequence:
        lines.append(_row(tr("of it constant"), gib(told.constant_bytes_per_sequence)))
    lines.append(
        _row(tr("KV in all"), tr("{size} for {many}", size=gib(told.total_bytes), many=many))
    )
    if cards > 1:
        lines.append(_row(tr("KV per card"), gib(told.per_gpu_total_bytes)))
    lines += ["", tr("Budget of each card:") if cards > 1 else tr("Budget of the card:")]
    spread = ""
    if budget.overhead_high_bytes > budget.overhead_bytes:
        spread = tr(
            "  ({low} to {high})",
            low=gib(budget.overhead_low_bytes),
            high=gib(budget.overhead_high_bytes),
        )
    weights = tr("unknown") if told.weights_bytes is None else gib(budget.weights_bytes)
    lines += [
        _row("  " + tr("weights"), weights, told.weights_formula if told.weights_bytes else ""),
        _row("  " + tr("overhead"), gib(budget.overhead_bytes) + spread),
        _row("  " + tr("KV cache"), gib(budget.kv_bytes)),
        _row("  " + tr("unused"), gib(budget.outside_bytes)),
        "",
        _row(tr("fits"), _verdict(told)),
        _row(
            tr("longest context"),
            _longest(told),
        ),
        _row(
            tr("most sequences"),
            tr(
                "{most:,} of {n:,} tokens ({ratio:,.2f} ×)",
                most=told.max_concurrency,
                n=question.context,
                ratio=told.concurrency_ratio,
            ),
        ),
    ]
    if told.bounds:
        shown = ", ".join(
            tr("{tps:,.0f} at {batch}", tps=bound.tokens_per_s, batch=bound.batch)
            for bound in told.bounds[::2]
        )
        lines.append(
            _row(
                tr("decode at most"),
                tr("{shown} (tokens/s by bandwidth, an upper bound)", shown=shown),
            )
        )
    if choices:
        shown = ", ".join(f"{item.number} × {item.card.name}" for item in choices[:3])
        lines.append(_row(tr("smallest cards"), shown))
    lines += ["", _tail(tr("formula"), told.formula), _tail(tr("budget"), told.overhead_formula)]
    if question.engine != "logical":
        lines.append(_tail(tr("flags"), _flags(told)))
    lines += [_tail(tr("note"), note) for note in told.notes]
    return "\n".join(lines)


def _longest(told: Answer) -> str:
    """What memory allows, and the model's own limit where that is shorter."""
    n, users, limit = told.max_context, told.question.concurrency, told.beyond_model
    if limit is None:
        return tr("{n:,} tokens for {users:,}", n=n, users=users)
    return tr(
        "{n:,} tokens fit for {users:,}, the model has {limit:,}", n=n, users=users, limit=limit
    )


def _flags(told: Answer) -> str:
    """The flags for what was asked, else for as many of its sequences as fit."""
    fitting = that_fit(told, told.question.engine)
    if not fitting.text:
        return tr("none: not one sequence of {n:,} tokens fits", n=told.question.context)
    return fitting.text if told.fits else f"{fitting.text}  {fewer(fitting)}"


def _engine(told: Answer) -> str:
    question = told.question
    if question.engine == "vllm":
        return f"vLLM {question.utilisation:g}"
    return {"llamacpp": "llama.cpp", "sglang": "SGLang", "logical": tr("formula")}[question.engine]


def _verdict(told: Answer) -> str:
    need, have = told.per_gpu_total_bytes, told.budget.kv_bytes
    word = tr("yes") if told.fits else tr("no")
    unknown = "" if told.weights_bytes is not None else tr(", weights not counted")
    return tr(
        "{word}: {need} needed of {have} per card{unknown}",
        word=word,
        need=gib(need),
        have=gib(have),
        unknown=unknown,
    )


def _row(label: str, figure: str, beside: str = "") -> str:
    text = padded(label, _WIDTH) + figure
    return f"{text}  {beside}" if beside else text


def _tail(label: str, text: str) -> str:
    return padded(label, _TAIL) + text
