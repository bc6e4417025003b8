"""Whether a word that was typed for something else is a key: told by its look alone."""

from __future__ import annotations

import itertools
import re

from kvtui.redaction import is_telling, redact

# As texts: the first frame compiles none of them.
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_WORDS = r"[A-Za-z0-9]+"
_PIECES = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
"""What a word like ``MyOpenAiKey2`` is put together from."""
_PREFIX = r"(?:sk|pk|rk|gsk|xai|hf|nvapi|ghp|gho|glpat|r8|pplx)[-_]"
"""How the keys of many providers begin."""
_ENCODED = r"(?:AIza|eyJ)[A-Za-z0-9_-]{10,}"
_NAMING = frozenset(
    [
        "key",
        "keys",
        "token",
        "tokens",
        "secret",
        "secrets",
        "password",
        "passwd",
        "pwd",
        "credential",
        "credentials",
        "auth",
    ]
)
"""Words that a variable with a key is named by; no random letters are one between two capitals."""

_LONG = 24
"""Letters and digits without a break: no word of a name, unless capitals part it into words."""
_PIECE = 2.75
"""Characters of such a part on average; of random letters in both cases they are fewer."""


def looks_like_key(text: str) -> bool:
    """Whether what should be the *name* of a variable is rather a key: its shape, or its letters.

    ``HF_API_KEY`` and ``MyAzureOpenAiKey`` are names; ``hf_4fTx…``, ``sk-…`` and a word of random
    letters and digits are keys.
    """
    if not re.fullmatch(_IDENTIFIER, text):
        return redact(text) != text or any(
            is_telling(word) or (len(word) >= _LONG and _mixed(word))
            for word in re.findall(_WORDS, text)
        )
    return has_key_form(text) or any(map(_is_random, re.findall(_WORDS, text)))


def has_key_form(text: str) -> bool:
    """Whether a text begins as a provider's keys do, and goes on as no name does.

    ``xai-org/grok-1`` and ``hf_api_key`` do not.
    """
    if re.match(_ENCODED, text):
        return True
    prefix = re.match(_PREFIX, text, re.IGNORECASE)
    if prefix is None:
        return False
    rest = text[prefix.end() :]
    if prefix[0] == "sk-" and len(rest) >= 6:
        return True
    return any(
        _is_random(word) or _is_random_after_prefix(word) for word in re.findall(_WORDS, rest)
    )


def _is_random_after_prefix(word: str) -> bool:
    if len(word) < 10:
        return False
    return (
        _changes(word) >= 2
        or (_mixed(word) and _is_jumbled(word))
        or (len(word) >= 16 and is_telling(word))
        or (len(word) >= _LONG and not _is_named(word))
    )


def _is_random(word: str) -> bool:
    """Whether a word is nobody's: letters and digits alternate in it, or small and capital ones."""
    return (len(word) >= 16 and _changes(word) >= 3) or (
        len(word) >= _LONG and _mixed(word) and _is_jumbled(word)
    )


def _changes(word: str) -> int:
    """How often a letter follows a digit in it, or a digit a letter."""
    return sum(a.isdigit() != b.isdigit() for a, b in itertools.pairwise(word))


def _mixed(word: str) -> bool:
    return not (word.isupper() or word.islower() or word.isdigit())


def _is_jumbled(word: str) -> bool:
    pieces = re.findall(_PIECES, word)
    return not _is_named(word) and len(word) < _PIECE * len(pieces)


def _is_named(word: str) -> bool:
    return any(piece.lower() in _NAMING for piece in re.findall(_PIECES, word))
