"""vLLM's cache: blocks, groups of layers, pages of one size.

Layers of one kind share a block table; kinds are cut into groups of equally many layers, and all
groups draw blocks of the same bytes from one pool. So a request costs whole blocks of every
group, and capacity is blocks over blocks per request, never memory over a cost per token.

Source: vLLM 0.33 `v1/core/kv_cache_utils.py` (get_kv_cache_groups, unify_kv_cache_spec_page_size,
_get_kv_cache_groups_uniform_page_size, get_max_concurrency_for_kv_cache_config),
`v1/kv_cache_interface.py` (max_memory_usage_bytes of each spec), `platforms/interface.py`
(_align_hybrid_block_size).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from . import kv as _kv
from . import precision as _precision
from .errors import PlanError
from .model import Attention, Cache, Cross, Latent, Layer, Model, Shared, State
from .precision import Precision
from .units import ceil_div, gib

BLOCK_TOKENS = 16
MLA_BLOCK_TOKENS = 64
HYBRID_MLA_BLOCK_TOKENS = 128


class Spec(NamedTuple):
    """How one layer's cache is paged.

    Attributes:
        kind: full, window, chunk, state or cross.
        token_bytes: bytes of one token; 0 for a state.
        block: tokens of one block.
        page: bytes of one block of this layer.
        reach: tokens of the window, chunk or encoder; 0 for the rest.
        latent: an MLA layer, whose page cannot be padded.
    """

    kind: str
    token_bytes: int
    block: int
    page: int
    reach: int = 0
    latent: bool = False


class Settings(NamedTuple):
    """What of vLLM's settings changes the cache.

    Attributes:
        block_tokens: `--block-size`, or None for the backend's own.
        in_flight_tokens: tokens scheduled and not yet settled, which windows reserve for.
        prefix_caching: recurrent states keep one more block.
        spec_tokens: speculative tokens; states keep a block and a convolution column for each.
        cp: decode context parallel ranks.
    """

    block_tokens: int | None = None
    in_flight_tokens: int = 2048
    prefix_caching: bool = False
    spec_tokens: int = 0
    cp: int = 1


class Group(NamedTuple):
    """Layers that share a block table.

    Attributes:
        spec: how each of them is paged; in a group of mixed sizes, the first.
        layers: indices of its layers in the model.
        page: bytes of one block, all layers of the group on this stage.
    """

    spec: Spec
    layers: tuple[int, ...]
    page: int


class VllmStore(NamedTuple):
    """One stage's blocks.

    Attributes:
        groups: the groups, whole; every stage has a block table for each.
        bytes_per_block: bytes of one block on this stage.
        settings: what changes their number.
    """

    groups: tuple[Group, ...]
    bytes_per_block: int
    settings: Settings

    def blocks(self, context: int) -> int:
        """Blocks that one request of `context` tokens reserves, over all groups."""
        return sum(blocks_of(item.spec, context, self.settings) for item in self.groups)

    def sequence_bytes(self, context: int) -> int:
        """Blocks × bytes of a block."""
        return self.blocks(context) * self.bytes_per_block

    def token_bytes(self, context: int) -> int:
        """Bytes of a block over its tokens, for each group that still grows there."""
        return sum(
            self.bytes_per_block // (item.spec.block * self._shared(item.spec))
            for item in self.groups
            if grows(item.spec, context, self.settings)
        )

    def _shared(self, spec: Spec) -> int:
        return self.settings.cp if spec.kind == "full" else 1

    def total_bytes(self, context: int, sequences: int) -> int:
        """Requests share nothing (shared prefixes are not counted)."""
        return sequences * self.sequence_bytes(context)

    def pool_blocks(self, budget: int) -> int:
        """Blocks that a budget buys."""
        return max(budget, 0) // self.bytes_per_block if self.bytes_per_block else 1

    def pool_bytes(self, budget: int) -> int:
        """Whole blocks only."""
        return self.pool_blocks(budget) * self.bytes_per_block

    def ratio(self, budget: int, context: int) -> float:
        """VLLM's "maximum concurrency": blocks over blocks per request."""
        one = self.blocks(context)
        return self.pool_blocks(budget) / one if one else float("inf")

    def formula(self, context: int, sequences: int, budget: int) -> str:
        """Blocks of each kind, and what the budget buys, with the numbers."""
        kinds: dict[Spec, int] = {}
        for item in self.groups:
            kinds[item.spec] = kinds.get(item.spec, 0) + 1
        terms = [
            f"{number} × {_blocks_text(spec, context, self.settings)}"
            for spec, number in kinds.items()
        ]
        total = gib(self.total_bytes(context, sequences))
        return (
            f"{' + '.join(terms) or '0'} = {self.blocks(context):,} blocks a sequence "
            f"× {self.bytes_per_block:,} B × {sequences:,} = {total}; "
            f"⌊{gib(budget)} / {self.bytes_per_block:,} B⌋ = {self.pool_blocks(budget):,} blocks"
        )

    def details(self, budget: int, context: int, sequences: int) -> dict[str, Any]:  # noqa: ARG002
        """Blocks, groups, and the token figures that vLLM logs."""
        blocks = self.pool_blocks(budget)
        per_request = self.blocks(context)
        reported = int(blocks / per_request * context) if per_request else 0
        # Until 0.21 the log divided the blocks among the groups, which says little of a hybrid.
        legacy = blocks // len(self.groups) * self._legacy_block() if self.groups else 0
        return {
            "block_tokens": sorted({item.spec.block for item in self.groups if _paged(item.spec)}),
            "bytes_per_block": self.bytes_per_block,
            "groups": len(self.groups),
            "num_blocks": blocks,
            "blocks_per_sequence": per_request,
            "logged_tokens": reported,
            "logged_tokens_before_0_21": legacy,
        }

    def _legacy_block(self) -> int:
        return min((item.spec.block for item in self.groups if _paged(item.spec)), default=0)


def _paged(spec: Spec) -> bool:
    return spec.kind != "state"


def blocks_of(spec: Spec, context: int, settings: Settings) -> int:
    """Blocks that a request of `context` tokens reserves in one group.

    A window keeps its last W − 1 tokens and those in flight, and may begin within a block; a
    chunk keeps itself and those in flight; a state keeps one block, two with prefix caching, and
    one for each speculative token.
    """
    if spec.kind == "full":
        return ceil_div(ceil_div(context, settings.cp), spec.block)
    if spec.kind == "window":
        kept = min(spec.reach - 1 + settings.in_flight_tokens, context)
        return ceil_div(kept, spec.block) + 1
    if spec.kind == "chunk":
        return ceil_div(min(spec.reach + settings.in_flight_tokens, context), spec.block)
    if spec.kind == "cross":
        return ceil_div(spec.reach, spec.block)
    return 1 + settings.prefix_caching + settings.spec_tokens


def _blocks_text(spec: Spec, context: int, settings: Settings) -> str:
    number = blocks_of(spec, context, settings)
    if spec.kind == "state":
        return f"{number} state block" + ("s" if number != 1 else "")
    if spec.kind == "full":
        shared = f" / {settings.cp}" if settings.cp > 1 else ""
        return f"⌈{context:,}{shared} / {spec.block}⌉"
    if spec.kind == "cross":
        return f"⌈{spec.reach:,} / {spec.block}⌉"
    kept = spec.reach - (spec.kind == "window") + settings.in_flight_tokens
    more = " + 1" if spec.kind == "window" else ""
    return f"(⌈min({context:,}; {kept:,}) / {spec.block}⌉{more})"


def grows(spec: Spec, context: int, settings: Settings) -> bool:
    """Whether a longer request reserves more blocks of this kind."""
    if spec.kind == "window":
        return context < spec.reach - 1 + settings.in_flight_tokens
    if spec.kind == "chunk":
        return context < spec.reach + settings.in_flight_tokens
    return spec.kind == "full"


def build(
    model: Model,
    stages: Sequence[Sequence[Layer]],
    k: Precision,
    v: Precision,
    settings: Settings,
) -> list[VllmStore]:
    """The blocks of each pipeline stage.

    Args:
        model: the model, for the precision of states.
        stages: layers of each stage, as one rank stores them.
        k: precision of the keys.
        v: precision of the values.
        settings: what of vLLM's settings changes the cache.

    Raises:
        PlanError: a mix of layers that vLLM cannot page either.
    """
    specs: list[tuple[int, Spec]] = []
    block, state_page = _block_and_state_page(model, stages, k, v, settings)
    for index, layer in enumerate(layer for stage in stages for layer in stage):
        for cache in layer:
            spec = _spec(cache, model, k, v, block, state_page, settings)
            if spec is not None:
                specs.append((index, spec))
    stage_of = [number for number, stage in enumerate(stages) for _ in stage]
    groups = _groups(specs)
    stores = []
    for number in range(len(stages)):
        widest = max(
            (_page_on(item, number, stage_of, dict_of(specs)) for item in groups), default=0
        )
        stores.append(VllmStore(groups, widest, settings))
    return stores


def dict_of(specs: Sequence[tuple[int, Spec]]) -> dict[int, list[Spec]]:
    """The specs of each layer."""
    found: dict[int, list[Spec]] = {}
    for index, spec in specs:
        found.setdefault(index, []).append(spec)
    return found


def _page_on(item: Group, stage: int, stage_of: Sequence[int], specs: dict[int, list[Spec]]) -> int:
    """Bytes of one block of a group's layers on a stage."""
    mine = [index for index in item.layers if stage_of[index] == stage]
    if len(item.layers) and item.page == item.spec.page * len(item.layers):
        return item.spec.page * len(mine)
    return sum(spec.page for index in mine for spec in specs[index] if spec.kind == item.spec.kind)


def _block_and_state_page(
    model: Model,
    stages: Sequence[Sequence[Layer]],
    k: Precision,
    v: Precision,
    settings: Settings,
) -> tuple[int, int]:
    """Tokens of an attention block, and the bytes that a state's page is padded to.

    Beside a recurrence the attention block grows until its page holds a state.
    """
    caches = [cache for stage in stages for layer in stage for cache in layer]
    states = [_state_bytes(cache, model, settings) for cache in caches if isinstance(cache, State)]
    attention = next((cache for cache in caches if isinstance(cache, Attention | Latent)), None)
    latent = isinstance(attention, Latent)
    block = settings.block_tokens or (MLA_BLOCK_TOKENS if latent else BLOCK_TOKENS)
    if not states or attention is None:
        return block, max(states, default=0)
    align = max(block, HYBRID_MLA_BLOCK_TOKENS) if latent else block
    per_token = (
        _kv.latent_bytes(attention, k)
        if isinstance(attention, Latent)
        else _kv.token_bytes(attention, k, v)
    )
    block = align * ceil_div(max(states), align * per_token)
    return block, block * per_token


def _state_bytes(cache: State, model: Model, settings: Settings) -> int:
    """Bytes of a state as vLLM keeps it.

    The convolution gets a column for each speculative token. The recurrent state is in the
    convolution's precision where the checkpoint does not say ("auto"), except KDA's, in f32.
    """
    conv = _precision.parse(model.kv_dtype)
    columns = cache.columns + (settings.spec_tokens if cache.columns else 0)
    if cache.dtype != "auto":
        state = _precision.parse(cache.dtype)
    else:
        state = _precision.parse("f32") if cache.family == "kda" else conv
    return conv.bytes(columns * cache.channels) + state.bytes(cache.elements)


def _spec(
    cache: Cache,
    model: Model,
    k: Precision,
    v: Precision,
    block: int,
    state_page: int,
    settings: Settings,
) -> Spec | None:
    if isinstance(cache, Shared):
        return None
    if isinstance(cache, State):
        own = _state_bytes(cache, model, settings)
        return Spec("state", 0, block, max(state_page, own)) if own else None
    size = _kv.token_bytes(cache, k, v)
    page = block * size
    if isinstance(cache, Latent):
        return Spec("full", size, block, page, latent=True)
    if isinstance(cache, Cross):
        return Spec("cross", size, block, page, reach=cache.tokens)
    if cache.window is not None:
        return Spec("window", size, block, page, reach=cache.window)
    if cache.chunk is not None:
        return Spec("chunk", size, block, page, reach=cache.chunk)
    return Spec("full", size, block, page)


def _groups(specs: Sequence[tuple[int, Spec]]) -> tuple[Group, ...]:
    """Layers into groups that share a block table."""
    if not specs:
        return ()
    kinds = {(spec.kind, spec.reach) for _, spec in specs}
    if len(kinds) == 1 and (
        specs[0][1].kind != "state" or len({spec.page for _, spec in specs}) == 1
    ):
        # One kind throughout: one group, whatever the sizes of its layers.
        page = sum(spec.page for _, spec in specs)
        return (Group(specs[0][1], tuple(index for index, _ in specs), page),)
    unified = _one_page_size(specs)
    buckets: dict[Spec, list[int]] = {}
    for index, spec in unified:
        buckets.setdefault(spec, []).append(index)
    least = min(len(layers) for layers in buckets.values())
    most = max(len(layers) for layers in buckets.values())
    # The ratio between kinds is usually n : 1, so the rarest sets the size; kinds of almost the
    # same number are padded to the larger one instead.
    size = most if most < least * 1.5 else least
    groups: list[Group] = []
    for spec, layers in buckets.items():
        number = ceil_div(len(layers), size)
        groups.extend(
            Group(spec, tuple(layers[first::number]), spec.page * len(layers[first::number]))
            for first in range(number)
        )
    return tuple(groups)


def _one_page_size(specs: Sequence[tuple[int, Spec]]) -> list[tuple[int, Spec]]:
    """All pages as large as the largest: by more tokens a block, else by padding."""
    largest = max(spec.page for _, spec in specs)
    result = []
    for index, spec in specs:
        if spec.page == largest:
            fitted = spec
        elif spec.kind == "state":
            fitted = spec._replace(page=largest)
        elif largest % spec.page == 0:
            fitted = spec._replace(page=largest, block=spec.block * (largest // spec.page))
        elif not spec.latent:
            fitted = spec._replace(page=largest)
        else:
            raise PlanError(
                f"vLLM cannot page an MLA layer of {spec.page:,} B a block "
                f"beside layers of {largest:,} B"
            )
        result.append((index, fitted))
    return result
