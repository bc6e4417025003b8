"""Limits a request should keep (``ttft_ms<500,tpot_ms<50``) and whether it kept them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvtui.language import tr
from kvtui.text import did_you_mean

FIGURES = ("ttft_ms", "ttfa_ms", "tpot_ms", "e2e_ms", "itl_p99_ms", "decode_tps")
_LIMIT = re.compile(r"\s*([a-z_0-9]+)\s*(<=|>=|<|>)\s*([0-9.eE+-]+)\s*")


class SloError(ValueError):
    """A limit that cannot be read."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One figure of a request, and the side of a value it must stay on."""

    figure: str
    sign: str
    value: float

    def kept(self, figure: float | None) -> bool:
        """Whether a value keeps it; an unknown one does not."""
        if figure is None:
            return False
        return figure <= self.value if self.sign.startswith("<") else figure >= self.value


def parse_slo(text: str) -> tuple[Limit, ...]:
    """The limits in a text; an empty text has none.

    Raises:
        SloError: It does not read ``figure<number`` separated by commas.
    """
    limits = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _LIMIT.fullmatch(part)
        if match is None:
            raise SloError(
                tr("{part!r} is no limit: write for example ttft_ms<500,tpot_ms<50.", part=part)
            )
        figure, sign, number = match.groups()
        if figure not in FIGURES:
            raise SloError(
                tr(
                    "{figure!r} is no figure of a request{hint}; there are {figures}.",
                    figure=figure,
                    hint=did_you_mean(figure, FIGURES),
                    figures=", ".join(FIGURES),
                )
            )
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value <= 0:
            raise SloError(
                tr("{part!r}: {number!r} is no number above 0.", part=part, number=number)
            )
        limits.append(Limit(figure, sign, value))
    return tuple(limits)


def keeps(limits: Sequence[Limit], figure: Callable[[str], float | None]) -> bool:
    """Whether a request whose figures ``figure`` gives keeps all limits."""
    return all(limit.kept(figure(limit.figure)) for limit in limits)
