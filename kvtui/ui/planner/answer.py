"""From fields to the planner's whole state: the answer, the need the other way, the flags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from kvtui.language import tr
from kvtui.memory import budget, cards, flags, kv, need, overhead
from kvtui.memory.answer import Answer
from kvtui.memory.errors import PlanError
from kvtui.memory.question import Question

from .form import ENGINE_NAMES, Known, PlannerForm, field_of, read_form

SHOWN_CHOICES = 3


class EngineFlags(NamedTuple):
    """One engine's flags for the question."""

    engine: str
    text: str
    """The flags; empty where the engine cannot be asked for this."""
    fits: bool = True
    reason: str = ""
    """Why there are none."""
    note: str = ""
    """What they serve where that is less than was asked for."""


@dataclass(frozen=True, slots=True)
class PlannerState:
    """What the planner draws."""

    form: PlannerForm
    told: Answer | None = None
    """The answer; the last good one while a field is wrong."""
    problems: tuple[tuple[str, str], ...] = ()
    """(field, sentence); the field is empty where it is about several."""
    smallest: tuple[need.Choice, ...] = ()
    """The cards with the least memory that hold the need."""
    fewest: int | None = None
    """How many of the chosen card hold it; None where no number does."""
    by_hand: bool = False
    """The cache's room is set by hand, so other cards say nothing."""
    flags: tuple[EngineFlags, ...] = ()

    @property
    def stale(self) -> bool:
        """A field is wrong: the answer is the one before."""
        return bool(self.problems)

    def problem(self, name: str) -> str:
        """What is wrong with a field; empty where nothing is."""
        return next((text for field, text in self.problems if field == name), "")


class Planner:
    """Works out a state from the fields; keeps the last good one for wrong fields."""

    def __init__(self, known: Known = Known()) -> None:  # noqa: B008 - a frozen tuple
        self.known = known
        self._last: PlannerState | None = None

    def update(self, form: PlannerForm) -> PlannerState:
        """The state for these fields."""
        question, problems = read_form(form, self.known)
        if question is None:
            return self._wrong(form, problems)
        try:
            told = budget.answer(question)
        except PlanError as error:
            return self._wrong(form, {field_of(error): str(error)})
        by_hand = question.kv_budget_bytes is not None
        self._last = PlannerState(
            form=form,
            told=told,
            smallest=() if by_hand else smallest(told, self.known.own_cards),
            fewest=None if by_hand else need.fewest(question),
            by_hand=by_hand,
            flags=engine_flags(told),
        )
        return self._last

    def _wrong(self, form: PlannerForm, problems: dict[str, str]) -> PlannerState:
        before = self._last or PlannerState(form)
        return replace(before, form=form, problems=tuple(problems.items()))


def smallest(
    told: Answer, own: tuple[cards.Card, ...] = (), count: int = SHOWN_CHOICES
) -> tuple[need.Choice, ...]:
    """The first of `need.smallest`, own cards among them, without working out all of it.

    Cards are tried from the least memory on; what cannot hold the bytes alone is passed over.
    """
    question = told.question
    real = [card for card in cards.catalogue() if card not in cards.PROFILES]
    tried = sorted(
        (
            need.Choice(card, number)
            for card in (*own, *real)
            for number in need.COUNTS
            if number == 1 or not card.alone
        ),
        key=lambda choice: (choice.memory_bytes, choice.number),
    )
    least = (told.weights_bytes or 0) + question.concurrency * kv.bytes_per_sequence(
        question.model, told.k, told.v, question.context
    )
    found: list[need.Choice] = []
    holds: dict[tuple[int, int, int], bool] = {}  # many cards are of one size
    for choice in tried:
        card, number = choice
        if any(card is other.card for other in found) or number * _room(question, card) < least:
            continue
        size = (card.memory_bytes, card.engine_total_bytes, number)
        if size not in holds:
            asked = replace(question, card=card)
            holds[size] = need.fewest(asked, (number,)) is not None
        if holds[size]:
            found.append(choice)
            if len(found) == count:
                break
    return tuple(found)


def _room(question: Question, card: cards.Card) -> int:
    """The most that the engine puts on a card, weights and cache together."""
    if question.engine == "vllm":
        return overhead.requested_bytes(card.engine_total_bytes, question.utilisation)
    return card.memory_bytes if question.engine == "logical" else card.engine_total_bytes


def engine_flags(told: Answer) -> tuple[EngineFlags, ...]:
    """The flags of the engine asked for, and of vLLM and llama.cpp beside it."""
    asked = told.question.engine
    names = ["vllm", "llamacpp"]
    if asked in names:
        names.remove(asked)
    if asked != "logical":
        names.insert(0, asked)
    return tuple(_flags_of(told, name) for name in names)


def _flags_of(told: Answer, engine: str) -> EngineFlags:
    question = told.question
    if engine != question.engine:
        question = replace(question, engine=engine)
        if "llamacpp" in (engine, told.question.engine):
            question = replace(question, gpus=told.split.cards, tp=None, pp=1, dp=1)
        try:
            told = budget.answer(question)
        except PlanError as error:
            return EngineFlags(engine, "", reason=str(error))
    refused = next(
        (note for note in told.notes if note.startswith(f"{engine} stores no ")),
        "",
    )
    if refused:
        return EngineFlags(engine, "", reason=refused.partition(":")[0])
    fitting = flags.that_fit(told, engine)
    if not fitting.text:
        asked = told.question.context
        return EngineFlags(
            engine, "", reason=tr("none: not one sequence of {n:,} tokens fits", n=asked)
        )
    return EngineFlags(
        engine, fitting.text, told.fits, note="" if told.fits else flags.fewer(fitting)
    )


def engine_name(told: Answer) -> str:
    """The engine as a title says it: "vLLM 0.92"."""
    question = told.question
    name = ENGINE_NAMES[question.engine]
    return f"{name} {question.utilisation:g}" if question.engine == "vllm" else name
