"""SentencePiece vocabularies: the neighbours whose union scores highest merge, until none can.

As llama.cpp's `llm_tokenizer_spm`: a space is written "▁", and what is in no token becomes the
byte tokens "<0x00>" to "<0xFF>".
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

_SPACE = "\u2581"


class SentencePieces:
    """A vocabulary with a score per token.

    Args:
        tokens: the text of each id.
        scores: the higher, the earlier two pieces merge into it.
        special: ids that plain text never becomes.
        space_prefix: whether a text is read as if a space stood before it.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        scores: Sequence[float],
        special: Collection[int],
        *,
        space_prefix: bool = True,
    ) -> None:
        self._tokens = tokens
        self._scores = scores
        self._space_prefix = space_prefix
        self._ids = {token: i for i, token in enumerate(tokens) if i not in special}
        self._byte_ids = [self._ids.get(f"<0x{byte:02X}>") for byte in range(256)]
        self._bytes = {i: byte for byte, i in enumerate(self._byte_ids) if i is not None}

    def encode(self, text: str) -> list[int]:
        """The ids of a text that holds no special token."""
        if not text:
            return []
        if self._space_prefix:
            text = " " + text
        ids: list[int] = []
        for piece in self._merge(text.replace(" ", _SPACE)):
            known = self._ids.get(piece)
            if known is not None:
                ids.append(known)
            else:
                raw = piece.encode("utf-8", "replace")
                ids += [i for byte in raw if (i := self._byte_ids[byte]) is not None]
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        """What a token stands for."""
        if token_id in self._bytes:
            return bytes([self._bytes[token_id]])
        return self._tokens[token_id].replace(_SPACE, " ").encode("utf-8", "replace")

    def _merge(self, text: str) -> list[str]:
        """Merge neighbours, the highest score first and the leftmost of equals, O(n log n)."""
        pieces: list[str] = list(text)
        left = list(range(-1, len(text) - 1))
        right = list(range(1, len(text) + 1))
        queue: list[tuple[float, int, int]] = []

        def offer(first: int) -> None:
            second = right[first] if first >= 0 else len(pieces)
            if second < len(pieces):
                union = pieces[first] + pieces[second]
                known = self._ids.get(union)
                if known is not None:
                    heapq.heappush(queue, (-self._scores[known], first, len(union)))

        for first in range(len(pieces) - 1):
            offer(first)
        while queue:
            _, first, size = heapq.heappop(queue)
            second = right[first]
            if not pieces[first] or second >= len(pieces):
                continue
            if len(pieces[first]) + len(pieces[second]) != size:
                continue  # one of the two has merged otherwise since
            pieces[first] += pieces[second]
            pieces[second] = ""
            right[first] = right[second]
            if right[first] < len(pieces):
                left[right[first]] = first
            offer(left[first])
            offer(first)
        return [piece for piece in pieces if piece]
