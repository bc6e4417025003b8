r"""The split of text into words before byte-pair encoding.

The patterns are those of Hugging Face's tokenizers and of llama.cpp. They speak of `\p{L}`
(letters) and `\p{N}` (numbers), which Python's `re` does not know. So each character beyond
ASCII is first replaced by an ASCII one of its class, the pattern runs over that shadow, and the
cuts are made in the original.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
_GPT2 = rf"{_CONTRACTIONS}| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    rf"(?i:{_CONTRACTIONS})|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]{{1,3}}"
    r"| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_DIGIT = r"[0-9]|[^0-9]+"

_STEPS: dict[str, tuple[str, ...]] = {
    "smollm": (_DIGIT, _GPT2),
    "gpt-2": (_GPT2,),
    "default": (_GPT2,),
    "llama-bpe": (_LLAMA3,),
}
NAMES = frozenset(_STEPS)
"""The values of `tokenizer.ggml.pre` that `Pretokenizer` knows."""

_WHITE_SPACE = frozenset("\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | frozenset(
    map(chr, range(0x2000, 0x200B))
)


class _Shadow(dict[int, str]):
    """A table for `str.translate`: the ASCII stand-in for a character's class."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if code < 128:
            stand_in = char
        elif char in _WHITE_SPACE:
            stand_in = "\t"
        else:
            stand_in = {"L": "a", "N": "0"}.get(unicodedata.category(char)[0], "!")
        self[code] = stand_in
        return stand_in


_SHADOW = _Shadow()


class Pretokenizer:
    """Cuts text into the words within which byte pairs may merge."""

    def __init__(self, name: str) -> None:
        self._patterns = [re.compile(step, re.ASCII) for step in _STEPS[name]]

    def split(self, text: str) -> Iterator[str]:
        """The words of `text` in order; together they are `text`."""
        shadow = text if text.isascii() else text.translate(_SHADOW)
        spans = [(0, len(text))]
        for pattern in self._patterns:
            # Each span is cut out first: a look-ahead must not see beyond it.
            spans = [
                (start + match.start(), start + match.end())
                for start, end in spans
                for match in pattern.finditer(shadow[start:end])
            ]
        return (text[start:end] for start, end in spans)
