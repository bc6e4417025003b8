"""Which card the server runs on, where that is known: nothing is assumed of a server elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvtui.config import Endpoint
    from kvtui.memory.cards import Card
    from kvtui.telemetry.gpu import Cards


class ServersCard(NamedTuple):
    """The card, and who says so."""

    card: Card
    where: Literal["profile", "local"]


def servers_card(
    endpoint: Endpoint,
    own: Sequence[Card],
    weights_bytes: int,
    read: Callable[[], Cards] | None = None,
) -> ServersCard | None:
    """The card the endpoint runs on; None where nobody says. Blocks: it may ask the driver.

    Its profile says it, or the server is on this machine and the one card here holds at least the
    model's weights: a loopback address alone may be a tunnel to another machine.

    Args:
        endpoint: Where requests go.
        own: Cards of the user's configuration.
        weights_bytes: Bytes of the model's weights.
        read: Asks the driver; tests give a fake.

    Raises:
        PlanError: The profile names a card that is not known.
    """
    from kvtui.memory import cards
    from kvtui.memory.errors import PlanError
    from kvtui.telemetry.places import is_loopback

    if endpoint.embedded:
        return None
    if endpoint.gpu:
        return ServersCard(cards.find(endpoint.gpu, own), "profile")
    if not is_loopback(endpoint.base_url):
        return None
    from kvtui.telemetry.gpu import read_cards

    found = (read or read_cards)().cards
    if len(found) != 1 or not weights_bytes or (found[0].memory_used or 0) < weights_bytes:
        return None
    try:
        return ServersCard(cards.find(found[0].name, own), "local")
    except PlanError:
        return None
