"""The cards of the user's own, for the commands that know cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.commands.errors import BadInput

if TYPE_CHECKING:
    from kvtui.memory.cards import Card


def own_cards() -> list[Card]:
    """The cards of the configuration file.

    Raises:
        BadInput: the file cannot be used.
    """
    from kvtui.config import ConfigError, load_settings
    from kvtui.memory import cards
    from kvtui.text import one_line

    try:
        listed = load_settings().cards
    except ConfigError as error:
        raise BadInput(str(error)) from error
    return [
        cards.own(one_line(name, 40), card.memory_gib, card.usable_gib, card.bandwidth_gb_per_s)
        for name, card in listed.items()
    ]
