"""Redaction, sanitising and units: what every text passes before anyone sees it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from kvtui.keyshape import has_key_form as has_key_form
from kvtui.keyshape import looks_like_key as looks_like_key
from kvtui.language import tr
from kvtui.redaction import REDACTED as REDACTED
from kvtui.redaction import redact as redact

# --- sanitising -----------------------------------------------------------------------------------

TAB = "    "

_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060\u2061\u2062\u2063\u2064\ufeff\uffa0"
)


@lru_cache(maxsize=1)
def _control_table() -> dict[int, str]:
    """Characters that move a cursor, open a sequence or reorder text, as ones that do not."""
    table: dict[int, str] = {code: chr(0x2400 + code) for code in range(0x20)}
    table[0x7F] = "\u2421"
    table.update(dict.fromkeys(range(0x80, 0xA0), "\ufffd"))
    table.update(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
    table.update(dict.fromkeys(map(ord, _BIDI), "\u2426"))
    table.update(dict.fromkeys(map(ord, _INVISIBLE), ""))
    table[ord("\n")] = "\n"
    table[ord("\t")] = TAB
    table[0x0B] = table[0x0C] = table[0x85] = table[0x2028] = table[0x2029] = "\n"
    table.update(dict.fromkeys(range(0xE0000, 0xE0080), ""))  # tag characters: invisible text
    return table


_MARK_RANGES = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
)
_MOST_MARKS = 8
"""More marks than this on one letter are a flood, not a script."""


@lru_cache(maxsize=1)
def _mark_flood() -> re.Pattern[str]:
    return re.compile(f"([{_MARK_RANGES}]{{{_MOST_MARKS}}})[{_MARK_RANGES}]+")


def sanitise(text: str) -> str:
    r"""``text`` with nothing left that a terminal would obey: shown as text, never acted on.

    Escapes and other controls become visible control pictures, bidi overrides a visible sign,
    invisible characters vanish, tabs become spaces, and every kind of line end becomes ``\n``.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _mark_flood().sub(r"\1", text.translate(_control_table()))


def one_line(text: str, limit: int = 200) -> str:
    """``text`` sanitised, on one line, cut to ``limit`` characters with a mark where it was cut."""
    flat = " ".join(sanitise(text[: 8 * limit]).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def wide_in(text: str) -> int:
    """How many characters of ``text`` take two cells of a terminal."""
    if text.isascii():
        return 0
    from unicodedata import east_asian_width

    return sum(east_asian_width(char) in "WF" for char in text)


def padded(text: str, cells: int) -> str:
    """``text`` with spaces after it to ``cells`` of a terminal, where wide characters take two."""
    return text.ljust(max(0, cells - wide_in(text)))


_PIECES = re.compile(
    "[\uff08\u201c]*[\u2e80-\uffef](?:[\uff0c\u3002\uff1b\uff1a\u3001\uff09\u201d]+)?"
    "|[^\\s\u2e80-\uffef\u201c]+|\\s+|."
)
"""A wide character with the marks that stay with it, a word, white space."""


def wrapped(text: str, cells: int, first: str, rest: str) -> list[str]:
    """Lines of at most ``cells``, the first behind ``first``, the others behind ``rest``.

    Text with wide characters is parted between them too; other text at its spaces.
    """
    if not wide_in(text):
        import textwrap

        return textwrap.wrap(
            text, cells, initial_indent=first, subsequent_indent=rest,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    lines, line = [], first
    begun = False
    for piece in _PIECES.findall(text):
        size = len(line) + wide_in(line) + len(piece) + wide_in(piece)
        if begun and size > cells:
            lines.append(line.rstrip())
            line, begun = rest, False
        if begun or not piece.isspace():
            line, begun = line + piece, True
    return [*lines, line.rstrip()]


# --- units ----------------------------------------------------------------------------------------

UNKNOWN = "—"
GIB = 1 << 30
MIB = 1 << 20
KIB = 1 << 10


def gib(size: int | None, digits: int = 2) -> str:
    """Bytes as a GiB figure without its unit: ``14.96``; an em dash for None."""
    return UNKNOWN if size is None else f"{size / GIB:,.{digits}f}"


def binary_size(size: int | None) -> str:
    """Bytes in the largest binary unit that leaves a figure of at least one: ``4.5 MiB``."""
    if size is None:
        return UNKNOWN
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:,.2f} {name}"
    return f"{size} B"


def count(number: int | None) -> str:
    """A whole number with thousands separators: ``131,072``."""
    return UNKNOWN if number is None else f"{number:,}"


def many(number: int, noun: str) -> str:
    """``1 request``, ``2,000 requests``: for nouns whose plural takes an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def milliseconds(value: float | None) -> str:
    """A duration given in ms, in three significant figures or so: ``4.63 ms``, ``1.94 s``."""
    if value is None:
        return UNKNOWN
    if value < 9.995:
        return f"{value:.2f} ms"
    if value < 99.95:
        return f"{value:.1f} ms"
    if value < 999.5:
        return f"{value:.0f} ms"
    seconds = value / 1000
    return f"{seconds:.2f} s" if seconds < 99.995 else f"{seconds:,.0f} s"


def clock_time(seconds: float) -> str:
    """A span of time as on a clock: ``0:42``, ``12:03``, ``1:02:03``."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


def rate(value: float | None) -> str:
    """Tokens per second as a figure without its unit: ``7.42``, ``74.2``, ``742``."""
    if value is None:
        return UNKNOWN
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` (did you mean X?)`` where something known is close, else an empty string."""
    from difflib import get_close_matches

    names = list(known)
    folded = {name.lower(): name for name in names}
    close = get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return tr(" (did you mean {name}?)", name=folded[close[0]]) if close else ""
