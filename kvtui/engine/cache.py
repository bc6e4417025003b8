"""The KV cache: arrays allocated once, a slot per sequence.

Their memory is mapped but not touched: a slot takes from the machine what has been written to
it. Huge pages would take a slot's whole reservation with its first tokens (NumPy asks for them
for large arrays), so the mapping is made here and declines them.
"""

from __future__ import annotations

import math
import mmap
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvtui.engine.errors import EngineError
from kvtui.engine.geometry import LlamaConfig

Floats = NDArray[np.float32]


@dataclass(slots=True)
class Slot:
    """One sequence's part of the cache.

    Attributes:
        index: its place among the slots.
        keys: (layers, kv_heads, context, head_dim), rotated by RoPE.
        values: the same shape.
        length: tokens in use; what lies behind is free.
    """

    index: int
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
        """Bytes in use; see `usage`."""
        return self.usage().nbytes

    def usage(self) -> Usage:
        """Tokens in use, and the bytes of the arrays' part that holds them.

        The bytes are the arrays' own, not the formula's (2 · layers · kv_heads · head_dim ·
        itemsize · tokens), so that the two can be compared.
        """
        length = self.length  # read once: the engine's thread may go on meanwhile
        nbytes = self.keys[:, :, :length].nbytes + self.values[:, :, :length].nbytes
        return Usage(length, nbytes)


@dataclass(frozen=True, slots=True)
class Usage:
    """What of a cache is in use."""

    tokens: int
    nbytes: int


class KVCache:
    """All slots of an engine.

    Args:
        config: the model's sizes.
        slots: sequences that can be held at once.
        context: tokens reserved for each.

    Raises:
        EngineError: the system refuses that much memory.

    Attributes:
        keys: (slots, layers, kv_heads, context, head_dim), and `values` the same.
    """

    def __init__(self, config: LlamaConfig, slots: int, context: int) -> None:
        shape = (slots, config.layers, config.kv_heads, context, config.head_dim)
        try:
            self.keys = _lazy_zeros(shape)
            self.values = _lazy_zeros(shape)
        except (OSError, OverflowError, ValueError) as error:
            size = slots * context * config.kv_bytes_per_token() / 2**30
            raise EngineError(
                f"This machine does not give the {size:.1f} GiB that the KV cache of {slots} "
                f"sequences of {context} tokens reserves; run fewer at once."
            ) from error
        self.context = context
        self.slots = [
            Slot(i, k, v) for i, (k, v) in enumerate(zip(self.keys, self.values, strict=True))
        ]

    @property
    def itemsize(self) -> int:
        """Bytes of one number in the cache."""
        return self.keys.itemsize

    @property
    def nbytes_total(self) -> int:
        """Bytes reserved for all slots."""
        return self.keys.nbytes + self.values.nbytes

    def usage(self) -> Usage:
        """What all slots hold now."""
        parts = [slot.usage() for slot in self.slots]
        return Usage(sum(part.tokens for part in parts), sum(part.nbytes for part in parts))

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


def _lazy_zeros(shape: tuple[int, ...]) -> Floats:
    """Zeros whose pages are taken one by one, as they are first written."""
    size = math.prod(shape) * np.dtype(np.float32).itemsize
    private = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
    memory = mmap.mmap(-1, size, flags=private) if private else mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a kernel built without huge pages
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.float32).reshape(shape)
