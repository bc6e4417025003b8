"""What the Memory pane's keys offer: cards, models, contexts; the user's own among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kvtui.language import tr
from kvtui.memory import cards, catalogue, kv
from kvtui.memory import model as models
from kvtui.memory.model import Model
from kvtui.text import one_line

if TYPE_CHECKING:
    from kvtui.config import OwnCard
    from kvtui.engine.geometry import EngineGeometry

CONTEXTS = (2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
USERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
PRECISIONS = ("auto", "fp16", "fp8", "int8", "int4", "nvfp4", "q8_0", "q4_0")
WEIGHTS: tuple[str | None, ...] = (None, "fp8", "int4")


def contexts_of(limit: int | None) -> tuple[int, ...]:
    """The contexts that ``c`` offers: none beyond the model's own limit, and that one too."""
    if limit is None:
        return CONTEXTS
    below = tuple(size for size in CONTEXTS if size < limit)
    if limit > CONTEXTS[-1]:
        return below
    return (*(below or tuple(max(1, limit // part) for part in (8, 4, 2))), limit)


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
        source=tr("the embedded engine"),
    )


def own_cards(listed: Mapping[str, OwnCard]) -> list[cards.Card]:
    """The cards of the user's configuration file."""
    return [
        cards.own(one_line(name, 40), card.memory_gib, card.usable_gib, card.bandwidth_gb_per_s)
        for name, card in listed.items()
    ]


def card_choices(own: Sequence[cards.Card]) -> list[tuple[str, str, str]]:
    """``(id, name, remark)`` of every card, for a picker; ``own`` are the user's."""
    return [
        (card.id, card.name, f"{card.memory_bytes / (1 << 30):,.2f} GiB")
        for card in cards.search("", own)
    ]


def model_choices() -> list[tuple[str, str, str]]:
    """``(id, name, remark)`` of every catalogue model, for a picker."""
    found = []
    for item in catalogue.search(""):
        params = "" if item.params is None else f"{item.params / 1e9:,.1f} B · "
        token = kv.bytes_per_token(item, "auto", "auto", 1)
        found.append((item.id, item.name, f"{params}{token:,} B/token"))
    return found
