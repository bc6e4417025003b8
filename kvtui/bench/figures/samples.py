"""Many requests in little memory: packed as they end, unpacked as they are looked at."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import overload

import msgspec

from kvtui.bench.figures.sample import Sample

_BLOCK = 32
"""Requests that are packed together: alike as they are, each takes about a tenth of its size."""
_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(list[Sample]).decode


class Samples(Sequence[Sample]):
    """Requests in their order, packed to some 165 bytes each; every look makes them anew.

    One thread may append while others read: they see what there was when they began.
    """

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self._blocks: list[bytes] = []
        self._open: list[Sample] = []
        self._count = 0
        self._lock = threading.Lock()
        for sample in samples:
            self.append(sample)

    def append(self, sample: Sample) -> None:
        """One more."""
        with self._lock:
            self._open.append(sample)
            self._count += 1
            if len(self._open) == _BLOCK:
                self._blocks.append(zlib.compress(_ENCODE(self._open), 1))
                self._open = []

    def only(self, test: Callable[[Sample], bool]) -> Samples:
        """Those that pass a test."""
        return Samples(filter(test, self))

    def copy(self) -> Samples:
        """What there is now; what is appended to one of the two is not in the other."""
        twin = Samples()
        with self._lock:
            twin._blocks, twin._open = self._blocks.copy(), self._open.copy()
            twin._count = self._count
        return twin

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Sample]:
        with self._lock:
            count, rest, blocks = self._count, self._open, self._blocks
        packed = chain.from_iterable(_unpacked(block) for block in islice(blocks, count // _BLOCK))
        return chain(packed, islice(rest, count % _BLOCK))

    @overload
    def __getitem__(self, place: int) -> Sample: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Sample]: ...
    def __getitem__(self, place: int | slice) -> Sample | Sequence[Sample]:
        """One of them; or several, unpacked."""
        if isinstance(place, slice):
            return list(self)[place]
        at = place + self._count if place < 0 else place
        if not 0 <= at < self._count:
            raise IndexError(place)
        with self._lock:
            block, number = divmod(at, _BLOCK)
            if block == len(self._blocks):
                return self._open[number]
            data = self._blocks[block]
        return _unpacked(data)[number]


def _unpacked(block: bytes) -> list[Sample]:
    return _DECODE(zlib.decompress(block))
