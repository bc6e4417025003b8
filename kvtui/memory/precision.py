"""How many bytes an element takes, exactly.

A precision is a block of elements in a whole number of bytes (ggml's quantised types carry a
scale per block), plus bytes per token and head where a cache stores one scale for each head's
vector. Sizes are therefore integers, and `bits` an exact fraction.

Sources: ggml's blocks from gguf-py `GGML_QUANT_SIZES`; the per-token-head and nvfp4 layouts from
vLLM 0.33 `v1/kv_cache_interface.py`; `fp8_ds_mla` from
`v1/attention/backends/mla/flashmla_sparse.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtui.language import later, tr

from .errors import UnknownNameError
from .units import ceil_div

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Precision:
    """A storage format.

    Attributes:
        name: the name shown and accepted everywhere.
        block_elements: elements in one block (1, or 2 for plain 4-bit).
        block_bytes: bytes of one block, scales included.
        head_bytes: bytes per token and head beside the elements (per-token-head scales).
        kv: may hold a KV cache.
        ggml: llama.cpp stores it, in whole blocks.
        latent_only: a packed layout for MLA caches only (see `kv.latent_bytes`).
        note: what a reader should know about its size; may be empty.
    """

    name: str
    block_elements: int
    block_bytes: int
    head_bytes: int = 0
    kv: bool = True
    ggml: bool = False
    latent_only: bool = False
    note: str = ""

    @property
    def bits(self) -> Fraction:
        """Bits per element, block overhead included, per-head scales not."""
        from fractions import Fraction  # 10 ms; the arithmetic below does without

        return Fraction(8 * self.block_bytes, self.block_elements)

    def bytes(self, elements: int) -> int:
        """Bytes of `elements` elements of one row, rounded up to a whole byte."""
        return ceil_div(elements * self.block_bytes, self.block_elements)

    @property
    def label(self) -> str:
        """Bytes per element as a formula shows them: "2 B", "1.0625 B", "0.5 B + 4 B/head"."""
        text = f"{self.block_bytes / self.block_elements:g} B"
        if not self.head_bytes:
            return text
        return tr("({size} + {more} B a head)", size=text, more=self.head_bytes)


_NO_SCALES = later("the elements alone: the scales of a real cache come on top")

_ALL = (
    Precision("f32", 1, 4, ggml=True),
    Precision("fp16", 1, 2, ggml=True),
    Precision("bf16", 1, 2, ggml=True),
    Precision("fp8", 1, 1),
    Precision("int8", 1, 1, note=_NO_SCALES),
    Precision("int4", 2, 1, note=_NO_SCALES),
    Precision("nvfp4", 16, 9),
    Precision("fp8_per_token_head", 1, 1, head_bytes=4),
    Precision("int8_per_token_head", 1, 1, head_bytes=4),
    Precision("int4_per_token_head", 2, 1, head_bytes=4),
    Precision("fp8_ds_mla", 1, 1, latent_only=True),
    Precision("q8_0", 32, 34, ggml=True),
    Precision("q5_1", 32, 24, ggml=True),
    Precision("q5_0", 32, 22, ggml=True),
    Precision("q4_1", 32, 20, ggml=True),
    Precision("q4_0", 32, 18, ggml=True),
    Precision("iq4_nl", 32, 18, ggml=True),
    # Weights only. The k-quants are bits of one tensor; a file mixes several.
    Precision("mxfp4", 32, 17, kv=False),
    Precision("q6_k", 256, 210, kv=False),
    Precision("q5_k", 256, 176, kv=False),
    Precision("q4_k", 256, 144, kv=False),
    Precision("q3_k", 256, 110, kv=False),
    Precision("q2_k", 256, 84, kv=False),
    Precision("iq4_xs", 256, 136, kv=False),
)

PRECISIONS: dict[str, Precision] = {item.name: item for item in _ALL}

# Other spellings in use: torch, Hugging Face, vLLM, ggml.
_ALIASES = {
    "fp32": "f32",
    "float32": "f32",
    "float": "f32",
    "f16": "fp16",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "f8": "fp8",
    "float8": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp8_inc": "fp8",
    "e4m3": "fp8",
    "e5m2": "fp8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "i8": "int8",
    "w8a8": "int8",
    "i4": "int4",
    "w4a16": "int4",
    "fp4": "nvfp4",
}

#: The precisions of a KV cache, in the order a screen offers them.
KV_NAMES: tuple[str, ...] = tuple(item.name for item in _ALL if item.kv and not item.latent_only)


class UnknownPrecisionError(UnknownNameError):
    """A precision that is not in the table."""

    def __init__(self, name: str) -> None:
        super().__init__(
            "precision", name, [*PRECISIONS, *_ALIASES], listing="known: " + " ".join(PRECISIONS)
        )


def parse(name: str) -> Precision:
    """The precision of that name or alias, whatever its case ("auto" is the caller's to resolve).

    Raises:
        UnknownPrecisionError: names it, the nearest names and the whole list.
    """
    key = name.strip().casefold().replace("-", "_")
    found = PRECISIONS.get(_ALIASES.get(key, key))
    if found is None:
        raise UnknownPrecisionError(name)
    return found
