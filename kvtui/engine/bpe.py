"""Byte-pair encoding over bytes written as printable characters (GPT-2's alphabet)."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from kvtui.engine.pretokenize import Pretokenizer


def byte_alphabet() -> list[str]:
    """The character that stands for each byte: itself where printable, else from U+0100 on.

    Source: `bytes_to_unicode` of GPT-2's encoder.py.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    alphabet, spare = [], 0x100
    for byte in range(256):
        if byte in printable:
            alphabet.append(chr(byte))
        else:
            alphabet.append(chr(spare))
            spare += 1
    return alphabet


class BytePairs:
    """The merges of one vocabulary.

    Args:
        vocabulary: token text (in the byte alphabet) to id.
        merges: pairs in order of rank, each "left right".
    """

    def __init__(self, vocabulary: Mapping[str, int], merges: Iterable[str]) -> None:
        self._vocabulary = vocabulary
        self._ranks: dict[tuple[str, str], int] = {}
        for rank, merge in enumerate(merges):
            left, _, right = merge.partition(" ")
            self._ranks.setdefault((left, right), rank)
        self.encode_word = lru_cache(maxsize=8192)(self._encode_word)

    def _encode_word(self, word: str) -> tuple[int, ...]:
        """The ids of one word written in the byte alphabet; unknown bytes are left out."""
        if word in self._vocabulary and len(word) == 1:
            return (self._vocabulary[word],)
        vocabulary = self._vocabulary
        return tuple(vocabulary[piece] for piece in self._merge(word) if piece in vocabulary)

    def _merge(self, word: str) -> list[str]:
        """Apply the merges, lowest rank first and leftmost first, in O(n log n)."""
        pieces: list[str | None] = list(word)
        left = list(range(-1, len(word) - 1))
        right = list(range(1, len(word) + 1))
        queue: list[tuple[int, int, str, str]] = []

        def offer(at: int) -> None:
            after = right[at]
            if at < 0 or after >= len(pieces):
                return
            first, second = pieces[at], pieces[after]
            if first is None or second is None:
                return
            rank = self._ranks.get((first, second))
            if rank is not None:
                heapq.heappush(queue, (rank, at, first, second))

        for at in range(len(pieces) - 1):
            offer(at)
        while queue:
            _, at, first, second = heapq.heappop(queue)
            after = right[at]
            if pieces[at] != first or after >= len(pieces) or pieces[after] != second:
                continue  # one of the two has merged otherwise since
            pieces[at] = first + second
            pieces[after] = None
            right[at] = right[after]
            if right[at] < len(pieces):
                left[right[at]] = at
            if left[at] >= 0:
                offer(left[at])
            offer(at)
        return [piece for piece in pieces if piece is not None]


class ByteLevel:
    """A byte-level vocabulary, as GPT-2's: words are cut, written as bytes, and merged.

    Args:
        tokens: the text of each id in the byte alphabet.
        merges: pairs in order of rank, each "left right".
        special: ids that plain text never becomes.
        pre: the rules by which words are cut.
    """

    def __init__(
        self, tokens: Sequence[str], merges: Iterable[str], special: Collection[int], pre: str
    ) -> None:
        self._tokens = tokens
        self._pretokenizer = Pretokenizer(pre)
        vocabulary = {token: i for i, token in enumerate(tokens) if i not in special}
        self._pairs = BytePairs(vocabulary, merges)
        self._to_char = byte_alphabet()
        self._to_byte = {char: byte for byte, char in enumerate(self._to_char)}

    def encode(self, text: str) -> list[int]:
        """The ids of a text that holds no special token."""
        ids: list[int] = []
        for word in self._pretokenizer.split(text):
            raw = word.encode("utf-8", "replace")
            ids += self._pairs.encode_word("".join([self._to_char[byte] for byte in raw]))
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        """What a token stands for."""
        token, to_byte = self._tokens[token_id], self._to_byte
        if all(char in to_byte for char in token):
            return bytes([to_byte[char] for char in token])
        return token.encode("utf-8", "replace")
