"""The header of a GGUF file: metadata and the list of tensors, never the weights.

Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from kvtui.language import tr
from kvtui.reading import refuse_pipe

from .errors import PlanError
from .units import ceil_div

MAGIC = b"GGUF"
MAX_ENTRIES = 1 << 20
MAX_STRING = 1 << 24
MAX_ARRAY = 1 << 24
KEEP_ARRAY = 1 << 16
"""Longer arrays are tokens and merges, which nothing here needs."""

# Scalar types by their number: struct code and size.
_SCALARS = {
    0: ("B", 1),
    1: ("b", 1),
    2: ("H", 2),
    3: ("h", 2),
    4: ("I", 4),
    5: ("i", 4),
    6: ("f", 4),
    7: ("?", 1),
    10: ("Q", 8),
    11: ("q", 8),
    12: ("d", 8),
}
_STRING, _ARRAY = 8, 9

#: Tensor types by their number: elements and bytes of a block (gguf-py GGML_QUANT_SIZES).
TENSOR_TYPES: dict[int, tuple[str, int, int]] = {
    0: ("f32", 1, 4),
    1: ("f16", 1, 2),
    2: ("q4_0", 32, 18),
    3: ("q4_1", 32, 20),
    6: ("q5_0", 32, 22),
    7: ("q5_1", 32, 24),
    8: ("q8_0", 32, 34),
    9: ("q8_1", 32, 40),
    10: ("q2_k", 256, 84),
    11: ("q3_k", 256, 110),
    12: ("q4_k", 256, 144),
    13: ("q5_k", 256, 176),
    14: ("q6_k", 256, 210),
    15: ("q8_k", 256, 292),
    16: ("iq2_xxs", 256, 66),
    17: ("iq2_xs", 256, 74),
    18: ("iq3_xxs", 256, 98),
    19: ("iq1_s", 256, 50),
    20: ("iq4_nl", 32, 18),
    21: ("iq3_s", 256, 110),
    22: ("iq2_s", 256, 82),
    23: ("iq4_xs", 256, 136),
    24: ("i8", 1, 1),
    25: ("i16", 1, 2),
    26: ("i32", 1, 4),
    27: ("i64", 1, 8),
    28: ("f64", 1, 8),
    29: ("iq1_m", 256, 56),
    30: ("bf16", 1, 2),
    34: ("tq1_0", 256, 54),
    35: ("tq2_0", 256, 66),
    39: ("mxfp4", 32, 17),
    40: ("nvfp4", 64, 36),
    41: ("q1_0", 128, 18),
}


class GgufError(PlanError):
    """A GGUF file that is not read, with what is wrong."""


class Tensor(NamedTuple):
    """One tensor of the list.

    Attributes:
        name: its name.
        elements: how many elements it has.
        size: its bytes; None for a type that is not known here.
        offset: where it begins, from the start of the data.
    """

    name: str
    elements: int
    size: int | None
    offset: int


class Header(NamedTuple):
    """A file's header.

    Attributes:
        metadata: the keys and values; arrays longer than `KEEP_ARRAY` only by their length.
        tensors: the tensors.
        data_start: where the data begins.
        file_bytes: size of the file.
    """

    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    data_start: int
    file_bytes: int


class Long(NamedTuple):
    """An array that was passed over.

    Attributes:
        length: how many items it has.
    """

    length: int


def read_header(path: Path) -> Header:
    """The header of a GGUF file.

    Raises:
        GgufError: the file cannot be read, is no GGUF, or is cut off.
    """
    shown = path.name or str(path)
    try:
        if path.is_dir():
            raise GgufError(tr("{shown} is a folder: give the .gguf file in it", shown=shown))
        refuse_pipe(path)
        with path.open("rb") as stream:
            size = path.stat().st_size
            header = _Reader(stream, size, shown).header()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GgufError(
            tr("{shown} cannot be read: {reason}", shown=shown, reason=reason)
        ) from error
    _check_data(header, shown)
    return header


def _check_data(header: Header, shown: str) -> None:
    """Refuse a file whose data is cut off; one that is a header alone passes."""
    end = max((t.offset + t.size for t in header.tensors if t.size is not None), default=0)
    needed = header.data_start + end
    if header.data_start < header.file_bytes < needed:
        raise GgufError(
            tr(
                "{shown} is cut off: {file_bytes:,} of {needed:,} B are there",
                shown=shown,
                file_bytes=header.file_bytes,
                needed=needed,
            )
        )


@dataclass(slots=True)
class _Reader:
    """Reads one header, front to back."""

    stream: BinaryIO
    size: int
    shown: str
    order: str = "<"
    at: int = field(default=0)

    def header(self) -> Header:
        if self.size < 24 or self.take(4) != MAGIC:
            raise GgufError(tr("{shown} is no GGUF file", shown=self.shown))
        version = self.number("I", 4)
        if version > 0xFFFF:
            # A big-endian file shows its version with the bytes the other way round.
            self.order, version = ">", struct.unpack(">I", struct.pack("<I", version))[0]
        if version not in (2, 3):
            raise GgufError(
                tr(
                    "{shown} is GGUF version {version}: 2 and 3 are known here",
                    shown=self.shown,
                    version=version,
                )
            )
        tensors, entries = self.number("Q", 8), self.number("Q", 8)
        if max(tensors, entries) > MAX_ENTRIES:
            raise GgufError(
                tr(
                    "{shown} claims {tensors:,} entries: it is damaged",
                    shown=self.shown,
                    tensors=max(tensors, entries),
                )
            )
        metadata = {}
        for _ in range(entries):
            key = self.text()
            metadata[key] = self.value(self.number("I", 4))
        listed = tuple(self.tensor() for _ in range(tensors))
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
            alignment = 32
        return Header(metadata, listed, alignment * ceil_div(self.at, alignment), self.size)

    def take(self, count: int) -> bytes:
        data = self.stream.read(count) if count <= self.size - self.at else b""
        if len(data) != count:
            raise GgufError(
                tr(
                    "{shown} is cut off within its header, at {at:,} B",
                    shown=self.shown,
                    at=self.at,
                )
            )
        self.at += count
        return data

    def skip(self, count: int) -> None:
        if count > self.size - self.at:
            raise GgufError(
                tr(
                    "{shown} is cut off within its header, at {at:,} B",
                    shown=self.shown,
                    at=self.at,
                )
            )
        self.stream.seek(count, 1)
        self.at += count

    def number(self, code: str, size: int) -> int:
        found: int = struct.unpack(self.order + code, self.take(size))[0]
        return found

    def length(self) -> int:
        count = self.number("Q", 8)
        if count > MAX_STRING:
            raise GgufError(
                tr(
                    "{shown} has a text of {count:,} B: it is damaged",
                    shown=self.shown,
                    count=count,
                )
            )
        return count

    def text(self) -> str:
        return self.take(self.length()).decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            code, size = _SCALARS[kind]
            return struct.unpack(self.order + code, self.take(size))[0]
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY and depth < 4:
            return self.array(depth)
        raise GgufError(
            tr(
                "{shown} has a value of type {kind}, which is not known here",
                shown=self.shown,
                kind=kind,
            )
        )

    def array(self, depth: int) -> Any:
        kind, count = self.number("I", 4), self.number("Q", 8)
        if count > MAX_ARRAY:
            raise GgufError(
                tr(
                    "{shown} has an array of {count:,} items: it is damaged",
                    shown=self.shown,
                    count=count,
                )
            )
        if kind in _SCALARS:
            code, size = _SCALARS[kind]
            if count > KEEP_ARRAY:
                self.skip(count * size)
                return Long(count)
            return list(struct.unpack(f"{self.order}{count}{code}", self.take(count * size)))
        keep = count <= KEEP_ARRAY and kind != _STRING
        items = []
        for _ in range(count):
            if kind == _STRING:
                self.skip(self.length())
            else:
                item = self.value(kind, depth + 1)
                if keep:
                    items.append(item)
        return items if keep else Long(count)

    def tensor(self) -> Tensor:
        name = self.text()
        dims = self.number("I", 4)
        if dims > 8:
            raise GgufError(
                tr(
                    "{shown}: tensor {name!r} has {dims} dimensions: it is damaged",
                    shown=self.shown,
                    name=name,
                    dims=dims,
                )
            )
        elements = 1
        for _ in range(dims):
            elements *= self.number("Q", 8)
        kind, offset = self.number("I", 4), self.number("Q", 8)
        known = TENSOR_TYPES.get(kind)
        size = None if known is None else ceil_div(elements, known[1]) * known[2]
        if elements > 1 << 50 or offset > 1 << 60:
            raise GgufError(
                tr(
                    "{shown}: tensor {name!r} has {elements:,} elements: damaged",
                    shown=self.shown,
                    name=name,
                    elements=elements,
                )
            )
        return Tensor(name, elements, size, offset)
