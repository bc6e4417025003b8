"""Synthetic prompts: plain words, as many as make the tokens wanted, no two alike unless asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

_TEXT = (
    "time year people way day man thing woman life child world school state family student "
    "group country problem hand part place case week company system program question work "
    "government number night point home water room mother area money story fact month lot right "
    "study book eye job word business issue side kind head house service friend father power "
    "hour game line end member law car city community name president team minute idea kid body "
    "information back parent face others level office door health person art war history party "
    "result change morning reason research girl guy moment air teacher force education"
)
WORDS = _TEXT.split()
"""Common English words: one token each in the usual vocabularies."""
PROBES = (64, 320)
"""Words of the two prompts that show how many tokens a word takes."""


LEAST_WORDS = 3
"""Words of a prompt: with fewer, some of a run's prompts would be the same by chance, and what a
server keeps of the one would answer the other."""


@dataclass(frozen=True, slots=True)
class Words:
    """How words become tokens at one endpoint: ``tokens = fixed + per_word × words``."""

    fixed: float = 0.0
    per_word: float = 1.0
    measured: bool = False
    """Else the lengths are approximate."""
    source: str = "none"
    """``tokenizer``: the server's tokenizer was asked, and two probes; ``probes``: these alone."""
    vocabulary: tuple[str, ...] = ()
    """The words to use; empty: all."""
    firsts: tuple[str, ...] = ()
    """The words to begin with; empty: all."""

    @property
    def exact(self) -> bool:
        """A prompt has the very length that was asked for: each word is one token."""
        return self.source == "tokenizer" and self.per_word == 1.0

    def needed(self, tokens: int) -> int:
        """Words that make ``tokens`` prompt tokens; a few, where the template alone is as long."""
        return max(LEAST_WORDS, round((tokens - self.fixed) / self.per_word))

    @property
    def shortest(self) -> float:
        """Tokens of the shortest prompt that is made."""
        return self.fixed + self.per_word * LEAST_WORDS


def synthetic(words: int, key: str, using: Words | None = None) -> str:
    """A text of ``words`` words; another ``key`` gives another from its first word on."""
    random = Random(key)
    chosen = random.choices((using and using.vocabulary) or WORDS, k=words)
    if using and using.firsts:
        chosen[0] = random.choice(using.firsts)
    return " ".join(chosen)


def fit_words(points: Sequence[tuple[int, int | None]]) -> Words:
    """What probes of (words, prompt tokens the server counted) tell; unmeasured where nothing."""
    known = [(words, tokens) for words, tokens in points if tokens]
    if len(known) < 2:
        return Words()
    (low, at_low), (high, at_high) = known[0], known[-1]
    per_word = (at_high - at_low) / (high - low)
    if not 0.3 <= per_word <= 8:
        return Words()  # the server counts something else
    return Words(max(0.0, at_low - per_word * low), per_word, measured=True, source="probes")
