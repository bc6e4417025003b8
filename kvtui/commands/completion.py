"""What the shell completes: names of cards, models and presets, each looked up when asked for."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


def cards(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's
    """The cards by their short names, which hold no space; the user's own among them."""
    from kvtui.commands.errors import BadInput
    from kvtui.commands.own_cards import own_cards
    from kvtui.memory import cards as known

    try:
        own = own_cards()
    except BadInput:  # said when the command runs
        own = []
    return _beginning((card.id for card in (*own, *known.catalogue())), incomplete)


def models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's
    """The models of the catalogue."""
    from kvtui.memory import catalogue

    return _beginning((model.id for model in catalogue.catalogue()), incomplete)


def presets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's
    """The presets of ``kvtui bench``; where none begins so, files."""
    from kvtui.bench.running.presets import PRESETS

    found = _beginning(PRESETS, incomplete)
    return found or [CompletionItem(incomplete, type="file")]


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Those that begin so, whatever the case."""
    folded = incomplete.casefold()
    return [CompletionItem(name) for name in names if name.casefold().startswith(folded)]
