"""llama.cpp's cache: cells allocated up front for all slots, states in f32.

Source: llama.cpp October 2026 (`llama-kv-cache-iswa.cpp`, `llama-memory-recurrent.cpp`,
`llama-context.cpp`), checked against live allocations; the compute buffer against two logged
ones (https://github.com/fedora-copr/logdetective/pull/106).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kvtui.language import later, tr

from . import kv as _kv
from .errors import PlanError
from .model import Attention, Cache, Layer, Model, State, group
from .precision import Precision
from .store import times
from .units import ceil_div, gib

CELL_ALIGNMENT = 256
UBATCH_TOKENS = 512


class Settings(NamedTuple):
    """What of llama.cpp's settings changes the cache.

    Attributes:
        ubatch: `-ub`, tokens of one physical batch, which windows reserve for.
        swa_full: `--swa-full`, windows are not used to save memory.
        unified: `-kvu`, the slots share one buffer.
    """

    ubatch: int = UBATCH_TOKENS
    swa_full: bool = False
    unified: bool = False


class LlamaCppStore(NamedTuple):
    """One stage's cells.

    Attributes:
        model: the model.
        layers: the stage's layers.
        k: precision of the keys.
        v: precision of the values.
        settings: what changes the number of cells.
    """

    model: Model
    layers: Sequence[Layer]
    k: Precision
    v: Precision
    settings: Settings

    def sequence_bytes(self, context: int) -> int:
        """The allocation for one slot."""
        return self.total_bytes(context, 1)

    def token_bytes(self, context: int) -> int:
        """Bytes of a cell, in the layers whose cells still grow."""
        return sum(
            layers * _kv.token_bytes(cache, self.k, self.v)
            for cache, layers in group(self.layers)
            if not isinstance(cache, State)
            and self._cells(cache, pad(context), 1) < self._cells(cache, pad(context) + 256, 1)
        )

    def total_bytes(self, context: int, sequences: int) -> int:
        """The allocation for so many slots of `context` tokens each."""
        return sum(self.parts(context * sequences, sequences))

    def parts(self, n_ctx: int, slots: int) -> tuple[int, int]:
        """Bytes of keys and values, and of states, for `-c n_ctx -np slots`."""
        streams = 1 if self.settings.unified else slots
        each = pad(ceil_div_floor(pad(n_ctx), streams))
        cells = states = 0
        for cache, layers in group(self.layers):
            if isinstance(cache, State):
                elements = cache.columns * cache.channels + cache.elements
                states += layers * slots * 4 * elements
            else:
                size = _kv.token_bytes(cache, self.k, self.v)
                cells += layers * streams * self._cells(cache, each, slots) * size
        return cells, states

    def _cells(self, cache: Cache, n_ctx: int, slots: int) -> int:
        """Cells of one layer in one stream of `n_ctx` tokens.

        A window keeps its tokens (of every slot when they share the buffer) and one batch.
        """
        if not isinstance(cache, Attention):
            return _kv.stored_tokens(cache, n_ctx)
        local = cache.window if cache.window is not None else cache.chunk
        ignored = self.settings.swa_full or "llamacpp" in self.model.windows_ignored_by
        if local is None or ignored:
            return n_ctx
        sharing = slots if self.settings.unified else 1
        return pad(min(n_ctx, local * sharing + self.settings.ubatch))

    def formula(self, n_ctx: int, slots: int) -> str:
        """The allocation with its numbers, one term for each kind of layer."""
        streams = 1 if self.settings.unified else slots
        each = pad(ceil_div_floor(pad(n_ctx), streams))
        terms = []
        for cache, layers in group(self.layers):
            if isinstance(cache, State):
                elements = cache.columns * cache.channels + cache.elements
                terms.append(
                    tr(
                        "{layers} layers × {slots} slots × {elements:,} × 4 B state",
                        layers=layers,
                        slots=slots,
                        elements=elements,
                    )
                )
            elif size := _kv.token_bytes(cache, self.k, self.v):
                cells = self._cells(cache, each, slots)
                buffers = f"{streams} × " if streams > 1 else ""
                terms.append(
                    tr(
                        "{layers} layers × {buffers}{cells:,} cells × {size:,} B",
                        layers=layers,
                        buffers=buffers,
                        cells=cells,
                        size=size,
                    )
                )
        total = gib(sum(self.parts(n_ctx, slots)))
        return f"-c {n_ctx} -np {slots}: {' + '.join(terms) or tr('no cache')} = {total}"

    def ratio(self, budget: int, context: int) -> float:
        """Budget over one slot's allocation."""
        return times(budget, self.sequence_bytes(context))

    def details(self, budget: int, context: int, sequences: int) -> dict[str, Any]:  # noqa: ARG002
        """What the log prints as KV and as state, and the flags' values."""
        cells, states = self.parts(context * sequences, sequences)
        return {
            "n_ctx": pad(context * sequences),
            "n_parallel": sequences,
            "kv_bytes": cells,
            "state_bytes": states,
        }


def pad(tokens: int) -> int:
    """Up to a multiple of 256 cells."""
    return CELL_ALIGNMENT * ceil_div(tokens, CELL_ALIGNMENT)


def ceil_div_floor(tokens: int, streams: int) -> int:
    """What of the context one stream gets: an integer division, at least one token."""
    return max(tokens // streams, 1)


def check_blocks(model: Model, k: Precision, v: Precision) -> None:
    """Refuse what llama.cpp refuses.

    Raises:
        PlanError: a precision it does not store, or a head that is no whole number of blocks.
    """
    for name, precision in ((later("keys"), k), (later("values"), v)):
        if not precision.ggml:
            raise PlanError(
                tr(
                    "llama.cpp stores no {precision} {name}: it takes f32 fp16 bf16 q8_0 q5_1 q5_0"
                    " q4_1 q4_0 iq4_nl",
                    precision=precision.name,
                    name=tr(name),
                )
            )
    for cache, _ in model.groups:
        if not isinstance(cache, Attention):
            continue
        for name, dim, precision in (
            (later("key"), cache.k_dim, k),
            (later("value"), cache.v_dim, v),
        ):
            if dim % precision.block_elements:
                raise PlanError(
                    tr(
                        "llama.cpp cannot store {precision}: a {name} of {dim} elements is no whole"
                        " number of {block}-element blocks",
                        precision=precision.name,
                        name=tr(name),
                        dim=dim,
                        block=precision.block_elements,
                    )
                )


def compute_bytes(model: Model, context: int, ubatch: int, *, flash_attention: bool = True) -> int:
    """An estimate of the compute buffer.

    Logits and activations of one batch, (vocabulary + width) × ubatch × 4 B; without flash
    attention instead the scores of every head and the mask, (heads + 1) × context × ubatch × 4 B,
    beside four activations. Two logged buffers without it, 164 and 2,144 MiB, come out exactly.
    """
    hidden = model.hidden or 0
    with_logits = ((model.vocab or 0) + hidden) * ubatch * 4
    if flash_attention:
        return with_logits
    scores = ((model.heads or 0) + 1) * pad(context) * ubatch * 4 + 4 * hidden * ubatch * 4
    return max(with_logits, scores)
