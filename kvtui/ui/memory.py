"""The memory question behind pane 2: choices in, a frozen ``MemoryState`` out.

The answer is worked out only when a choice changes; a frame only adds the live tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kvtui.memory import budget, cards, catalogue, kv, precision
from kvtui.memory import model as models
from kvtui.memory.errors import PlanError
from kvtui.memory.model import Model
from kvtui.text import one_line
from kvtui.ui.state import BarPart, MemoryState, Rung, VariantRow, is_demo

if TYPE_CHECKING:
    from pathlib import Path

    from kvtui.config import OwnCard
    from kvtui.engine.geometry import EngineGeometry
    from kvtui.ui.ports import PreparedLike

DEFAULT_CARD = "24GB"
DEFAULT_MODEL = "Llama-3.1-8B"
DEFAULT_CONTEXT = 2048
CONTEXTS = (2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
USERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
PRECISIONS = ("auto", "fp16", "fp8", "int8", "int4", "nvfp4", "q8_0", "q4_0")
WEIGHTS: tuple[str | None, ...] = (None, "fp8", "int4")
TABLE_PRECISIONS = ("fp16", "fp8", "int8", "int4")
LADDER = (
    (4_096, "4k"),
    (8_192, "8k"),
    (16_384, "16k"),
    (32_768, "32k"),
    (65_536, "64k"),
    (131_072, "128k"),
)


class MemoryView:
    """What is asked of the card, and the last answer."""

    def __init__(self, own_cards: Sequence[cards.Card] = ()) -> None:
        self.own_cards = tuple(own_cards)
        self.card = cards.find(DEFAULT_CARD, self.own_cards)
        self.catalogue_model = catalogue.find(DEFAULT_MODEL)
        self.own: Model | None = None
        """The embedded engine's own model; None for other endpoints."""
        self.as_if = True
        self.named = False
        """The user named the catalogue model: no match takes its place."""
        self.server_context: int | None = None
        self.matched = ""
        """How the endpoint's model was recognised; empty where it was not."""
        self.known = False
        """Who answers is known: its model is the one shown."""
        self.weights_dtype: str | None = None
        self.kv_dtype = "auto"
        self._contexts: dict[bool, int | None] = {}
        self._users: dict[bool, int] = {}
        """Both of the engine's own model (True) and of the catalogue's: neither is the other's."""
        self._still: MemoryState | None = None
        self._question: budget.Question | None = None
        self._served: tuple[Model, str | None] | None = None
        """The model that the endpoint serves and the precision of its weights, where known."""
        self._budget_kv = 0

    # --- choices --------------------------------------------------------------------------------

    @property
    def context(self) -> int | None:
        """Tokens reserved for each sequence of the model shown; None is its own figure."""
        return self._contexts.get(self.shows_own)

    @context.setter
    def context(self, size: int | None) -> None:
        for key in self._concerned:
            self._contexts[key] = size
        self._still = None

    @property
    def users(self) -> int:
        """Sequences at once of the model shown."""
        return self._users.get(self.shows_own, 1)

    @users.setter
    def users(self, count: int) -> None:
        for key in self._concerned:
            self._users[key] = count
        self._still = None

    @property
    def _concerned(self) -> tuple[bool, ...]:
        """What is asked for before it is known who answers holds for both."""
        return (self.shows_own,) if self.known else (False, True)

    def choose_card(self, name: str) -> None:
        """Take a card by name.

        Raises:
            PlanError: no such card; one sentence with the nearest names.
        """
        self.card = cards.find(name, self.own_cards)
        self._still = None

    def choose_model(self, name: str) -> None:
        """Take a catalogue model by name; it is shown as if the tokens ran on it.

        Raises:
            PlanError: no such model.
        """
        self._take(catalogue.find(name))

    def read_config(self, path: Path) -> None:
        """Take the model that a Hugging Face ``config.json`` describes.

        Raises:
            PlanError: it cannot be read, or is of no known architecture.
        """
        from kvtui.memory.hf_config import read_config

        self._take(read_config(path))

    def read_gguf(self, path: Path) -> None:
        """Take the model of a GGUF file's header.

        Raises:
            PlanError: it cannot be read, or is no GGUF file.
        """
        from kvtui.memory.gguf_model import read_gguf

        self._take(read_gguf(path))

    def _take(self, model: Model) -> None:
        """The model that the user named: whatever the endpoint says, it stays."""
        self.catalogue_model = model
        self.weights_dtype = None
        self.named = True
        self.as_if = True
        self._still = None

    def recognise(self, model_id: str) -> None:
        """Match an endpoint's model id with the catalogue; without a match nothing changes."""
        found = catalogue.match(model_id)
        self._served = None
        if found is None:
            return
        self.catalogue_model = found.model
        self.weights_dtype = found.weights_dtype
        self._served = (found.model, found.weights_dtype)
        self.matched = found.how
        self.as_if = False
        self._still = None

    def introduce(self, prepared: PreparedLike) -> None:
        """Take over the model that answers: the engine's own geometry, or a catalogue match."""
        geometry = prepared.engine_geometry
        self.known = True
        self.server_context = prepared.context
        # The engine's first model: the one asked may be a failure on demand, which has no memory.
        names = (*prepared.models, prepared.model or "")
        name = next((name for name in names if name and not is_demo(name)), "embedded model")
        self.set_own(None if geometry is None else own_model(geometry, name))
        self._served = None
        if geometry is not None:
            return
        if self.named:
            self.as_if = False  # the user says that this is what the endpoint serves
            self._served = (self.catalogue_model, None)
        elif prepared.endpoint.architecture:
            self.catalogue_model = catalogue.find(prepared.endpoint.architecture)
            self.matched, self.as_if = "as the profile says", False
            self._served = (self.catalogue_model, None)
        elif prepared.model:
            self.recognise(prepared.model)

    def forget_endpoint(self) -> None:
        """Another one is going to answer: what this one said of its model is no more."""
        self.matched, self.server_context = "", None
        self.set_own(None)

    def set_own(self, own: Model | None) -> None:
        """The embedded engine's model is known now, and shown."""
        self.own = own
        self.as_if = own is None and not self.matched
        self._still = None

    def toggle_as_if(self) -> bool:
        """Change between the endpoint's own model and the catalogue's; False if there is no own."""
        if self.own is None:
            return False
        self.as_if = not self.as_if
        self._still = None
        return True

    def choose_precision(self, name: str) -> None:
        """Take a precision of the KV cache ("auto" is the model's own).

        Raises:
            PlanError: unknown, or none that this cache can be stored in.
        """
        if name != "auto":
            kv.resolve(self.model, name)
        self.kv_dtype = name
        self._still = None

    def next_precision(self) -> None:
        """The next precision that this model's cache can be stored in."""
        at = PRECISIONS.index(self.kv_dtype) if self.kv_dtype in PRECISIONS else 0
        for step in range(1, len(PRECISIONS) + 1):
            try:
                self.choose_precision(PRECISIONS[(at + step) % len(PRECISIONS)])
            except PlanError:
                continue
            return

    def next_weights(self) -> None:
        """The next precision of the weights; None is the checkpoint's."""
        at = WEIGHTS.index(self.weights_dtype) if self.weights_dtype in WEIGHTS else 0
        self.weights_dtype = WEIGHTS[(at + 1) % len(WEIGHTS)]
        self._still = None

    def choose_weights(self, name: str | None) -> None:
        """Take a precision of the weights; None is the checkpoint's."""
        self.weights_dtype = name
        self._still = None

    def next_context(self) -> None:
        """The next longer context that the model takes, then the shortest."""
        now = self._context()
        sizes = contexts_of(self.model.max_context)
        self.context = next((size for size in sizes if size > now), sizes[0])

    def next_users(self) -> None:
        """The next larger number of sequences, then one."""
        self.users = next((count for count in USERS if count > self.users), USERS[0])

    @property
    def model(self) -> Model:
        """The model whose memory is shown."""
        return self.own if self.own is not None and not self.as_if else self.catalogue_model

    @property
    def shows_own(self) -> bool:
        """The embedded engine's own figures are shown."""
        return self.own is not None and not self.as_if

    @property
    def question(self) -> budget.Question | None:
        """What the state shown answers; None before there is one, or where it has no answer."""
        return self._question

    @property
    def served(self) -> budget.Question | None:
        """The question of the model that the endpoint serves, its cache as it comes.

        None where the model is not known, and of the embedded engine, which runs on no card.
        """
        if self._served is None:
            return None
        model, weights_dtype = self._served
        return budget.Question(model, self.card, engine="vllm", weights_dtype=weights_dtype)

    # --- the state ------------------------------------------------------------------------------

    def state(self, live_tokens: int = 0, *, cached: bool = True, kept: bool = True) -> MemoryState:
        """What pane 2 draws for a stream that holds ``live_tokens`` (prompt and answer).

        Without the cache (``cached`` False) the engine's own model keeps nothing at all; of a run
        that went without it (``kept`` False) nothing is left when it is on again.
        """
        still = self._still or self._answer()
        question = self._question
        if question is None:
            return still
        cache_off = self.shows_own and not cached
        if self.shows_own and not (cached and kept):
            live_tokens = 0
        sequences = self.users
        used = kv.kv_bytes(question.model, question.k, question.v, [live_tokens]) * sequences
        parts = tuple(
            replace(part, size=used)  # what the tokens take, also where there is no room for it
            if part.role == "used"
            else (
                replace(part, size=max(0, self._budget_kv - used)) if part.role == "free" else part
            )
            for part in still.parts
        )
        free = max(0, self._budget_kv - used)
        return replace(
            still,
            parts=parts,
            live_tokens=live_tokens * sequences,
            cache_off=cache_off,
            used_bytes=used,
            free_tokens=free // still.bytes_per_token if still.bytes_per_token else None,
        )

    def _context(self) -> int:
        if self.context is not None:
            return self.context
        if self.shows_own and self.own is not None and self.own.max_context:
            return self.own.max_context
        if not self.as_if and self.server_context:
            return self.server_context
        return DEFAULT_CONTEXT

    def _answer(self) -> MemoryState:
        model = self.model
        engine = "logical" if self.shows_own else "vllm"
        question = budget.Question(
            model=model,
            card=self.card,
            engine=engine,
            k=self.kv_dtype,
            v=self.kv_dtype,
            context=self._context(),
            concurrency=self.users,
            weights_dtype=None if self.shows_own else self.weights_dtype,
        )
        try:
            told = budget.answer(question)
        except PlanError as error:
            if self.kv_dtype != "auto":
                self.kv_dtype = "auto"  # a precision of the model shown before
                return self._answer()
            self._question = None
            self._still = MemoryState(
                ready=True,
                problem=str(error),
                card=self.card.name,
                card_bytes=self.card.memory_bytes,
                model=model.name,
            )
            return self._still
        self._question = question
        self._budget_kv = told.budget.kv_bytes
        self._still = self._describe(question, told)
        return self._still

    def _describe(self, question: budget.Question, told: budget.Answer) -> MemoryState:
        model, part = question.model, told.budget
        outside = f"1 − {question.utilisation:g}" if question.engine == "vllm" else ""
        free = max(0, part.kv_bytes)
        return MemoryState(
            ready=True,
            card=self.card.name,
            card_bytes=self.card.memory_bytes,
            model=model.name,
            weights="" if self.shows_own else question.weights_dtype or model.weights_dtype,
            kv_dtype=told.k.name,
            engine=f"vLLM {question.utilisation:g}" if question.engine == "vllm" else "",
            as_if=self.as_if,
            users=question.concurrency,
            parts=(
                BarPart("weights", part.weights_bytes, "weights", "▓"),
                BarPart("overhead", part.overhead_bytes, "overhead", "▚"),
                BarPart("KV in use", 0, "used", "█"),
                BarPart("KV free", free, "free", "░"),
                BarPart("outside", max(0, part.outside_bytes), "outside", "·", outside),
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
            variants=self._variants(question, columns(told.k)),
            precisions=columns(told.k),
            ladder=tuple(self._rung(question, size, label) for size, label in LADDER),
            formula=told.formula,
            notes=told.notes if question.engine == "vllm" else (),
        )

    def _rung(self, question: budget.Question, size: int, label: str) -> Rung:
        told = budget.answer(replace(question, context=size))
        limit = question.model.max_context
        return Rung(
            label,
            told.fits,
            over_model=limit is not None and size > limit,
            sequence_bytes=told.bytes_per_sequence,
            most=told.max_concurrency,
        )

    def _variants(
        self, question: budget.Question, names: tuple[str, ...]
    ) -> tuple[VariantRow, ...]:
        rows = []
        for label, heads, variant in models.head_variants(question.model):
            sizes = tuple(
                kv.bytes_per_sequence(variant, name, name, question.context) for name in names
            )
            rows.append(VariantRow(label, heads, sizes, heads == question.model.kv_heads))
        return tuple(rows)


def contexts_of(limit: int | None) -> tuple[int, ...]:
    """The contexts that ``c`` offers: none beyond the model's own limit, and that one too."""
    if limit is None:
        return CONTEXTS
    below = tuple(size for size in CONTEXTS if size < limit)
    if limit > CONTEXTS[-1]:
        return below
    return (*(below or tuple(max(1, limit // part) for part in (8, 4, 2))), limit)


def columns(used: precision.Precision) -> tuple[str, ...]:
    """The table's precisions: the one in force always among them, the largest first, four in all.

    bf16 stands in for fp16, which takes the same; any other for int8, which takes what fp8 takes.
    """
    if used.name in TABLE_PRECISIONS:
        return TABLE_PRECISIONS
    gone = "fp16" if used.name == "bf16" else "int8"
    names = [used.name, *(name for name in TABLE_PRECISIONS if name != gone)]
    return tuple(sorted(names, key=lambda name: -precision.parse(name).bits))


def own_model(geometry: EngineGeometry, name: str) -> Model:
    """The embedded engine's model from the sizes that it states; its cache is f32 or fp16."""
    return models.custom(
        layers=geometry.layers,
        kv_heads=geometry.kv_heads,
        head_dim=geometry.head_dim,
        n_heads=geometry.n_heads,
        params=geometry.n_params,
        kv_dtype={4: "f32", 2: "fp16", 1: "int8"}[geometry.kv_itemsize],
        weights_bytes=geometry.weights_bytes,
        max_context=geometry.context,
        vocab=geometry.vocab,
        name=one_line(name, 60),
        source="the embedded engine",
    )


def own_cards(listed: Mapping[str, OwnCard]) -> list[cards.Card]:
    """The cards of the user's configuration file."""
    return [
        cards.own(one_line(name, 40), card.memory_gib, card.usable_gib, card.bandwidth_gb_per_s)
        for name, card in listed.items()
    ]


def card_choices(view: MemoryView) -> list[tuple[str, str, str]]:
    """``(id, name, remark)`` of every card, for a picker."""
    return [
        (card.id, card.name, f"{card.memory_bytes / (1 << 30):,.2f} GiB")
        for card in cards.search("", view.own_cards)
    ]


def model_choices() -> list[tuple[str, str, str]]:
    """``(id, name, remark)`` of every catalogue model, for a picker."""
    found = []
    for item in catalogue.search(""):
        params = "" if item.params is None else f"{item.params / 1e9:,.1f} B · "
        token = kv.bytes_per_token(item, "auto", "auto", 1)
        found.append((item.id, item.name, f"{params}{token:,} B/token"))
    return found


def precision_names() -> tuple[str, ...]:
    """Every precision a cache can be stored in."""
    return precision.KV_NAMES
