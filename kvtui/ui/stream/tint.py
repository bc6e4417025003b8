"""Which tokens came late: the gap before each, against the median gap of the run."""

from __future__ import annotations

from math import log
from typing import NamedTuple

from kvtui.language import tr
from kvtui.text import UNKNOWN, milliseconds
from kvtui.ui.look.rows import Row, crop, row

SLOW, STALL = 2.0, 5.0
"""Times the median gap."""
_STEP = log(1.1)


class Tint(NamedTuple):
    """From which gap on, in seconds, a token is slow, and from which it is a stall."""

    slow_s: float
    stall_s: float

    def role(self, gap_s: float) -> str:
        """The role of a token that came so long after the one before; empty: no special one."""
        if gap_s < self.slow_s:
            return ""
        return "slow" if gap_s < self.stall_s else "stall"


def tint_of(median_ms: float | None, before: Tint | None = None) -> Tint | None:
    """The limits for a median gap; those of ``before`` while it has moved by less than a tenth."""
    if not median_ms or median_ms <= 0:
        return before
    slow = SLOW * median_ms / 1000
    if before is not None and abs(log(slow / before.slow_s)) < _STEP:
        return before
    return Tint(slow, STALL * median_ms / 1000)


def legend(tint: Tint | None, width: int) -> Row:
    """What the tints mean, with the numbers."""
    slow = UNKNOWN if tint is None else milliseconds(tint.slow_s * 1000)
    stall = UNKNOWN if tint is None else milliseconds(tint.stall_s * 1000)
    median = tr("× median")
    wide = width >= 70
    times = [f" ({factor:g} {median})" if wide else "" for factor in (SLOW, STALL)]
    apart = "   " if wide else "  "
    return crop(
        row(
            (f"{tr('gap')} " if wide else "", "muted"),
            (tr("slow"), "slow"),
            (f" ≥ {slow}{times[0]}{apart}", "muted"),
            (tr("stall"), "stall"),
            (f" ≥ {stall}{times[1]}{apart}", "muted"),
            ("i", "key"),
            (f" {tr('plain')}", "muted"),
        ),
        width,
    )
