"""The memory question behind pane 2: choices in, a frozen ``MemoryState`` out.

The answer is worked out only when a choice changes; a frame only adds the live tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kvtui.language import tr
from kvtui.memory import budget, cards, catalogue, kv
from kvtui.memory.errors import PlanError
from kvtui.memory.model import Model
from kvtui.text import one_line, redact
from kvtui.ui.memory.answer import describe, with_tokens, without_answer
from kvtui.ui.memory.lists import PRECISIONS, USERS, WEIGHTS, contexts_of, own_model
from kvtui.ui.state import MemoryState, is_demo

if TYPE_CHECKING:
    from pathlib import Path

    from kvtui.ui.ports import PreparedLike

DEFAULT_CARD = "24GB"
DEFAULT_MODEL = "Llama-3.1-8B"
DEFAULT_CONTEXT = 2048


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
        self._answers = ""
        """The model that answers, as its server calls it."""
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
        self._served, self._answers = None, model_id
        self._still = None
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
        name = next((name for name in names if name and not is_demo(name)), tr("embedded model"))
        self._answers = prepared.model or ""
        self.set_own(None if geometry is None else own_model(geometry, name))
        self._served = None
        if geometry is not None:
            return
        if self.named:
            self.as_if = False  # the user says that this is what the endpoint serves
            self._served = (self.catalogue_model, None)
        elif prepared.endpoint.architecture:
            self.catalogue_model = catalogue.find(prepared.endpoint.architecture)
            self.matched, self.as_if = tr("as the profile says"), False
            self._served = (self.catalogue_model, None)
        elif prepared.model:
            self.recognise(prepared.model)

    def forget_endpoint(self) -> None:
        """Another one is going to answer: what this one said of its model is no more."""
        self.matched, self.server_context, self._answers = "", None, ""
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

    def next_context(self) -> int | None:
        """The next longer context that the model takes, then the shortest.

        Returns:
            The model's limit, where that was reached and it is the shortest's turn.
        """
        now = self._context()
        sizes = contexts_of(self.model.max_context)
        longer = next((size for size in sizes if size > now), None)
        self.context = longer or sizes[0]
        return None if longer else self.model.max_context

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
        return budget.Question(model, self.card, engine=self._engine, weights_dtype=weights_dtype)

    @property
    def example(self) -> str:
        """Why the model shown is an example that nobody chose; empty where it is not."""
        if self.own is not None or self.named or not self.as_if:
            return ""
        if not self._answers:
            return tr("an example: no model is known to answer; m chooses one")
        name = one_line(redact(self._answers), 40)
        return tr("an example: {name} is in no catalogue; m chooses one", name=name)

    # --- the state ------------------------------------------------------------------------------

    def state(self, live_tokens: int = 0, *, cached: bool = True, kept: bool = True) -> MemoryState:
        """What pane 2 draws for a stream that holds ``live_tokens`` (prompt and answer).

        Without the cache (``cached`` False) nothing is kept, whichever model the tokens are shown
        on; of a run that went without it (``kept`` False) nothing is left when it is on again.
        """
        still = self._still or self._answer()
        question = self._question
        if question is None:
            return still
        cache_off = self.own is not None and not cached
        if self.own is not None and not (cached and kept):
            live_tokens = 0
        return with_tokens(still, question, self._budget_kv, live_tokens, cache_off=cache_off)

    @property
    def _engine(self) -> str:
        """Whose budget is shown: vLLM's, on a Mac llama.cpp's."""
        return "llamacpp" if self.card.metal else "vllm"

    def _context(self) -> int:
        if self.context is not None:
            return self.context
        if self.shows_own and self.own is not None and self.own.max_context:
            return self.own.max_context
        if not self.as_if and self.server_context:
            return self.server_context
        return DEFAULT_CONTEXT

    def _answer(self) -> MemoryState:
        question = budget.Question(
            model=self.model,
            card=self.card,
            engine="logical" if self.shows_own else self._engine,
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
            self._still = without_answer(question, str(error))
            return self._still
        self._question = question
        self._budget_kv = told.budget.kv_bytes
        self._still = replace(describe(question, told, as_if=self.as_if), example=self.example)
        return self._still
