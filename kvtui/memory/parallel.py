"""Models over several cards: what one rank stores.

Tensor parallel ranks share the heads, and hold copies where there are fewer heads than ranks;
latents are copied to every rank. Pipeline stages hold their own layers. Data parallel replicas
share nothing. Context parallel ranks share the tokens of attention layers (vLLM 0.33
`config/model.py` get_num_kv_heads, `layers/mamba/mamba_utils.py`, `distributed/utils.py`
get_pp_indices).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kvtui.language import tr

from .errors import BadValueError
from .model import Attention, Cache, Cross, Layer, State
from .units import ceil_div


class Parallel(NamedTuple):
    """How a model is spread.

    Attributes:
        tp: tensor parallel ranks.
        pp: pipeline stages.
        dp: replicas.
        cp: context parallel ranks, within the tensor parallel ones where tp > 1.
        ep: ranks that share the experts; None means as the other weights.
        partition: layers of each stage, where not split evenly.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int | None = None
    partition: tuple[int, ...] | None = None

    @property
    def cards(self) -> int:
        """Cards in all."""
        return self.tp * self.pp * self.dp * (self.cp if self.tp == 1 else 1)

    @property
    def ranks_per_stage(self) -> int:
        """Cards of one stage of one replica."""
        return self.tp * (self.cp if self.tp == 1 else 1)


def stages(layers: Sequence[Layer], split: Parallel) -> list[tuple[Layer, ...]]:
    """The layers of each pipeline stage, the split's own partition or vLLM's even one.

    vLLM gives the layers that are over to the stages from the last but one backwards.

    Raises:
        BadValueError: more stages than layers, or a partition that does not add up.
    """
    if split.partition is not None:
        sizes = list(split.partition)
        if len(sizes) != split.pp or sum(sizes) != len(layers):
            raise BadValueError(
                "pp partition",
                tr(
                    "{sizes} does not share {n} layers among {pp} stages",
                    sizes=",".join(map(str, sizes)),
                    n=len(layers),
                    pp=split.pp,
                ),
            )
    else:
        if split.pp > len(layers):
            raise BadValueError(
                "pp", tr("{pp} is more than the {n} layers", pp=split.pp, n=len(layers))
            )
        each, over = divmod(len(layers), split.pp)
        sizes = [each] * split.pp
        for back in range(2, over + 2):
            sizes[-back] += 1
    result, start = [], 0
    for size in sizes:
        result.append(tuple(layers[start : start + size]))
        start += size
    return result


def share(cache: Cache, tp: int) -> Cache:
    """A layer's cache as one of `tp` ranks stores it."""
    if tp == 1:
        return cache
    if isinstance(cache, Attention | Cross):
        return replace(cache, kv_heads=max(1, cache.kv_heads // tp))
    if isinstance(cache, State):
        channels = cache.channels
        if cache.groups and cache.groups % tp:
            # Mamba 2 pads the groups so that each rank's heads have theirs.
            channels += (tp - cache.groups) * cache.group_channels if cache.groups < tp else 0
        return replace(
            cache, channels=ceil_div(channels, tp), elements=ceil_div(cache.elements, tp)
        )
    return cache


def rank_layers(layers: Sequence[Layer], tp: int) -> tuple[Layer, ...]:
    """Layers as one of `tp` ranks stores them."""
    if tp == 1:
        return tuple(layers)
    shared: dict[Layer, Layer] = {}
    for layer in layers:
        if layer not in shared:
            shared[layer] = tuple(share(cache, tp) for cache in layer)
    return tuple(shared[layer] for layer in layers)
