"""Redaction, sanitising and units: what every text passes before anyone sees it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

# --- redaction ------------------------------------------------------------------------------------

REDACTED = "[redacted]"

_MIN_SECRET = 4
"""Shorter "keys" are left alone: replacing every ``a`` of a text hides nothing and ruins it."""

_PREFIX = 8
"""A text that quotes this many first characters of a key quotes the key."""

# Patterns are compiled at their first use: the first frame needs none of them.
_KEY_SHAPES = r"""
    (?P<label>\b(?:authorization|proxy-authorization|x-api-key|api[-_ ]?key|apikey|access[-_]?token
        |client[-_]?secret|password|passwd)["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?)
        (?P<value>[^\s"',;&<>)\]}]{4,})
    | (?P<bearer>\b(?:bearer|basic)\s+)(?P<token>[A-Za-z0-9._~+/=*-]{6,})
    | \b(?:sk|pk|rk|gsk|xai|hf|nvapi|ghp|gho|glpat|AIza|r8|pplx)[-_][A-Za-z0-9_*.-]{6,}
    | \bAIza[A-Za-z0-9_-]{10,}
    | \beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}
    | (?<!\*)\*{3,}[A-Za-z0-9_-]{2,8}\b
"""
_URL_USERINFO = r"(?P<scheme>\b[a-z][a-z0-9+.-]{0,30}://)[^/?#\s@]+@"


@lru_cache(maxsize=1)
def _shapes() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return (
        re.compile(_URL_USERINFO, re.IGNORECASE),
        re.compile(_KEY_SHAPES, re.IGNORECASE | re.VERBOSE),
    )


@lru_cache(maxsize=64)
def _secret_pattern(secret: str) -> re.Pattern[str]:
    """A pattern for one secret in every dress it may wear: plain, encoded, wrapped, cut short."""
    import base64
    from urllib.parse import quote, quote_plus

    core = secret.strip()
    dresses = {
        secret,
        core,
        quote(core, safe=""),
        quote_plus(core),
        core.encode("unicode_escape").decode("ascii"),
        base64.b64encode(core.encode("utf-8", "surrogatepass")).decode("ascii"),
    }
    parts = [re.escape(dress) for dress in sorted(dresses, key=len, reverse=True) if dress]
    # Wrapped by a log or a JSON string: white space or an escaped newline between its characters.
    parts.append(r"(?:\s|\\[nrt])*".join(re.escape(char) for char in core))
    if len(core) >= 2 * _PREFIX:
        parts.append(re.escape(core[:_PREFIX]) + r"[^\s\"'<>,;)]*")
        # From the start of a word only: a long word must not be searched once for each character.
        word = r"(?:(?<![A-Za-z0-9_.*-])[A-Za-z0-9_.*-]*)?"
        parts.append(word + re.escape(core[-_PREFIX:]))
    return re.compile("|".join(parts))


def redact(text: str, *secrets: str | None) -> str:
    """``text`` without the given secrets, and without anything that has the shape of a key.

    Args:
        text: Any text from outside: an exception, a header, a body, a URL.
        secrets: The keys in use. None and very short strings are ignored.
    """
    for secret in secrets:
        if secret and len(secret.strip()) >= _MIN_SECRET:
            text = _hide_parts(_secret_pattern(secret).sub(REDACTED, text), secret.strip())
    userinfo, key_shapes = _shapes()
    return key_shapes.sub(_hide_value, userinfo.sub(rf"\g<scheme>{REDACTED}@", text))


# A run of a key's characters betrays it also where it is spelt in another way.

_LONGEST_RUN = 12
_SHORTEST_RUN = 8
"""A run of so many characters of a key betrays it, or of half its characters where that is less,
but never a run as short as a word."""

_SPELLINGS = r"""
    \\{1,4}u\{?0{0,4}([0-9a-f]{2})\}?
    | \\{1,4}x([0-9a-f]{2})
    | %(?:25)?([0-9a-f]{2})
    | &\#x0{0,4}([0-9a-f]{2});?
    | &\#0{0,4}([0-9]{2,3});?
    | \\{1,4}(["'/])
    | &(?:amp|lt|gt|quot|apos);
    | \\{1,4}[nrt]
    | [\s\u200b\u200c\u200d\u2060\ufeff\u00ad]+
"""
_ESCAPING = frozenset("%\\&")
_NAMED = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


@lru_cache(maxsize=1)
def _spellings() -> re.Pattern[str]:
    return re.compile(_SPELLINGS, re.IGNORECASE | re.VERBOSE)


def _spelt(match: re.Match[str]) -> str:
    """The character that an escape stands for; nothing for white space between characters."""
    group, word = match.lastindex, match[0]
    if group is None:
        return _NAMED.get(word.lower(), "")
    if group == 6:
        return match[6]
    code = int(match[group], 10 if group == 5 else 16)
    return chr(code) if code < 0x80 else "\0"


_View = tuple[str, Sequence[int], Sequence[int]]
"""A text to look for a key in, and where each of its characters begins and ends in the real one."""


def _plain(text: str) -> _View:
    """``text`` in lower case, escapes undone, and where each character of it begins and ends."""
    parts: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    at = 0
    for match in _spellings().finditer(text):
        begin, end = match.span()
        parts.append(text[at:begin])
        begins.extend(range(at, begin))
        ends.extend(range(at + 1, begin + 1))
        if char := _spelt(match):
            parts.append(char)
            begins.append(begin)
            ends.append(end)
        at = end
    parts.append(text[at:])
    begins.extend(range(at, len(text)))
    ends.extend(range(at + 1, len(text) + 1))
    return _lower("".join(parts)), begins, ends


def _literal(text: str) -> _View:
    """``text`` in lower case, as it is."""
    return _lower(text), range(len(text)), range(1, len(text) + 1)


def _lower(text: str) -> str:
    return text.replace("\u0130", "I").lower()  # the one letter that becomes two in lower case


@lru_cache(maxsize=64)
def _traces(secret: str) -> tuple[int, dict[str, tuple[tuple[str, int, int], ...]]]:
    """What betrays a secret: the length of a gram, and where each gram of a spelling stands.

    Every run that is long enough holds a gram that begins at a multiple of its length, so that a
    text is looked at only there. The third of a place is the length of a run that is enough.
    """
    import base64

    raw = secret.encode("utf-8", "surrogatepass")
    run = min(_LONGEST_RUN, max(_SHORTEST_RUN, (len(secret) + 1) // 2))
    stems = [(secret, run), (secret[::-1], run), (raw.hex(), 2 * run)]
    for shift in range(3):  # in base64 a text has three looks, by what stands before it
        coded = base64.b64encode(bytes(shift) + raw).decode("ascii")
        inner = coded[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]
        stems += [
            (inner, run * 8 // 6 - 1),
            (inner.translate({43: "-", 47: "_"}), run * 8 // 6 - 1),
        ]
    size = (run + 1) // 2
    grams: dict[str, list[tuple[str, int, int]]] = {}
    for stem, enough in stems:
        stem = stem.lower()
        for place in range(len(stem) - size + 1):
            places = grams.setdefault(stem[place : place + size], [])
            if len(places) < 8:
                places.append((stem, place, enough))
    return size, {gram: tuple(places) for gram, places in grams.items()}


def _hide_parts(text: str, secret: str) -> str:
    """``text`` without runs of the secret's characters, in whichever spelling."""
    if len(secret) < _SHORTEST_RUN or len(text) < _SHORTEST_RUN:
        return text
    text = _hide_runs(text, secret, _plain(text))
    # What looked like an escape may have been a sign before the key: %4f9A… begins with 4f9A.
    return _hide_runs(text, secret, _literal(text)) if _ESCAPING & set(text) else text


def _hide_runs(text: str, secret: str, view: _View) -> str:
    size, grams = _traces(secret)
    plain, begins, ends = view
    kept: list[str] = []
    done = shown = 0
    for at in range(0, len(plain) - size + 1, size):
        places = grams.get(plain[at : at + size]) if at >= done else None
        if not places:
            continue
        begin, end = max((_reach(plain, at, size, *place) for place in places), key=_width)
        if begin == end:
            continue
        kept += [text[shown : max(shown, begins[begin])], REDACTED]
        shown, done = ends[end - 1], end
    return "".join(kept) + text[shown:] if kept else text


def _reach(plain: str, at: int, size: int, stem: str, place: int, enough: int) -> tuple[int, int]:
    """How far a gram's surroundings are the secret's too: (begin, end), equal if not enough."""
    begin, left = at, place
    while begin and left and plain[begin - 1] == stem[left - 1]:
        begin, left = begin - 1, left - 1
    end, right = at + size, place + size
    while end < len(plain) and right < len(stem) and plain[end] == stem[right]:
        end, right = end + 1, right + 1
    return (begin, end) if end - begin >= enough else (at, at)


def _width(span: tuple[int, int]) -> int:
    return span[1] - span[0]


def _hide_value(match: re.Match[str]) -> str:
    """Keep the label (``Authorization:``), hide what follows it."""
    if (match["value"] or match["token"] or "").startswith(REDACTED[:-1]):
        return match[0]  # hidden already
    if match["label"]:
        return f"{match['label']}{REDACTED}"
    if match["bearer"]:
        return f"{match['bearer']}{REDACTED}"
    return REDACTED


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
    return f" (did you mean {folded[close[0]]}?)" if close else ""
