"""Weights and cached numbers held in fewer bytes than they are computed in.

All arithmetic is float32: what is stored shorter is widened as it is read, each time. That saves
memory and costs time; a GPU, which reads memory slower than it computes, gains from the same.

int8 is symmetric: a float32 scale for each row of a matrix, and for each cached key and value
vector, so that its largest number becomes ±127. Vectors (the norms) stay float32.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
PRECISIONS = ("f32", "f16", "int8")
NAMES = {"f32": "float32", "f16": "float16", "int8": "int8"}
_BLOCK = 1 << 19
"""Weights widened at once: 2 MiB of float32, which a core's cache holds."""
_LARGEST_HALF = 65504.0


class PackedMatrix:
    """A matrix (outputs, inputs) in float16, or in int8 with a scale for each row.

    Attributes:
        data: the numbers.
        scales: (outputs,), or None where there are none.
    """

    def __init__(self, weights: Floats, precision: str) -> None:
        self.scales: Floats | None = None
        self.data: NDArray[Any]
        if precision == "f16":
            self.data = _half(weights)
        else:
            self.data, self.scales = _int8(weights)

    def __len__(self) -> int:
        return len(self.data)

    @property
    def size(self) -> int:
        """Weights, scales not counted."""
        return self.data.size

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers and their scales."""
        return self.data.nbytes + (0 if self.scales is None else self.scales.nbytes)

    def __getitem__(self, rows: Any) -> Floats:
        """Rows in float32."""
        return _widened(self.data[rows], None if self.scales is None else self.scales[rows])

    def apply(self, x: Floats) -> Floats:
        """The matrix times one vector (inputs,), or times each row of (B, inputs)."""
        piece = max(1, _BLOCK // self.data.shape[1])
        out = np.empty((len(self.data), *x.shape[:-1]), np.float32)
        for begin in range(0, len(self.data), piece):
            block = self.data[begin : begin + piece].astype(np.float32)
            np.matmul(block, x.T, out=out[begin : begin + piece])
        if self.scales is not None:
            out *= self.scales if x.ndim == 1 else self.scales[:, None]
        return out.T


Matrix: TypeAlias = Floats | PackedMatrix


def packed(weights: Floats, precision: str) -> Matrix:
    """A matrix as it is held in a precision."""
    return weights if precision == "f32" else PackedMatrix(weights, precision)


class PackedStore:
    """Cached vectors in float16 or int8: written and read as float32, by NumPy's indices.

    The last axis is a vector; an index never cuts it.
    """

    def __init__(self, data: NDArray[Any], scales: Floats | None) -> None:
        self._data = data
        self._scales = scales

    @classmethod
    def zeros(cls, shape: tuple[int, ...], precision: str) -> PackedStore:
        """An empty store, whose pages are taken as they are first written."""
        if precision == "f16":
            return cls(lazy_zeros(shape, np.float16), None)
        return cls(lazy_zeros(shape, np.int8), lazy_zeros(shape[:-1], np.float32))

    def __iter__(self) -> Iterator[PackedStore]:
        """A store for each entry of the first axis, over the same memory."""
        for number, data in enumerate(self._data):
            yield PackedStore(data, None if self._scales is None else self._scales[number])

    def __setitem__(self, index: Any, vectors: Floats) -> None:
        if self._scales is None:
            self._data[index] = _half(vectors)
        else:
            self._data[index], self._scales[index] = _int8(vectors)

    def __getitem__(self, index: Any) -> Floats:
        return _widened(self._data[index], None if self._scales is None else self._scales[index])

    @property
    def itemsize(self) -> int:
        """Bytes of one number, its share of the scale left out."""
        return self._data.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes reserved."""
        return self._data.nbytes + (0 if self._scales is None else self._scales.nbytes)

    def used(self, length: int) -> int:
        """Bytes that hold the first ``length`` positions of a slot's store."""
        numbers = self._data[:, :, :length].nbytes
        return numbers + (0 if self._scales is None else self._scales[:, :, :length].nbytes)


Store: TypeAlias = Floats | PackedStore


def store_of(shape: tuple[int, ...], precision: str) -> Store:
    """An empty store of vectors in a precision."""
    return (
        lazy_zeros(shape, np.float32) if precision == "f32" else PackedStore.zeros(shape, precision)
    )


def used_bytes(store: Store, length: int) -> int:
    """Bytes that hold the first ``length`` positions of a slot's store."""
    if isinstance(store, PackedStore):
        return store.used(length)
    return store[:, :, :length].nbytes


def lazy_zeros(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Zeros whose pages are taken one by one, as they are first written.

    Huge pages would take all of it with the first of them (NumPy asks for them for large arrays),
    so the mapping is made here and declines them.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    private = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
    memory = mmap.mmap(-1, size, flags=private) if private else mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a kernel built without huge pages
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def _half(numbers: Floats) -> NDArray[np.float16]:
    """Rounded to float16; what is beyond its range becomes its largest number, not infinity."""
    return np.clip(numbers, -_LARGEST_HALF, _LARGEST_HALF).astype(np.float16)


def _int8(numbers: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Rounded to ±127 times a scale for each vector of the last axis."""
    scales: Floats = np.abs(numbers).max(axis=-1) / np.float32(127)
    steps = numbers / np.where(scales > 0, scales, np.float32(1))[..., None]
    return np.rint(steps).astype(np.int8), scales


def _widened(numbers: NDArray[Any], scales: Any) -> Floats:
    wide: Floats = numbers.astype(np.float32)
    if scales is not None:
        wide *= np.asarray(scales)[..., None]
    return wide
