"""The endpoints of a workload that has several: which they are, and what became known of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from kvtui.config import EMBEDDED
from kvtui.language import tr
from kvtui.text import did_you_mean, redact


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """What a precision does to the logits, beside float32's over the same text.

    ``kvtui.engine.fidelity`` tells what each figure is.
    """

    positions: int
    kl_mean: float
    kl_max: float
    top1: float
    max_abs: float
    nll_f32: float
    nll: float


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One endpoint of several. What names no place is the embedded engine."""

    name: str
    """What its rows and findings call it."""
    base_url: str | None = None
    profile: str | None = None
    model: str | None = None
    weights: str = "f32"
    """Precision of the embedded engine's weights."""
    kv_dtype: str = "f32"
    """Precision of its cache."""
    weights_bytes: int | None = None
    """Of the embedded engine: what its weights take, to the byte."""
    kv_bytes_per_token: int | None = None
    fidelity: Fidelity | None = None

    @property
    def embedded(self) -> bool:
        """Whether it is the embedded engine."""
        return self.base_url is None and self.profile is None


class TargetError(ValueError):
    """An endpoint that is named wrongly."""


def parse_target(text: str, profiles: Collection[str] | None) -> Target:
    """``PLACE`` or ``MODEL@PLACE``, where the place is a profile, a URL or ``embedded``.

    Args:
        text: What was typed.
        profiles: Those that there are; None: any name is taken for one.

    Raises:
        TargetError: There is no such place.
    """
    match = re.match(r"(?:(?P<model>.*)@)?(?P<place>https?://.*)", text) or re.match(
        r"(?:(?P<model>.+)@)?(?P<place>.+)", text
    )
    if match is None:
        raise TargetError(tr("An endpoint is a profile's name, a URL, or embedded."))
    model, place = match["model"] or None, match["place"]
    name = redact(text, None)
    if place.startswith(("http://", "https://")):
        return Target(name=name, base_url=place, model=model)
    if place == EMBEDDED:
        return Target(name=name, model=model)
    if profiles is None or place in profiles:
        return Target(name=name, profile=place, model=model)
    known = [EMBEDDED, *profiles]
    raise TargetError(
        tr(
            "{place!r} is no endpoint{hint}: name a profile ({profiles}), a URL with http://"
            " or https://, or embedded.",
            place=redact(place, None),
            hint=did_you_mean(place, known),
            profiles=", ".join(profiles) or tr("there is none"),
        )
    )


def named_apart(targets: Sequence[Target]) -> tuple[Target, ...]:
    """The same with names that differ: a second one of a name gets its number."""
    seen: dict[str, int] = {}
    apart = []
    for target in targets:
        number = seen[target.name] = seen.get(target.name, 0) + 1
        name = f"{target.name} ({number})" if number > 1 else target.name
        apart.append(msgspec.structs.replace(target, name=name))
    return tuple(apart)
