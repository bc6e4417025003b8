"""Redaction: nothing secret leaves in a text, however it is spelt, cut or wrapped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

REDACTED = "[redacted]"

_MIN_SECRET = 4
"""Shorter "keys" are left alone: replacing every ``a`` of a text hides nothing and ruins it."""

_PREFIX = 8
"""A text that quotes this many first characters of a key quotes the key."""

# Patterns are compiled at their first use: the first frame needs none of them.
_GAP = r"(?:[^\S\r\n]+|[^\S\r\n]{0,8}[\r\n]\s{0,8}(?![a-z0-9_-]+[^\S\r\n]*:))"
"""Between a scheme and its credential: the credential may stand on the next line, where the name
of the next header stands else."""
_KEY_SHAPES = r"""
    (?P<label>\b(?:authorization|proxy-authorization|x-api-key|api[-_ ]?key|apikey|access[-_]?token
        |client[-_]?secret|password|passwd)["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)%GAP%)?)
        (?P<value>[^\s"',;&<>)\]}]{4,})
    | (?P<bearer>\b(?:bearer|basic)%GAP%)(?!(?:realm|error|scope)=)
        (?P<token>[A-Za-z0-9._~+/=*-]{6,})
    | \b(?!(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]{1,15})*_(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)
            (?:_[0-9A-Z]{1,12})?\b(?!-)))
        (?!(?-i:[a-z]+(?:_[a-z]{1,12})*_(?:key|token|secret|password|credentials?)\b(?!-)))
        (?:sk|pk|rk|gsk|xai|hf|nvapi|ghp|gho|glpat|AIza|r8|pplx)[-_][A-Za-z0-9_*.-]{6,}
    | \bAIza[A-Za-z0-9_-]{10,}
    | \beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}
    | (?<!\*)\*{3,}[A-Za-z0-9_-]{2,8}\b
"""
_URL_USERINFO = r"(?P<scheme>\b[a-z][a-z0-9+.-]{0,30}://)[^/?#\s@]+@"


@lru_cache(maxsize=1)
def _shapes() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return (
        re.compile(_URL_USERINFO, re.IGNORECASE),
        re.compile(_KEY_SHAPES.replace("%GAP%", _GAP), re.IGNORECASE | re.VERBOSE),
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

_ESCAPES = r"""
    \\{1,4}u\{?0{0,4}([0-9a-f]{2})\}?
    | \\{1,4}x([0-9a-f]{2})
    | %(?:25)?([0-9a-f]{2})
    | &\#x0{0,4}([0-9a-f]{2});?
    | &\#0{0,4}([0-9]{2,3});?
    | \\{1,4}(["'/])
    | &(?:amp|lt|gt|quot|apos);
    | \\{1,4}[nrt]
"""
_SPACE = r"| [\s\u200b\u200c\u200d\u2060\ufeff\u00ad]+"
_ESCAPING = frozenset("%\\&")
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")
_NAMED = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


@lru_cache(maxsize=1)
def _escapes() -> re.Pattern[str]:
    return re.compile(_ESCAPES, re.IGNORECASE | re.VERBOSE)


@lru_cache(maxsize=1)
def _spellings() -> re.Pattern[str]:
    return re.compile(_ESCAPES + _SPACE, re.IGNORECASE | re.VERBOSE)


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


# A text is looked through in windows, so that a huge one takes no more room than a small one: what
# stands before each of its characters costs a hundred times the character itself.

_WINDOW = 64 << 10
"""Characters in which a run may begin."""
_OVERLAP = 4 << 10
"""Characters that are seen beyond them at least, so that a run is seen whole."""
_WIDEST = 32
"""Characters that one of the secret's may be spelt with, white space included."""


def _hide_parts(text: str, secret: str) -> str:
    """``text`` without runs of the secret's characters, in whichever spelling."""
    if len(secret) < _SHORTEST_RUN or len(text) < _SHORTEST_RUN:
        return text
    text = _hide_runs(text, secret, _plain)
    # What looked like an escape may have been a sign before the key: %4f9A… begins with 4f9A.
    if any(sign in text for sign in _ESCAPING):
        text = _hide_runs(text, secret, _literal)
    return text


def _hide_runs(text: str, secret: str, view: Callable[[str], _View]) -> str:
    beyond = max(_OVERLAP, _WIDEST * len(secret))
    hidden: list[tuple[int, int]] = []
    for start in range(0, len(text), _WINDOW):
        window = text[start : start + _WINDOW + beyond]
        if not _may_hold(window, secret):
            continue
        for begin, end in _runs(view(window), secret):
            if begin >= _WINDOW:
                break  # the next window sees it whole
            if hidden and start + begin < hidden[-1][1]:
                hidden[-1] = (hidden[-1][0], max(hidden[-1][1], start + end))
            else:
                hidden.append((start + begin, start + end))
    if not hidden:
        return text
    kept: list[str] = []
    shown = 0
    for begin, end in hidden:
        kept += [text[shown:begin], REDACTED]
        shown = end
    return "".join((*kept, text[shown:]))


def _may_hold(window: str, secret: str) -> bool:
    """False where no gram of the secret is in the text; quick, at the price of a few vain yes."""
    size, grams = _traces(secret)
    looks = [_bare(window)]
    if any(sign in window for sign in _ESCAPING):
        looks.append(_bare(_escapes().sub(_spelt, window)))
    return len(secret.split()) > 1 or any(
        look[at : at + size] in grams for look in looks for at in range(0, len(look), size)
    )


def _bare(text: str) -> str:
    """``text`` in lower case without anything that takes no ink."""
    text = "".join(text.split())
    if not text.isascii():
        text = text.translate(dict.fromkeys(map(ord, _INVISIBLE)))
    return _lower(text)


def _runs(view: _View, secret: str) -> Iterator[tuple[int, int]]:
    """Where runs of the secret's characters stand in the text that is viewed, in their order."""
    size, grams = _traces(secret)
    plain, begins, ends = view
    done = 0
    for at in range(0, len(plain) - size + 1, size):
        places = grams.get(plain[at : at + size]) if at >= done else None
        if not places:
            continue
        begin, end = max((_reach(plain, at, size, *place) for place in places), key=_width)
        if begin != end:
            done = end
            yield begins[begin], ends[end - 1]


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


# --- answers --------------------------------------------------------------------------------------

_LOOKS_SECRET = 16
"""A key of so many characters, letters and digits among them, is no word that an answer has."""

_HELD = 4
"""Characters of a run at the end of a text from which it waits for what follows."""

_HALF_ESCAPE = (
    r"(?:\\{1,4}(?:u\{?[0-9a-f]{0,5}|x[0-9a-f]?)?|%(?:2|25)?[0-9a-f]?"
    r"|&(?:\#x?[0-9a-f]{0,5}|[a-z]{0,4}))$"
)


def is_telling(secret: str) -> bool:
    """Whether a secret looks made at random, so that parts of it stand nowhere by chance."""
    return (
        len(secret) >= _LOOKS_SECRET
        and any(map(str.isdigit, secret))
        and any(map(str.isalpha, secret))
    )


def holds(text: str, *secrets: str) -> bool:
    """Whether a name that a server gives has one of the secrets in it, in whichever spelling."""
    return any(
        len(secret) >= _SHORTEST_RUN
        and (secret in text or (is_telling(secret) and hide_runs(text, secret) != text))
        for secret in map(str.strip, secrets)
    )


def is_quiet(text: str, secret: str) -> bool:
    """Whether a text plainly holds no part of the secret; quick, False where that is unclear."""
    if not (text.isascii() or _INVISIBLE.isdisjoint(text)) or not _ESCAPING.isdisjoint(text):
        return False
    grams, _, _ = _endings(secret)
    plain = _lower("".join(text.split()))
    return all(plain[at : at + _HELD] not in grams for at in range(len(plain) - _HELD + 1))


def hide_runs(text: str, secret: str) -> str:
    """``text`` without long runs of the secret's characters, in whichever spelling; no more."""
    return _hide_parts(text, secret)


def unfinished_run(text: str, secret: str) -> int:
    """How many characters at the end of ``text`` may go on to be a run of the secret's."""
    endings, stems, longest = _endings(secret)
    window = text[-16 * longest :]
    whole = re.sub(_HALF_ESCAPE, "", window, flags=re.IGNORECASE)
    waits = 0
    for plain, begins, _ in (_plain(whole), _literal(whole)):
        if plain[-_HELD:] not in endings:
            continue
        for stem in stems:
            reach = _suffix(plain, stem)
            if reach >= _HELD:
                waits = max(waits, len(window) - begins[len(plain) - reach])
    return waits


@lru_cache(maxsize=64)
def _endings(secret: str) -> tuple[frozenset[str], tuple[str, ...], int]:
    """Four characters of any spelling, the spellings themselves, the longest one's length."""
    _, grams = _traces(secret)
    stems = tuple(dict.fromkeys(stem for places in grams.values() for stem, _, _ in places))
    ends = (stem[at : at + _HELD] for stem in stems for at in range(len(stem) - _HELD + 1))
    return frozenset(ends), stems, max(map(len, stems), default=1)


def _suffix(plain: str, stem: str) -> int:
    """How long the end of ``plain`` is that stands in ``stem``, and goes on there."""
    inner = stem[:-1]
    if plain[-_HELD:] not in inner:
        return 0
    reach = _HELD
    while reach < len(plain) and plain[-reach - 1 :] in inner:
        reach += 1
    return reach
