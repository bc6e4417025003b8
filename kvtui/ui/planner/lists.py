"""What a field's list offers: value, name, remark."""

from __future__ import annotations

from dataclasses import replace

from kvtui.language import later, tr
from kvtui.memory import budget, cards, precision
from kvtui.memory import model as models
from kvtui.memory.errors import PlanError
from kvtui.memory.question import Question
from kvtui.text import one_line
from kvtui.ui.memory import model_choices

from .answer import PlannerState
from .form import ENGINE_NAMES, Known

_CONTEXTS = tuple(1024 << step for step in range(1, 11))
_USERS = (1, 2, 4, 8, 10, 16, 32, 64, 128, 256, 512)
_COUNTS = (1, 2, 4, 8, 16)
_WEIGHTS = ("fp16", "bf16", "fp8", "int8", "int4", "nvfp4", "q8_0", "q6_k", "q5_k", "q4_k")
_SHARES = ("0.80", "0.85", "0.90", "0.92", "0.95")
_ENGINES = {
    "logical": later("the formula alone, and the whole card"),
    "vllm": later("blocks, activations, CUDA graphs, 0.92 of the card"),
    "llamacpp": later("padded cells, compute buffer; cards share the layers"),
    "sglang": later("a static fraction of the card"),
}

Item = tuple[str, str, str]


def choices(name: str, state: PlannerState, known: Known) -> list[Item]:
    """The list of a field."""
    if name == "model":
        return [*((own.name, own.name, own.source) for own in known.models), *model_choices()]
    if name == "card":
        return [
            (card.name, card.name, f"{card.memory_bytes / (1 << 30):,.2f} GiB")
            for card in cards.search("", known.own_cards)
        ]
    if name == "engine":
        return [(ENGINE_NAMES[each], ENGINE_NAMES[each], text) for each, text in _ENGINES.items()]
    if name in ("k", "v"):
        empty = (
            ("auto", "auto", tr("the model's own")) if name == "k" else ("", tr("as the keys"), "")
        )
        return [empty, *((each, each, _bits(each)) for each in precision.KV_NAMES)]
    if name in ("context", "users"):
        return _lengths(name, state)
    if name == "weights":
        sized = [(each, each, _bits(each)) for each in _WEIGHTS]
        return [("", tr("as the checkpoint stores them"), ""), *sized]
    if name == "heads":
        return _heads(state)
    if name == "share":
        return [("", tr("the engine's default"), ""), *((each, each, "") for each in _SHARES)]
    if name == "kv_gib":
        return [
            ("", tr("worked out"), ""),
            *((f"{each}", f"{each} GiB", "") for each in (4, 8, 16, 32)),
        ]
    first = (
        [] if name == "gpus" else [("", tr("all cards") if name == "tp" else tr("one stage"), "")]
    )
    return [*first, *((f"{each}", f"{each}", "") for each in _COUNTS)]


def current(name: str, state: PlannerState, known: Known) -> str:
    """The value of the list that the field holds now."""
    text: str = getattr(state.form, name).strip()
    told = state.told
    if told is None or state.problem(name):
        return text
    if name == "card":
        return told.question.card.name
    if name == "model" and not state.form.heads.strip():
        model = told.question.model
        return model.name if model in known.models else model.id
    if name == "engine":
        return ENGINE_NAMES[told.question.engine]
    if name == "context":
        return str(told.question.context)
    return text


def matches(name: str, state: PlannerState, known: Known, most: int = 6) -> tuple[str, ...]:
    """Names that hold what is typed into the model's or the card's field; none when it is one."""
    if name not in ("model", "card"):
        return ()
    words = getattr(state.form, name).casefold().split()
    if not words or not state.problem(name):
        return ()
    found = [
        label
        for _, label, _ in choices(name, state, known)
        if all(word in label.casefold() for word in words)
    ]
    found = list(dict.fromkeys(reversed(found)))[::-1]  # one's own may be of the catalogue, too
    shown = found[:most]
    return (*(one_line(item, 40) for item in shown), *(("…",) if len(found) > most else ()))


def _bits(name: str) -> str:
    item = precision.PRECISIONS[name]
    return tr("{bits:g} bits", bits=8 * item.block_bytes / item.block_elements) + (
        tr(" + {head_bytes} B a head", head_bytes=item.head_bytes) if item.head_bytes else ""
    )


def _lengths(name: str, state: PlannerState) -> list[Item]:
    """Usual contexts or numbers of users, and whether they fit."""
    told = state.told
    values = _CONTEXTS if name == "context" else _USERS
    remarks = [""] * len(values)
    if told is not None and not state.stale:
        for at, value in enumerate(values):
            try:
                fits = budget.fits(_at(told.question, name, value))
            except PlanError:
                continue
            remarks[at] = tr("✓ fits") if fits else tr("✗ does not fit")
    return [
        (str(value), f"{value:,}", remark) for value, remark in zip(values, remarks, strict=True)
    ]


def _at(question: Question, name: str, value: int) -> Question:
    if name == "context":
        return replace(question, context=value)
    return replace(question, concurrency=value)


def _heads(state: PlannerState) -> list[Item]:
    listed = [("", tr("the model's own"), "")]
    if state.told is not None:
        listed += [
            (str(heads), f"{label}: {heads}", "")
            for label, heads, _ in models.head_variants(state.told.question.model)
        ]
    return listed
