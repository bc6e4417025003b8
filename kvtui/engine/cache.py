"""The KV cache: arrays allocated once, a slot per sequence.

`np.zeros` leaves the pages untouched, so the memory is reserved but not yet taken: a slot
costs what has been written to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvtui.engine.geometry import LlamaConfig

Floats = NDArray[np.float32]


@dataclass(slots=True)
class Slot:
    """One sequence's part of the cache.

    Attributes:
        keys: (layers, kv_heads, context, head_dim), rotated by RoPE.
        values: the same shape.
        length: tokens in use; what lies behind is free.
    """

    keys: Floats
    values: Floats
    length: int = 0
    taken: bool = False

    def grow(self, length: int) -> None:
        """Count what a pass has written; without effect on a slot given back meanwhile."""
        if self.taken:
            self.length = length

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays' part in use: 2 · layers · kv_heads · head_dim · itemsize · length.

        Taken from the arrays, not from the formula, so that the two can be compared.
        """
        return self.keys[:, :, : self.length].nbytes + self.values[:, :, : self.length].nbytes


class KVCache:
    """All slots of an engine.

    Args:
        config: the model's sizes.
        slots: sequences that can be held at once.
        context: tokens reserved for each.
    """

    def __init__(self, config: LlamaConfig, slots: int, context: int) -> None:
        shape = (slots, config.layers, config.kv_heads, context, config.head_dim)
        self._keys = np.zeros(shape, np.float32)
        self._values = np.zeros(shape, np.float32)
        self.context = context
        self.slots = [Slot(k, v) for k, v in zip(self._keys, self._values, strict=True)]

    @property
    def itemsize(self) -> int:
        """Bytes of one number in the cache."""
        return self._keys.itemsize

    @property
    def nbytes_total(self) -> int:
        """Bytes reserved for all slots."""
        return self._keys.nbytes + self._values.nbytes

    @property
    def nbytes_in_use(self) -> int:
        """Bytes that hold cached tokens now."""
        return sum(slot.nbytes for slot in self.slots)

    @property
    def tokens_in_use(self) -> int:
        """Tokens cached now, over all slots."""
        return sum(slot.length for slot in self.slots)

    @property
    def tokens_total(self) -> int:
        """Tokens that fit in all slots."""
        return len(self.slots) * self.context

    def take(self) -> Slot | None:
        """A free slot, emptied; None where all are taken."""
        for slot in self.slots:
            if not slot.taken:
                slot.taken, slot.length = True, 0
                return slot
        return None

    def release(self, slot: Slot) -> None:
        """Give a slot back; its contents no longer count."""
        slot.taken, slot.length = False, 0
