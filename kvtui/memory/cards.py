"""Cards, in what they really hold.

A "24 GB" L4 holds 22.49 GiB, and a driver shows an engine less still; both figures are kept apart.
The profiles `24GB`, `40GB` and `80GB` are exactly that many GiB.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kvtui.language import tr
from kvtui.text import GIB, MIB

from .errors import AmbiguousNameError, PlanError, UnknownNameError
from .names import tokens
from .tables import read_table, wrong_key


@dataclass(frozen=True, slots=True)
class Card:
    """A card.

    Attributes:
        id: the short name to ask for it.
        name: the name to show.
        memory_bytes: what it holds (nvidia-smi's total).
        usable_total_bytes: the total that a driver shows an engine, or None when not known.
        bandwidth_bytes_per_s: memory bandwidth, or None when not known.
        source: where the memory figure was read.
        usable_source: where the usable total was read; empty without one.
        bandwidth_source: where the bandwidth was read; empty without one.
        note: what a reader should know; may be empty.
    """

    id: str
    name: str
    memory_bytes: int
    usable_total_bytes: int | None = None
    bandwidth_bytes_per_s: int | None = None
    source: str = ""
    usable_source: str = ""
    bandwidth_source: str = ""
    note: str = ""

    @property
    def alone(self) -> bool:
        """A whole computer's memory: there is no second one beside it to split a model over."""
        return self.id.startswith("AppleM")

    @property
    def metal(self) -> bool:
        """Programmed by Metal alone: what is made for CUDA or ROCm does not run on it."""
        return self.alone

    @property
    def engine_total_bytes(self) -> int:
        """The total that an engine divides up: the usable one where it is known."""
        return self.memory_bytes if self.usable_total_bytes is None else self.usable_total_bytes


def profile(gib: int) -> Card:
    """A card of exactly that many GiB, of no make."""
    return Card(f"{gib}GB", f"{gib} GB", gib * GIB, source=f"profile: exactly {gib} GiB")


def own(
    name: str,
    memory_gib: float,
    usable_gib: float | None = None,
    bandwidth_gb_per_s: float | None = None,
) -> Card:
    """A card of the user's own, from the figures of their configuration.

    Args:
        name: its name.
        memory_gib: what it holds.
        usable_gib: what its driver shows an engine.
        bandwidth_gb_per_s: its bandwidth in 10^9 bytes per second.
    """
    return Card(
        id=name,
        name=name,
        memory_bytes=round(memory_gib * GIB),
        usable_total_bytes=None if usable_gib is None else round(usable_gib * GIB),
        bandwidth_bytes_per_s=None
        if bandwidth_gb_per_s is None
        else round(bandwidth_gb_per_s * 10**9),
        source="your configuration",
    )


PROFILES: tuple[Card, ...] = (profile(24), profile(40), profile(80))


@cache
def catalogue() -> tuple[Card, ...]:
    """The profiles and the real cards of `cards.toml`, smallest first.

    Raises:
        PlanError: the file is not what it should be (names row and key).
    """
    real = sorted(
        (_card(row) for row in read_table("cards.toml", "card")), key=lambda c: c.memory_bytes
    )
    return (*PROFILES, *real)


def find(name: str, own: Sequence[Card] = ()) -> Card:
    """The card of that name or id; maker, "RTX" and capacity may be left out of a name.

    Args:
        name: what the user wrote: "H100", "rtx 4090", "24GB", "NVIDIA L4".
        own: cards of the caller's, which come before the catalogue's.

    Raises:
        AmbiguousNameError: several fit ("A100" is 40 or 80 GB).
        UnknownNameError: none fits; with suggestions.
    """
    everything = (*own, *catalogue())
    wanted = _words(name)
    for card in everything:
        if wanted and wanted in (_words(card.id), _words(card.name)):
            return card
    core = _core(name)
    fitting = [card for card in everything if core and core == _core(card.name)]
    if len(fitting) == 1 and _capacity(name) in (None, _capacity(fitting[0].name)):
        return fitting[0]
    if len(fitting) > 1:
        raise AmbiguousNameError("card", name, [card.name for card in fitting])
    raise UnknownNameError(
        "card",
        name,
        [known for card in everything for known in (card.name, card.id)],
        listing=tr("kvtui gpus lists them"),
    )


def search(query: str = "", own: Sequence[Card] = ()) -> tuple[Card, ...]:
    """The cards whose name has all the query's characters in sequence; all of them without one."""
    folded = query.casefold().replace(" ", "")
    return tuple(
        card
        for card in (*own, *catalogue())
        if folded in card.name.casefold().replace(" ", "") or folded in card.id.casefold()
    )


_MAKERS = ("nvidia", "geforce", "tesla", "amd", "intel", "radeon", "instinct", "apple")
_CAPACITY = re.compile(r"(?<![\w.])(\d+) ?gi?b\b", re.IGNORECASE)


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in tokens(name) if word not in _MAKERS)


def _core(name: str) -> tuple[str, ...]:
    """The words that tell one chip from another."""
    rest = _words(_CAPACITY.sub(" ", name))
    return tuple(word for word in rest if word not in ("rtx", "gpu", "unified", "blackwell"))


def _capacity(name: str) -> str | None:
    found = _CAPACITY.search(name)
    return found[1] if found else None


_KEYS: dict[str, type] = {
    "id": str,
    "name": str,
    "mib": int,
    "usable_mib": int,
    "gb_per_s": int,
    "source": str,
    "usable_source": str,
    "bandwidth_source": str,
    "note": str,
}


def _card(row: dict[str, Any]) -> Card:
    wrong = wrong_key(row, _KEYS, ("id", "name", "mib", "source"))
    if wrong:
        raise PlanError(f"cards.toml, row {row.get('id', '?')!r}: {wrong}")
    usable, speed = row.get("usable_mib"), row.get("gb_per_s")
    return Card(
        id=row["id"],
        name=row["name"],
        memory_bytes=row["mib"] * MIB,
        usable_total_bytes=None if usable is None else usable * MIB,
        bandwidth_bytes_per_s=None if speed is None else speed * 10**9,
        source=row["source"],
        usable_source=row.get("usable_source", ""),
        bandwidth_source=row.get("bandwidth_source", ""),
        note=row.get("note", ""),
    )
