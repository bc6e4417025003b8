"""How vLLM pages each layer, and which layers share a block table.

Source: as `vllm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvtui.language import tr

from . import kv as _kv
from . import precision as _precision
from .errors import PlanError
from .model import Attention, Cache, Cross, Latent, Layer, Model, Shared, State
from .precision import Precision
from .units import ceil_div

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
        members: index of each layer in the model, and bytes of its page.
    """

    spec: Spec
    members: tuple[tuple[int, int], ...]


def is_paged(spec: Spec) -> bool:
    """Whether a block of it holds tokens."""
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


def blocks_text(spec: Spec, context: int, settings: Settings) -> str:
    """`blocks_of` with its numbers."""
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


def specs_of(
    model: Model, layers: Sequence[Layer], k: Precision, v: Precision, settings: Settings
) -> list[tuple[int, Spec]]:
    """How each layer's caches are paged, with the layer's index."""
    block, state_page = _block_and_state_page(model, layers, k, v, settings)
    found = []
    for index, layer in enumerate(layers):
        for cache in layer:
            spec = _spec(cache, model, k, v, block, state_page, settings)
            if spec is not None:
                found.append((index, spec))
    return found


def _block_and_state_page(
    model: Model,
    layers: Sequence[Layer],
    k: Precision,
    v: Precision,
    settings: Settings,
) -> tuple[int, int]:
    """Tokens of an attention block, and the bytes that a state's page is padded to.

    Beside a recurrence the attention block grows until its page holds a state.
    """
    caches = [cache for layer in layers for cache in layer]
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


def groups_of(specs: Sequence[tuple[int, Spec]]) -> tuple[Group, ...]:
    """Layers into groups that share a block table."""
    if not specs:
        return ()
    kinds = {(spec.kind, spec.reach) for _, spec in specs}
    if len(kinds) == 1 and (
        specs[0][1].kind != "state" or len({spec.page for _, spec in specs}) == 1
    ):
        # One kind throughout: one group, whatever the sizes of its layers.
        return (Group(specs[0][1], tuple((index, spec.page) for index, spec in specs)),)
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
            Group(spec, tuple((index, spec.page) for index in layers[first::number]))
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
                tr(
                    "vLLM cannot page an MLA layer of {page:,} B a block beside layers of"
                    " {largest:,} B",
                    page=spec.page,
                    largest=largest,
                )
            )
        result.append((index, fitted))
    return result
