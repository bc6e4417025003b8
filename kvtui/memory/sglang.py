"""SGLang's cache: a pool of tokens, sized by a fraction of the card.

Source: SGLang 0.5.23 `model_executor/pool_configurator.py` (a windowed layer's pool holds 0.8 ×
as many tokens as a full one's, whatever the window), `mem_cache/kv_cache_configurator.py`
(_profile_available_bytes), `arg_groups/memory_hook.py` (the fraction).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kvtui.language import tr
from kvtui.text import MIB

from . import kv as _kv
from .model import Layer, Model, State, group
from .precision import Precision
from .store import times
from .units import gib

SWA_RATIO = (4, 5)
"""swa_full_tokens_ratio, as a fraction."""


class SglangStore(NamedTuple):
    """One stage's pools.

    Attributes:
        model: the model, for the precision of states.
        layers: the stage's layers as the rank stores them.
        k: precision of the keys.
        v: precision of the values.
    """

    model: Model
    layers: Sequence[Layer]
    k: Precision
    v: Precision

    def cells(self) -> tuple[int, int, int, int]:
        """Bytes per token of full and of windowed layers, of the encoder's, and of a state."""
        full = windowed = cross = state = 0
        for cache, layers in group(self.layers):
            if isinstance(cache, State):
                state += layers * _kv.state_bytes(cache, self.model)
                continue
            size = layers * _kv.token_bytes(cache, self.k, self.v)
            if _kv.is_local(cache):
                windowed += size
            elif _kv.is_growing(cache):
                full += size
            else:
                cross += size * _kv.stored_tokens(cache, 1)
        return full, windowed, cross, state

    def sequence_bytes(self, context: int) -> int:
        """What a sequence's tokens take of both pools, and its state."""
        full, windowed, cross, state = self.cells()
        if not full:
            return context * windowed + cross + state
        return context * full + _scaled(context) * windowed + cross + state

    def token_bytes(self, context: int) -> int:  # noqa: ARG002
        """Both pools grow with every token."""
        full, windowed, _, _ = self.cells()
        return full + (_scaled(windowed) if full else windowed)

    def total_bytes(self, context: int, sequences: int) -> int:
        """Sequences share nothing."""
        return sequences * self.sequence_bytes(context)

    def ratio(self, budget: int, context: int) -> float:
        """Budget over one sequence."""
        return times(budget, self.sequence_bytes(context))

    def formula(self, context: int, sequences: int) -> str:
        """Tokens × bytes of both pools, with the numbers."""
        full, windowed, cross, state = self.cells()
        scale = "0.8 × " if full else ""
        terms = [
            tr("{n:,} tokens × {size}", n=context, size=text)
            for size, text in ((full, f"{full:,} B"), (windowed, f"{scale}{windowed:,} B"))
            if size
        ]
        if cross:
            terms.append(tr("{n:,} B encoder", n=cross))
        if state:
            terms.append(tr("{n:,} B state", n=state))
        total = gib(self.total_bytes(context, sequences))
        return f"({' + '.join(terms) or '0'}) × {sequences:,} = {total}"

    def details(self, budget: int, context: int, sequences: int) -> dict[str, Any]:
        """Tokens of both pools that the budget buys, and what the sequences take of each."""
        full, windowed, _, state = self.cells()
        left = max(budget - sequences * state, 0)
        cell = full + windowed * SWA_RATIO[0] / SWA_RATIO[1] if full else windowed
        tokens = int(left // cell) if cell else 0
        taken = context * sequences
        return {
            "max_total_num_tokens": tokens,
            "swa_tokens": (_scaled(tokens) if full else tokens) if windowed else 0,
            "full_pool_bytes": taken * full,
            "swa_pool_bytes": (_scaled(taken) if full else taken) * windowed,
            "state_bytes": sequences * state,
        }


def _scaled(tokens: int) -> int:
    return tokens * SWA_RATIO[0] // SWA_RATIO[1]


def fraction(total_bytes: int, tp: int, pp: int, *, latent: bool) -> float:
    """`--mem-fraction-static` as SGLang works it out for a card of so many bytes.

    Reserved, in MiB: 512 + 1.5 × the prefill chunk + 1,024 × tp × pp / 8 + the CUDA graphs (2 for
    each captured batch; 8 for each captured prefill size, about 60 of them, or 1,536 with MLA),
    and at least 10 GiB on a card of over 60.
    """
    mib = total_bytes / MIB
    if mib < 20 * 1024:
        chunk, batch = 2048, 8
    elif mib < 35 * 1024:
        chunk, batch = 4096, 48 if tp < 4 else 160
    elif mib < 60 * 1024:
        chunk, batch = 4096, 32 if tp < 4 else 160
    elif mib < 160 * 1024:
        chunk, batch = 8192, 256 if tp < 4 else 512
    else:
        chunk, batch = 16384, 512
    reserved = 512 + 1.5 * max(chunk, 2048) + tp * pp / 8 * 1024 + 2 * batch
    reserved += 1536 if latent else 8 * 60
    if mib > 60 * 1024:
        reserved = max(reserved, 10 * 1024)
    return max(round((mib - reserved) / mib, 3), 0.05)
