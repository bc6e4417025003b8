"""Figures as text: GiB (2^30) with grouped digits, for formulas and notes."""

from __future__ import annotations

from kvtui.text import GIB, KIB, MIB


def gib(size: int) -> str:
    """Bytes as GiB, or MiB and smaller below 0.01 GiB.

    Two decimals from 1 GiB on; below, three where the third says something ("0.156 GiB").
    """
    if size < 0:
        return "-" + gib(-size)
    if size >= GIB:
        return f"{size / GIB:,.2f} GiB"
    if size >= GIB // 100:
        text = f"{size / GIB:.3f}"
        return (text[:-1] if text.endswith("0") else text) + " GiB"
    if size >= MIB:
        return f"{size / MIB:.2f} MiB"
    if size >= 10 * KIB:
        return f"{size / KIB:.1f} KiB"
    return f"{size:,} B"


def ceil_div(a: int, b: int) -> int:
    """The quotient rounded up (b > 0)."""
    return -(-a // b)
