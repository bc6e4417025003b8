"""Which cache each layer of a config.json has: the fields decide.

A layer's kind comes from the field that lists or spaces the kinds (`hf_patterns`), its sizes from
the fields of that kind (`hf_kinds`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvtui.language import tr

from .hf_fields import ConfigError, Fields
from .hf_kinds import Attentions, states
from .hf_patterns import names_of
from .model import MAX_HEADS, MAX_LAYERS, MAX_TOKENS, Attention, Cache, Layer, Shared


def layers_of(fields: Fields, kind: str) -> tuple[Layer, ...]:
    """The caches of each layer.

    Args:
        fields: the text model's fields.
        kind: its `model_type`.

    Raises:
        ConfigError: a field that is missing, unknown or senseless.
    """
    nas = _block_configs(fields)
    if nas is not None:
        return nas
    if fields.get("use_cla"):
        raise ConfigError(
            "use_cla",
            tr(
                "{where}: use_cla shares caches between layers in a way not known here",
                where=fields.where,
            ),
        )
    fields.get("cla_share_factor")
    count = _count(fields)
    names = names_of(fields, count, kind)
    attention = Attentions(fields, kind)
    made: dict[str, Layer] = {}
    state = states(fields, kind)
    makers: dict[str, Callable[[], Layer]] = {
        "full": lambda: (attention.full(),),
        "window": lambda: (attention.window(),),
        "chunk": lambda: (attention.chunk(),),
        "state": lambda: (state(),),
        "conv": lambda: (attention.short_conv(),),
        "both": lambda: (attention.full(), state()),
        "none": tuple,
    }
    for name in names:
        if name not in made:
            made[name] = makers[name]()
    layers = [made[name] for name in names]
    layers = _per_layer_heads(fields, layers)
    layers = _shared_indexers(fields, layers)
    return tuple(_shared_layers(fields, layers))


def _count(fields: Fields) -> int:
    """The number of layers: as given, else the length of the list that has one entry for each."""
    names = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers")
    for listed in ("layers_block_type", "layer_types"):
        kinds = fields.raw.get(listed)
        if fields.get(*names) is None and isinstance(kinds, list) and 0 < len(kinds) <= MAX_LAYERS:
            return len(kinds)
    return fields.whole(*names, limit=MAX_LAYERS)


def _shared_layers(fields: Fields, layers: list[Layer]) -> list[Layer]:
    """Gemma 3n and 4: the last layers read the last ones' cache before them."""
    number = fields.maybe("num_kv_shared_layers", limit=MAX_LAYERS, least=0) or 0
    if number >= len(layers) and number:
        raise ConfigError(
            "num_kv_shared_layers",
            tr(
                "{where}: num_kv_shared_layers {number} leaves no layer with a cache",
                where=fields.where,
                number=number,
            ),
        )
    own = len(layers) - number
    result = layers[:own]
    for layer in layers[own:]:
        source = next((n for n in range(own - 1, -1, -1) if layers[n] == layer), None)
        result.append((Shared(source),))
    return result


def _shared_indexers(fields: Fields, layers: list[Layer]) -> list[Layer]:
    """Sparse attention whose layers share an indexer: only the first of each has its keys."""
    from dataclasses import replace

    from .model import Latent

    listed = fields.list_of("indexer_types", len(layers))
    pattern = fields.get("index_topk_pattern")
    step = fields.maybe("index_topk_freq", limit=MAX_LAYERS)
    fields.get("index_skip_topk_offset", "index_share_for_mtp_iteration")
    if listed is None and isinstance(pattern, str | list):
        listed = [{"F": "full", "S": "shared"}.get(str(item), item) for item in pattern]
    if listed is None and step is not None and step > 1:
        skip = fields.whole("index_skip_topk_offset", limit=MAX_LAYERS, least=0)
        listed = [
            "shared" if max(index - skip + 1, 0) % step else "full" for index in range(len(layers))
        ]
    if listed is None:
        return layers
    if len(listed) != len(layers):
        raise ConfigError(
            "index_topk_pattern",
            tr(
                "{where}: index_topk_pattern has {n} entries, and there are {layers} layers",
                where=fields.where,
                n=len(listed),
                layers=len(layers),
            ),
        )
    if any(item not in ("full", "shared") for item in listed):
        raise ConfigError(
            "indexer_types",
            tr("{where}: indexer_types is not made of full and shared", where=fields.where),
        )
    return [
        tuple(
            replace(cache, index_dim=0) if isinstance(cache, Latent) and item == "shared" else cache
            for cache in layer
        )
        for layer, item in zip(layers, listed, strict=True)
    ]


def _per_layer_heads(fields: Fields, layers: list[Layer]) -> list[Layer]:
    """OpenELM and its like: the stored heads as a list, one number for each layer."""
    from dataclasses import replace

    name = next(
        (n for n in ("num_kv_heads", "num_key_value_heads") if isinstance(fields.raw.get(n), list)),
        None,
    )
    if name is None:
        return layers
    heads = fields.list_of(name, len(layers)) or []
    result: list[Layer] = []
    for layer, number in zip(layers, heads, strict=True):
        stored = fields.checked((name,), number, MAX_HEADS, 0)
        changed: list[Cache] = []
        for cache in layer:
            if not isinstance(cache, Attention):
                changed.append(cache)
            elif stored:
                changed.append(replace(cache, kv_heads=stored))
        result.append(tuple(changed))
    return result


def _block_configs(fields: Fields) -> tuple[Layer, ...] | None:
    """Nemotron-NAS: attention layer by layer, or none."""
    listed = fields.get("block_configs")
    if listed is None:
        return None
    if not isinstance(listed, list) or not listed or len(listed) > MAX_LAYERS:
        raise ConfigError(
            "block_configs", tr("{where}: block_configs is no list of layers", where=fields.where)
        )
    heads = fields.whole("num_attention_heads", limit=MAX_HEADS)
    hidden = fields.whole("hidden_size")
    fields.get("num_hidden_layers", "num_key_value_heads", "head_dim")
    dim = fields.maybe("head_dim") or hidden // heads
    if fields.get("head_dim") is None and hidden % heads:
        raise fields.missing("head_dim")
    return tuple(_block(item, heads, dim, number) for number, item in enumerate(listed))


def _block(item: Any, heads: int, dim: int, number: int) -> Layer:
    where = f"block_configs[{number}].attention"
    attention = item.get("attention") if isinstance(item, dict) else None
    if not isinstance(attention, dict):
        raise ConfigError("block_configs", f"{where} is missing")
    fields = Fields(attention, where)
    if fields.get("no_op") or fields.get("replace_with_linear"):
        return ()
    for name in ("num_sink_tokens", "sparsify", "mamba", "llama4"):
        if fields.get(name):
            raise ConfigError(
                name,
                tr(
                    "{where}: {name} is not known here and may change the cache",
                    where=where,
                    name=name,
                ),
            )
    stored = fields.maybe("num_key_value_heads", limit=MAX_HEADS)
    if stored is None:
        shared_by = fields.whole("n_heads_in_group", limit=heads)
        if heads % shared_by:
            raise ConfigError(
                "n_heads_in_group",
                tr(
                    "{where}: {shared_by} does not divide {heads} heads",
                    where=where,
                    shared_by=shared_by,
                    heads=heads,
                ),
            )
        stored = heads // shared_by
    window = fields.maybe("window_length", limit=MAX_TOKENS)
    return (Attention(stored, dim, dim, window=window),)
