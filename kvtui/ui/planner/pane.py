"""Between the Memory pane and the planner: its choices into fields, and the plan back to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvtui.language import tr
from kvtui.memory import catalogue
from kvtui.ui.planner.form import Known, PlannerForm

if TYPE_CHECKING:
    from kvtui.memory.answer import Answer
    from kvtui.ui.memory import MemoryView


def known_of(view: MemoryView) -> Known:
    """The names that mean something beside the catalogue's."""
    named = view.catalogue_model
    models = [] if view.own is None else [view.own]
    if named not in catalogue.catalogue():
        models.append(named)
    return Known(view.own_cards, tuple(models))


def form_of(view: MemoryView) -> PlannerForm:
    """The pane's choices as fields."""
    shown = view.state()
    form = PlannerForm(
        model=view.model.name if view.model in known_of(view).models else view.model.id,
        card=view.card.name,
        engine="llama.cpp" if view.card.metal else "vLLM",
        k=view.kv_dtype,
        context=str(shown.context or view.context or 2048),
        users=str(max(shown.users, 1)),
        weights="" if view.shows_own else view.weights_dtype or "",
    )
    if view.shows_own:
        return replace(form, engine="formula")
    return form


def hand_back(view: MemoryView, told: Answer) -> str:
    """Give the plan's choices to the pane; returns what it took, in one sentence.

    The pane knows one card, vLLM's budget and one precision for keys and values.

    Raises:
        PlanError: the pane cannot take one of them.
    """
    question = told.question
    model = question.model
    # A model of the catalogue with other KV heads is not one that the pane can show.
    name = model.id
    if view.own is not None and name == view.own.id:
        if view.as_if:
            view.toggle_as_if()
    elif name != view.catalogue_model.id:
        view.choose_model(name)
    elif view.shows_own:
        view.toggle_as_if()
    if not view.shows_own:
        view.weights_dtype = question.weights_dtype
    view.context, view.users = question.context, question.concurrency
    view.choose_precision(question.k)
    own = [card for card in view.own_cards if card is question.card]
    view.choose_card(own[0].name if own else question.card.name)
    left_out = [
        what
        for what, there in (
            (tr("the values' own precision"), question.v != question.k),
            (tr("{cards} cards", cards=told.split.cards), told.split.cards > 1),
            (tr("the KV heads"), model.name != view.model.name),
            (tr("the size of the weights"), question.weights_bytes is not None),
            (tr("the cache's room by hand"), question.kv_budget_bytes is not None),
        )
        if there
    ]
    without = tr(" (without {what})", what=", ".join(left_out)) if left_out else ""
    return tr(
        "Memory pane: {model} on {card}, KV {k}, {context:,} tokens × {concurrency:,}{without}",
        model=view.model.name,
        card=view.card.name,
        k=question.k,
        context=question.context,
        concurrency=question.concurrency,
        without=without,
    )
