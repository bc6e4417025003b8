"""A reader of GGUF model files (ggml/docs/gguf.md, versions 2 and 3, little-endian)."""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np

from kvtui.engine.errors import ModelFileError
from kvtui.engine.quant import Floats, layout_of

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "?"}
_SCALARS |= {10: "<Q", 11: "<q", 12: "<d"}
_SMALLEST_FILE = 24
_DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where one tensor lies: `shape` in NumPy's order, `offset` from the file's start."""

    shape: tuple[int, ...]
    type_id: int
    offset: int

    @property
    def count(self) -> int:
        """Weights in the tensor."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class GGUFFile:
    """A model file's metadata and the places of its tensors; weights are read on demand."""

    path: Path
    metadata: dict[str, object]
    tensors: dict[str, TensorInfo]
    size: int = field(default=0)

    @classmethod
    def open(cls, path: Path | str) -> GGUFFile:
        """Read the header.

        Raises:
            ModelFileError: the file is missing, unreadable, no GGUF, or cut off.
        """
        path = Path(path)
        try:
            size = path.stat().st_size
            if size < _SMALLEST_FILE:
                raise ModelFileError(f"{path} is too small to be a GGUF model ({size} bytes).")
            with (
                path.open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            ):
                return _Header(path, data, size).read()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ModelFileError(f"{path} cannot be read: {reason}.") from error

    def load(self, name: str) -> Floats:
        """One tensor as float32, in NumPy's order (rows are outputs).

        Raises:
            ModelFileError: no such tensor, a type nobody can decode, or the file ends early.
        """
        info = self.tensors.get(name)
        if info is None:
            raise ModelFileError(f"{self.path} lacks the tensor {name}.")
        layout = layout_of(info.type_id)
        if layout is None:
            raise ModelFileError(
                f"{self.path} stores {name} as GGUF type {info.type_id}, which needs the "
                "`gguf` package (pip install 'kvtui[gguf]')."
            )
        if info.shape[-1] % layout.block:
            raise ModelFileError(f"{self.path} has rows of {name} that do not fill {layout.name}.")
        length = info.count // layout.block * layout.size
        if info.offset + length > self.size:
            raise ModelFileError(f"{self.path} is cut off: it ends within the tensor {name}.")
        try:
            with self.path.open("rb") as file:
                file.seek(info.offset)
                raw = np.fromfile(file, np.uint8, length)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ModelFileError(f"{self.path} cannot be read: {reason}.") from error
        if len(raw) < length:
            raise ModelFileError(f"{self.path} is cut off: it ends within the tensor {name}.")
        return layout.decode(raw).reshape(info.shape)


class _Header:
    """Walks over the header; every read is checked against the file's end."""

    def __init__(self, path: Path, data: mmap.mmap, size: int) -> None:
        self.path = path
        self.data = data
        self.size = size
        self.at = 0

    def read(self) -> GGUFFile:
        if self.data[:4] != b"GGUF":
            raise ModelFileError(f"{self.path} is no GGUF model (it does not begin with 'GGUF').")
        self.at = 4
        version = self.scalar("<I")
        if version not in (2, 3):
            raise ModelFileError(
                f"{self.path} is GGUF version {version!r}; versions 2 and 3 (little-endian) "
                "can be read."
            )
        tensor_count, pair_count = self.length(24), self.length(12)
        metadata: dict[str, object] = {}
        for _ in range(pair_count):
            key = self.string()
            metadata[key] = self.value(self.length_of("<I"))
        tensors = dict(self.tensor() for _ in range(tensor_count))
        alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise self.damaged("its alignment is unusable")
        base = -(-self.at // alignment) * alignment
        placed = {
            name: TensorInfo(info.shape, info.type_id, base + info.offset)
            for name, info in tensors.items()
        }
        return GGUFFile(self.path, metadata, placed, self.size)

    def damaged(self, fault: str) -> ModelFileError:
        return ModelFileError(f"{self.path} is damaged: {fault}.")

    def cut_off(self) -> ModelFileError:
        return ModelFileError(f"{self.path} is cut off: it ends within its header.")

    def scalar(self, code: str) -> int | float | bool:
        try:
            (value,) = struct.unpack_from(code, self.data, self.at)
        except struct.error as error:
            raise self.cut_off() from error
        self.at += struct.calcsize(code)
        return cast("int | float | bool", value)

    def length_of(self, code: str) -> int:
        return int(self.scalar(code))

    def length(self, smallest_item: int) -> int:
        """A count whose items, of at least so many bytes, must still fit in the file."""
        count = self.length_of("<Q")
        if count * smallest_item > self.size - self.at:
            raise self.cut_off()
        return count

    def string(self) -> str:
        length = self.length(1)
        raw = self.data[self.at : self.at + length]
        self.at += length
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.damaged("a text in its header is not UTF-8") from error

    def value(self, kind: int) -> object:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self.array()
        code = _SCALARS.get(kind)
        if code is None:
            raise self.damaged(f"its header uses an unknown value type {kind}")
        return self.scalar(code)

    def array(self) -> list[object]:
        kind = self.length_of("<I")
        if kind == _STRING:
            return [self.string() for _ in range(self.length(8))]
        code = _SCALARS.get(kind)
        if code is None:
            raise self.damaged(f"its header has an array of the unknown type {kind}")
        width = struct.calcsize(code)
        count = self.length(width)
        values = struct.unpack_from(f"<{count}{code[-1]}", self.data, self.at)
        self.at += count * width
        return list(values)

    def tensor(self) -> tuple[str, TensorInfo]:
        name = self.string()
        dimensions = self.length_of("<I")
        if not 1 <= dimensions <= 4:
            raise self.damaged(f"the tensor {name} has {dimensions} dimensions")
        shape = tuple(self.length_of("<Q") for _ in range(dimensions))[::-1]
        if 0 in shape:
            raise self.damaged(f"the tensor {name} is empty")
        type_id = self.length_of("<I")
        return name, TensorInfo(shape, type_id, self.length_of("<Q"))
