"""Which layers of a config.json are of which kind.

Where a file has windows, chunks or recurrences and no field that says which layers they are in,
it is refused: the pattern would be a guess.
"""

from __future__ import annotations

from kvtui.language import tr

from .errors import PlanError
from .hf_fields import ConfigError, Fields, words
from .model import MAX_LAYERS

_FULL = (
    "full_attention",
    "attention",
    "full",
    "global",
    "global_attention",
    "indexed_attention",
    "deepseek_sparse_attention",
)
_WINDOW = ("sliding_attention", "sliding_window", "sliding", "local", "local_attention", "swa")
_CHUNK = ("chunked_attention", "chunked")
_STATE = ("linear_attention", "mamba", "mamba2", "kda", "linear", "recurrent", "gated_deltanet")
_NONE = ("mlp", "moe", "dense", "none", "no_op")
_LETTERS = {"*": "full", "M": "state", "-": "none", "E": "none"}


def names_of(fields: Fields, count: int, kind: str) -> list[str]:
    """The kind of each layer: full, window, chunk, state, conv, both or none.

    Args:
        fields: the text model's fields.
        count: number of layers.
        kind: its `model_type`.

    Raises:
        ConfigError: no field tells, or one tells nonsense.
    """
    for source in (
        _from_types,
        _from_letters,
        _from_zeros_and_ones,
        _from_kimi,
        _from_period,
        _from_interval,
        _from_window_pattern,
        _from_nope,
    ):
        found = source(fields, count)
        if found is not None:
            if len(found) != count:
                raise PlanError(
                    tr(
                        "{where}: {n} kinds for {count} layers",
                        where=fields.where,
                        n=len(found),
                        count=count,
                    )
                )
            return found
    if kind in ("mamba", "mamba2", "falcon_mamba"):
        return ["state"] * count
    if kind == "falcon_h1":
        # Every layer of this architecture has attention beside a Mamba 2 mixer.
        return ["both"] * count
    _refuse_unplaced(fields)
    return _from_bare_window(fields, count, kind)


def _from_types(fields: Fields, count: int) -> list[str] | None:
    listed = fields.list_of("layer_types", count)
    if listed is None:
        listed = fields.list_of("layers_block_type", count)
    if listed is None:
        return None
    # Spacing fields beside the list say the same thing.
    fields.get("full_attention_interval", "sliding_window_pattern", "_sliding_window_pattern")
    fields.get("no_rope_layers")
    fields.get("no_rope_layer_interval", "global_attn_every_n_layers", "max_window_layers")
    fields.get("use_sliding_window", "hybrid_override_pattern", "attention_chunk_size")
    fields.get("attn_layer_indices", "attn_layer_period", "attn_layer_offset", "full_attn_idxs")
    fields.get("layer_group_size", "hybrid_layer_pattern", "sliding_window_size")
    found = []
    for name in listed:
        folded = str(name).casefold()
        for names, meaning in (
            (_FULL, "full"),
            (_WINDOW, "window"),
            (_CHUNK, "chunk"),
            (_STATE, "state"),
            (("conv", "short_conv"), "conv"),
            (_NONE, "none"),
        ):
            if folded in names:
                found.append(meaning)
                break
        else:
            raise ConfigError(
                "layer_types",
                tr(
                    "{where}: layer_types has a kind not known here: {name!r}",
                    where=fields.where,
                    name=name,
                ),
            )
    return found


def _from_letters(fields: Fields, count: int) -> list[str] | None:
    """Nemotron-H: M is Mamba 2, * attention, - an MLP, E experts."""
    pattern = fields.get("hybrid_override_pattern")
    if pattern is None:
        return None
    pattern = pattern if isinstance(pattern, str) else "?"
    unknown = sorted({letter for letter in pattern if letter not in _LETTERS})
    if unknown or len(pattern) != count:
        what = (
            tr("has the letter {unknown!r}", unknown=unknown[0])
            if unknown
            else tr("is {n} letters long", n=len(pattern))
        )
        raise ConfigError(
            "hybrid_override_pattern",
            tr(
                "{where}: hybrid_override_pattern {what}, for {count} layers of M * - E",
                where=fields.where,
                what=what,
                count=count,
            ),
        )
    return [_LETTERS[letter] for letter in pattern]


def _from_zeros_and_ones(fields: Fields, count: int) -> list[str] | None:
    """MiMo: 1 is a window. MiniMax-Text: 1 is full attention, 0 a recurrence."""
    for name, zero, one in (
        ("hybrid_layer_pattern", "full", "window"),
        ("attn_type_list", "state", "full"),
    ):
        listed = fields.list_of(name, count)
        if listed is None:
            continue
        if any(item not in (0, 1) for item in listed):
            raise ConfigError(
                name, tr("{where}: {name} is not made of 0 and 1", where=fields.where, name=name)
            )
        fields.get("attention_chunk_size", "sliding_window_size")
        return [one if item else zero for item in listed]
    return None


def _from_kimi(fields: Fields, count: int) -> list[str] | None:
    """Kimi-Linear: the numbers of full and of delta-attention layers, from 1."""
    inner = fields.inner("linear_attn_config")
    if inner is None:
        return None
    full, state = inner.numbers("full_attn_layers"), inner.numbers("kda_layers")
    if full is None or state is None:
        raise inner.missing("full_attn_layers" if full is None else "kda_layers")
    names = ["full" if number in full else "state" for number in range(1, count + 1)]
    if sorted([*full, *state]) != list(range(1, count + 1)):
        raise ConfigError(
            "kda_layers",
            tr(
                "linear_attn_config: full_attn_layers and kda_layers do not share {count} layers",
                count=count,
            ),
        )
    return names


def _from_period(fields: Fields, count: int) -> list[str] | None:
    """Jamba: attention every so many layers. Bamba: the indices of the attention layers."""
    indices = fields.numbers("attn_layer_indices") or fields.numbers("full_attn_idxs")
    if indices is not None:
        other = "conv" if fields.get("conv_L_cache") is not None else "state"
        return ["full" if index in indices else other for index in range(count)]
    period = fields.maybe("attn_layer_period", limit=MAX_LAYERS)
    if period is None:
        return None
    offset = fields.whole("attn_layer_offset", limit=MAX_LAYERS, least=0)
    return ["full" if index % period == offset else "state" for index in range(count)]


def _from_interval(fields: Fields, count: int) -> list[str] | None:
    """Qwen3-Next: every n-th layer is full. Afmoe and others: every n-th is global."""
    for name, other in (
        ("full_attention_interval", "state"),
        ("layer_group_size", "state"),
        ("global_attn_every_n_layers", "window"),
    ):
        step = fields.maybe(name, limit=MAX_LAYERS)
        if step is not None:
            return ["full" if (index + 1) % step == 0 else other for index in range(count)]
    return None


def _from_window_pattern(fields: Fields, count: int) -> list[str] | None:
    """Gemma 3, Cohere 2, Exaone 4: every n-th layer is full, or letters L and G."""
    pattern = fields.get("sliding_window_pattern", "_sliding_window_pattern")
    if pattern is None or fields.get("sliding_window") is None:
        return None
    if isinstance(pattern, str) and pattern and set(pattern.upper()) <= {"L", "G"}:
        letters = pattern.upper()
        return ["window" if letters[i % len(letters)] == "L" else "full" for i in range(count)]
    step = fields.whole("sliding_window_pattern", "_sliding_window_pattern", limit=MAX_LAYERS)
    return ["full" if (index + 1) % step == 0 else "window" for index in range(count)]


def _from_nope(fields: Fields, count: int) -> list[str] | None:
    """Llama 4: layers without rotary position are full, the others chunked."""
    chunk = fields.get("attention_chunk_size")
    rotary = fields.list_of("no_rope_layers", count)
    step = fields.maybe("no_rope_layer_interval", limit=MAX_LAYERS)
    if chunk is None:
        return None
    if rotary is not None:
        return ["chunk" if item else "full" for item in rotary]
    if step is not None:
        return ["full" if (index + 1) % step == 0 else "chunk" for index in range(count)]
    raise ConfigError(
        "no_rope_layers",
        tr(
            "{where}: attention_chunk_size is set, but no field says which layers are"
            " chunked (layer_types, no_rope_layers or no_rope_layer_interval)",
            where=fields.where,
        ),
    )


def _refuse_unplaced(fields: Fields) -> None:
    """A recurrence without a field that says in which layers it is."""
    for name in ("linear_num_value_heads", "mamba_d_state", "ssm_state_size", "conv_L_cache"):
        if fields.get(name) is not None:
            raise ConfigError(
                "layer_types",
                tr(
                    "{where}: {name} is set, but layer_types, which says where, is missing",
                    where=fields.where,
                    name=name,
                ),
            )


def _from_bare_window(fields: Fields, count: int, kind: str) -> list[str]:
    """A window without a pattern: off, from a layer on (Qwen2), or in every layer."""
    used = fields.get("use_sliding_window")
    window = fields.get("sliding_window")
    first = fields.maybe("max_window_layers", limit=MAX_LAYERS, least=0)
    if window is None or used is False:
        return ["full"] * count
    if used is True:
        if first is None:
            raise fields.missing("max_window_layers")
        return ["window" if index >= first else "full" for index in range(count)]
    if kind in words("window_everywhere"):
        return ["window"] * count
    raise ConfigError(
        "layer_types",
        tr(
            "{where}: sliding_window is {window}, but no field says which layers have it"
            " (layer_types, sliding_window_pattern or use_sliding_window)",
            where=fields.where,
            window=window,
        ),
    )
