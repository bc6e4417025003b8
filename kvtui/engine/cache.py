"""The KV cache: arrays allocated once, a slot per sequence.

Their memory is mapped but not touched: a slot takes from the machine what has been written to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.engine.errors import EngineError
from kvtui.engine.geometry import LlamaConfig
from kvtui.engine.precision import Store, store_of, used_bytes


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
    keys: Store
    values: Store
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
        itemsize · tokens), so that the two can be compared; int8's scales are in them.
        """
        length = self.length  # read once: the engine's thread may go on meanwhile
        nbytes = used_bytes(self.keys, length) + used_bytes(self.values, length)
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
        precision: of the numbers, one of `PRECISIONS`.

    Raises:
        EngineError: the system refuses that much memory.

    Attributes:
        keys: (slots, layers, kv_heads, context, head_dim), and `values` the same.
    """

    def __init__(
        self, config: LlamaConfig, slots: int, context: int, precision: str = "f32"
    ) -> None:
        self.precision = precision
        shape = (slots, config.layers, config.kv_heads, context, config.head_dim)
        try:
            self.keys = store_of(shape, precision)
            self.values = store_of(shape, precision)
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
    def bytes_per_token(self) -> int:
        """Bytes that one more token of a sequence takes."""
        slot = self.slots[0]
        return used_bytes(slot.keys, 1) + used_bytes(slot.values, 1)

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
