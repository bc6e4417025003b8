"""The planner's fields: texts become a memory question, and each wrong one its own sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from kvtui.language import tr
from kvtui.memory import cards, catalogue, options, precision
from kvtui.memory import model as models
from kvtui.memory.errors import BadValueError, PlanError, UnknownNameError
from kvtui.memory.model import MAX_TOKENS, Model
from kvtui.memory.plan import ENGINE_ALIASES
from kvtui.memory.question import ENGINES, MAX_CARDS, MAX_SEQUENCES, Question
from kvtui.text import GIB

T = TypeVar("T")

ENGINE_NAMES = {
    "logical": "formula",
    "vllm": "vLLM",
    "llamacpp": "llama.cpp",
    "sglang": "SGLang",
}


@dataclass(frozen=True, slots=True)
class PlannerForm:
    """The fields as typed; an empty one takes what its hint says."""

    model: str = "Llama-3.1-8B"
    heads: str = ""
    weights: str = ""
    card: str = "24 GB"
    gpus: str = "1"
    tp: str = ""
    pp: str = ""
    engine: str = "vllm"
    share: str = ""
    k: str = "auto"
    v: str = ""
    context: str = "2048"
    users: str = "1"
    kv_gib: str = ""


class Field(NamedTuple):
    """One field of the form."""

    name: str
    label: str
    hint: str
    """What it means, and what it means when it is empty."""
    empty: str = ""
    """Shown in the empty field."""


#: The rows of the form; the fields of one tuple share a row.
ROWS: tuple[tuple[Field, ...], ...] = (
    (Field("model", "model", "A name of the catalogue; ⏎ lists them all."),),
    (
        Field(
            "heads",
            "KV heads",
            "Empty: the model's own. Another number shows MHA, GQA or MQA of the same model.",
            "the model's",
        ),
    ),
    (
        Field(
            "weights",
            "weights",
            "Empty: as the checkpoint. A precision (int4) or a size in GiB (14).",
            "as stored",
        ),
    ),
    (Field("card", "card", "A profile, a real card or one of your configuration; ⏎ lists them."),),
    (
        Field("gpus", "cards", "How many cards; what TP and PP do not use are replicas.", "TP×PP"),
        Field("tp", "TP", "Tensor parallel ranks. Empty: all cards (llama.cpp has none).", "all"),
        Field("pp", "PP", "Pipeline stages. Empty: one (llama.cpp: one for each card).", "1"),
    ),
    (Field("engine", "engine", "formula, vllm, llama.cpp or sglang: how the card is divided."),),
    (
        Field(
            "share",
            "share",
            "vLLM's gpu_memory_utilization (empty: 0.92), SGLang's mem_fraction_static.",
            "default",
        ),
    ),
    (
        Field("k", "KV K", "Precision of the keys; auto is the model's own.", "auto"),
        Field("v", "V", "Precision of the values. Empty: as the keys.", "as K"),
    ),
    (Field("context", "context", "Tokens of one sequence; 32k is 32,768."),),
    (Field("users", "users", "Sequences at once."),),
    (
        Field(
            "kv_gib",
            "KV GiB",
            "Empty: worked out. A number sets the cache's room on each card by hand.",
            "worked out",
        ),
    ),
)

FIELDS: dict[str, Field] = {field.name: field for line in ROWS for field in line}

# The question's names of what the form calls otherwise.
_OF_QUESTION = {
    "concurrency": "users",
    "utilisation": "share",
    "mem_fraction_static": "share",
    "kv_heads": "heads",
    "kv_budget_bytes": "kv_gib",
    "weights_bytes": "weights",
    "dp": "gpus",
    "pp": "pp",
    "tp": "tp",
    "context": "context",
    "gpus": "gpus",
    "engine": "engine",
}


class Known(NamedTuple):
    """What names may mean beside the catalogue."""

    own_cards: tuple[cards.Card, ...] = ()
    models: tuple[Model, ...] = ()
    """Of the embedded engine, and of a file that the user named."""


def field_of(error: PlanError) -> str:
    """The form's field that an error is about; empty where it is about several."""
    if isinstance(error, BadValueError):
        return _OF_QUESTION.get(error.field, "")
    if isinstance(error, precision.UnknownPrecisionError):
        return "k"
    return ""


def read_form(form: PlannerForm, known: Known) -> tuple[Question | None, dict[str, str]]:
    """The question that the fields ask, or None and a sentence for each field that is wrong."""
    return _Reader(form, known).read()


class _Reader:
    """Reads field by field, so that one wrong field hides no other."""

    def __init__(self, form: PlannerForm, known: Known) -> None:
        self.form = form
        self.known = known
        self.problems: dict[str, str] = {}

    def read(self) -> tuple[Question | None, dict[str, str]]:
        form = self.form
        engine = self._take("engine", lambda: _engine(form.engine))
        model = self._take("model", lambda: self._model(form.model))
        if model is not None and form.heads.strip():
            model = self._take("heads", partial(self._with_heads, model))
        card = self._take("card", lambda: _card(form.card, self.known.own_cards))
        weights = self._take("weights", lambda: _weights(form.weights))
        counts = {name: self._count(name) for name in ("gpus", "tp", "pp")}
        k = self._take("k", lambda: _precision(form.k))
        v = self._take("v", lambda: _precision(form.v or form.k))
        context = self._take(
            "context",
            lambda: options.whole(
                "context", _given(form.context, "context"), 1, MAX_TOKENS, thousands=True
            ),
        )
        users = self._take(
            "users", lambda: options.whole("users", _given(form.users, "users"), 1, MAX_SEQUENCES)
        )
        kv_bytes = self._take("kv_gib", lambda: _gib("KV GiB", form.kv_gib))
        share = self._take("share", lambda: _share(form.share))
        if model is None or card is None or engine is None or weights is None:
            return None, self.problems
        if context is None or users is None or self.problems:
            return None, self.problems
        size, dtype = weights
        if size is None and dtype is None:
            # "…-FP8" or "…-AWQ" names the checkpoint's precision.
            matched = catalogue.match(form.model)
            dtype = None if matched is None else matched.weights_dtype
        try:
            split = _split(engine, counts["gpus"], counts["tp"], counts["pp"])
        except BadValueError as error:
            return None, {error.field: error.problem}
        question = Question(
            model=model,
            card=card,
            engine=engine,
            k=k or "auto",
            v=v or "auto",
            context=context,
            concurrency=users,
            weights_bytes=size,
            weights_dtype=dtype,
            kv_budget_bytes=kv_bytes,
            gpus=split.gpus,
            tp=split.tp,
            pp=split.pp,
            dp=split.dp,
        )
        if share is not None and engine == "vllm":
            question = replace(question, utilisation=share)
        elif share is not None and engine == "sglang":
            question = replace(question, mem_fraction_static=share)
        return question, {}

    def _take(self, name: str, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except PlanError as error:
            self.problems[name] = str(error)
            return None

    def _count(self, name: str) -> int | None:
        text = getattr(self.form, name).strip()
        if not text:
            return None
        label = FIELDS[name].label
        return self._take(name, lambda: options.whole(label, text, 1, MAX_CARDS))

    def _model(self, text: str) -> Model:
        for model in self.known.models:
            if text.strip().casefold() == model.name.casefold():
                return model
        return catalogue.find(_given(text, "model"))

    def _with_heads(self, model: Model) -> Model:
        heads = options.whole("KV heads", self.form.heads, 1, models.MAX_HEADS)
        return model if heads == model.kv_heads else models.with_heads(model, heads)


class _Split(NamedTuple):
    gpus: int | None
    tp: int | None
    pp: int
    dp: int = 1


def _split(engine: str, gpus: int | None, tp: int | None, pp: int | None) -> _Split:
    """How cards, TP and PP multiply up; cards that they leave over are replicas."""
    if engine == "llamacpp":
        if (tp or 1) > 1:
            raise BadValueError(
                "tp", tr("TP: llama.cpp gives each card some of the layers; leave TP empty")
            )
        if pp is not None and gpus is not None and gpus % pp:
            raise BadValueError(
                "gpus", tr("{gpus} cards cannot be shared by {pp} stages", gpus=gpus, pp=pp)
            )
        stages = pp or gpus or 1
        return _Split(gpus or stages, None, stages, (gpus or stages) // stages)
    stages = pp or 1
    ranks = tp or (1 if gpus is None else max(gpus // stages, 1))
    cards_ = ranks * stages if gpus is None else gpus
    if cards_ % (ranks * stages):
        raise BadValueError(
            "gpus",
            tr(
                "{cards} cards cannot be shared by TP {ranks} × PP {stages}",
                cards=cards_,
                ranks=ranks,
                stages=stages,
            ),
        )
    return _Split(cards_, ranks, stages, cards_ // (ranks * stages))


def _given(text: str, name: str) -> str:
    if not text.strip():
        raise BadValueError(name, "is empty")
    return text.strip()


def _engine(text: str) -> str:
    name = _given(text, "engine").casefold()
    name = ENGINE_ALIASES.get(name, name)
    if name not in ENGINES:
        raise UnknownNameError(
            "engine", text, [*ENGINES, *ENGINE_ALIASES], listing="formula vllm llama.cpp sglang"
        )
    return name


def _card(text: str, own: Sequence[cards.Card]) -> cards.Card:
    return cards.find(_given(text, "card"), own)


def _precision(text: str) -> str:
    name = text.strip() or "auto"
    return "auto" if name.casefold() == "auto" else precision.parse(name).name


def _weights(text: str) -> tuple[int | None, str | None]:
    """Size in bytes or precision: one of the two, or neither."""
    text = text.strip()
    if not text:
        return None, None
    number = text.casefold().removesuffix("gib").strip()
    if number[:1].isdigit() or number[:1] in "+-.":
        return _gib("weights", number), None
    return None, precision.parse(text).name


def _gib(label: str, text: str) -> int | None:
    text = text.strip().casefold().removesuffix("gib").strip()
    if not text:
        return None
    return math.floor(options.number(label, text, least=0, limit=options.MAX_GIB) * GIB)


def _share(text: str) -> float | None:
    if not text.strip():
        return None
    return options.number("share", text.strip(), least=0, limit=1, above=True)
