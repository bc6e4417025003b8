"""The words that are one token each to a server, found with few questions to its tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Counter = Callable[[Sequence[str]], list[int] | None]
"""Texts → tokens of each; None where the server cannot tell."""
_FIRSTS = 24


def one_token_words(
    words: Sequence[str], count: Counter
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Words that add one token each after another word, and those that are one at the beginning.

    Halves of the words that add more tokens than there are words are looked at again, so that one
    question tells of many. None where the tokenizer cannot be asked.
    """
    known: list[str] = []
    anchor = words[0]
    groups = [list(words)]
    while groups:
        texts = [anchor, *(f"{anchor} {' '.join(group)}" for group in groups)]
        counts = count(texts)
        if counts is None:
            return None
        halves = []
        for group, tokens in zip(groups, counts[1:], strict=True):
            if tokens - counts[0] == len(group):
                known += group
            elif len(group) > 1:
                middle = len(group) // 2
                halves += [group[:middle], group[middle:]]
        groups = halves
    if not known:
        return (), ()
    known.sort(key=words.index)
    candidates = known[:_FIRSTS]
    counts = count([f"{word} {known[-1]}" for word in candidates])
    if counts is None:
        return None
    least = min(counts)
    firsts = tuple(w for w, tokens in zip(candidates, counts, strict=True) if tokens == least)
    return tuple(known), firsts
