"""What is wrong with a key's form. The key itself, or any part of it, is never given back."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from kvtui.language import later, retold

PLACEHOLDER = "placeholder"
LOGIN_TOKEN = "oauth"


@dataclass(frozen=True, slots=True)
class KeyForm:
    """What may be said of a key: the fields of ``KeyFacts`` that its form decides."""

    length: int
    problem: str | None = None
    """Completes "The key ...": ``ends with a space (character 52)``."""
    kind: str | None = None
    """``placeholder``, ``oauth``, or None."""
    belongs_to: str | None = None
    """The one provider whose keys look like this."""


_QUOTES = "\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb\u2033\u2032\uff02\uff07"
_PASTED = re.compile(r"\s*(?:authorization\s*[:=]\s*)?(bearer|basic|token)[\s:]", re.IGNORECASE)
_ASSIGNED = re.compile(r"\s*(?:export\s+|set\s+)?[A-Z][A-Z0-9_]*KEY\s*=")
_VARIABLE = re.compile(r"\$\{?[A-Za-z_]\w*\}?$|%[A-Za-z_]\w*%$|\$env:\w+$|\{\{.*\}\}$")
_PLACEHOLDERS = (
    re.compile(r"(?:[a-z]{1,6}-)*(?:ant-|or-|proj-|v1-)*[x*.•…_-]{3,}(?:[a-z]?)$", re.IGNORECASE),
    re.compile(r"(?:sk|key|token)?[-_ ]?x{3,}(?:[-_]?x+)*$", re.IGNORECASE),
    re.compile(r"<.*>$|\[.*\]$"),
    re.compile(
        r"(?:.*[-_ ])?(?:your|insert|enter|paste|replace)[-_ ]?(?:\w+[-_ ])*"
        r"(?:api[-_ ]?)?(?:key|token|secret)(?:[-_ ].*)?$",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:.*[-_ ])?(?:api[-_ ]?key|token|key)[-_ ]?(?:here|goes[-_ ]here)$", re.IGNORECASE
    ),
    re.compile(r"(?:change[-_ ]?me|replace[-_ ]?me|todo|fill[-_ ]?me[-_ ]?in|redacted)$", re.I),
    re.compile(r"(?:sk-)?(?:your[-_ ]|你的|您的|填写|填入|替换).*", re.IGNORECASE),
)
_LOGIN_TOKENS = re.compile(
    r"sk-ant-oat|sk-ant-sid|ya29\.|gh[opsu]_|github_pat_|sess-|sess_|ory_at_|eyJ[\w-]+\.eyJ[\w-]+\."
)
_OWNERS = (
    ("sk-ant-", "Anthropic"),
    ("sk-or-", "OpenRouter"),
    ("sk-proj-", "OpenAI"),
    ("sk-svcacct-", "OpenAI"),
    ("gsk_", "Groq"),
    ("xai-", "xAI"),
    ("AIza", "Google Gemini"),
    ("hf_", "Hugging Face"),
    ("nvapi-", "NVIDIA NIM"),
    ("fw_", "Fireworks"),
    ("csk-", "Cerebras"),
    ("pplx-", "Perplexity"),
    ("r8_", "Replicate"),
)


_IS_VARIABLE = later("is the name of a variable, not its value")
_IS_PLACEHOLDER = later("is a placeholder, not a key")
_IS_LOGIN = later("has the form of a login (OAuth) token, not of an API key")
_IS_EMPTY = later("is empty")
_IS_BLANK = later("is nothing but white space")
_HAS_WORD = later('begins with "{word}", which belongs to the header, not to the key')
_IS_ASSIGNED = later("begins with the name of a variable and an equals sign")
_BEGINS = later("begins with {what} (character 1)")
_ENDS = later("ends with {what} (character {place})")
_QUOTED = later("stands in quotes (characters 1 and {place})")
_BEGINS_QUOTED = later("begins with a quote (character 1)")
_ENDS_QUOTED = later("ends with a quote (character {place})")
_HOLDS = later("has {what} at character {place}")
_A_QUOTE = later("a typographic quote")
_A_SPACE = later("a space that is not ASCII")
_A_CONTROL = later("a control or invisible character (U+{code})")
_A_CHARACTER = later("a character that is not ASCII")
_PROBLEMS = (
    _IS_VARIABLE,
    _IS_PLACEHOLDER,
    _IS_LOGIN,
    _IS_EMPTY,
    _IS_BLANK,
    _HAS_WORD,
    _IS_ASSIGNED,
    _BEGINS,
    _ENDS,
    _QUOTED,
    _BEGINS_QUOTED,
    _ENDS_QUOTED,
    _HOLDS,
)


def problem_shown(problem: str) -> str:
    """What is wrong with a key, which is told in English, in the language in use."""
    return retold(problem, _PROBLEMS)


def inspect_key(key: str) -> KeyForm:
    """Look at a key's form, as it was found (not stripped).

    Returns:
        Length, what is wrong with it and where (positions count from 1), its kind and its owner;
        never a part of the key.
    """
    core = key.strip().strip(_QUOTES).strip()
    owner = next((name for prefix, name in _OWNERS if core.startswith(prefix)), None)
    kind, said = _kind(core)
    problem = _blank(key) or (said if kind == PLACEHOLDER else None) or _shape(key) or said
    return KeyForm(len(key), problem, kind, owner if kind is None else None)


def _kind(core: str) -> tuple[str | None, str | None]:
    if _VARIABLE.match(core):
        return PLACEHOLDER, _IS_VARIABLE
    if any(pattern.match(core) for pattern in _PLACEHOLDERS):
        return PLACEHOLDER, _IS_PLACEHOLDER
    if _LOGIN_TOKENS.match(core):
        return LOGIN_TOKEN, _IS_LOGIN
    return None, None


def _blank(key: str) -> str | None:
    if not key:
        return _IS_EMPTY
    return _IS_BLANK if not key.strip() else None


def _shape(key: str) -> str | None:
    """The first thing about the characters that no key has, with its position."""
    pasted = _PASTED.match(key)
    if pasted:
        return _HAS_WORD.format(
            word=pasted[1].capitalize(),
        )
    if _ASSIGNED.match(key):
        return _IS_ASSIGNED
    if key[0].isspace():
        return _BEGINS.format(what=_named(key[0]))
    if key[-1].isspace():
        place = len(key.rstrip()) + 1
        return _ENDS.format(what=_named(key[-1]), place=place)
    if key[0] in _QUOTES or key[-1] in _QUOTES:
        place = 1 if key[0] in _QUOTES else len(key)
        if len(key) > 1 and key[0] in _QUOTES and key[-1] in _QUOTES:
            return _QUOTED.format(place=len(key))
        if place == 1:
            return _BEGINS_QUOTED
        return _ENDS_QUOTED.format(place=place)
    for place, char in enumerate(key, 1):
        if char.isspace() or not char.isprintable() or not char.isascii():
            return _HOLDS.format(what=_named(char), place=place)
    return None


_NAMES = {
    " ": later("a space"),
    "\n": later("a line break"),
    "\r": later("a line break"),
    "\t": later("a tab"),
    "\u00a0": later("a no-break space"),
    "\u200b": later("a zero-width space"),
    "\ufeff": later("a byte order mark"),
    "\u2026": later("an ellipsis"),
}


def _named(char: str) -> str:
    """What a character is called, without quoting it."""
    if char in _NAMES:
        return _NAMES[char]
    if char in _QUOTES:
        return _A_QUOTE
    category = unicodedata.category(char)
    if category.startswith("Z"):
        return _A_SPACE
    if category.startswith("C"):
        return _A_CONTROL.format(code=f"{ord(char):04X}")
    return _A_CHARACTER
