"""A model from a Hugging Face config.json: its fields decide, not its name.

What is missing is refused with its name, and so is a field that is not known here and may change
the cache. Class defaults are not used: a file that leaves a field out may mean any of them.
Formulas: transformers 5.24 `models/*/configuration_*.py` and `modeling_*.py`, vLLM 0.33.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kvtui.language import later, tr
from kvtui.reading import read_at_most

from . import kv
from .hf_fields import ConfigError, Fields
from .hf_layers import layers_of
from .hf_weights import estimate, weights_precision
from .model import MAX_TOKENS, Attention, Cross, Layer, Model

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Real ones are under 200 KB."""

UNKNOWN_QUANTISATION = "the checkpoint's quantisation is not known here"

_NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "language_model")
_DTYPES = {"float32": "f32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
_ENCODER_DECODERS = ("whisper", "bart", "mbart", "marian", "pegasus", "blenderbot")
_REFUSED = {
    "rwkv": "its state is not described by fields known here",
    "recurrent_gemma": "its recurrent layers are not described by fields known here",
    "xlstm": "its state is not described by fields known here",
    "t5": "the length of its encoder's output is not in the file",
    "mt5": "the length of its encoder's output is not in the file",
    "umt5": "the length of its encoder's output is not in the file",
}


def read_config(path: Path) -> Model:
    """The model that a config.json describes.

    Raises:
        ConfigError: the file cannot be read, is no JSON object, or lacks or has a field such that
            its cache cannot be told.
    """
    shown = path.name or str(path)
    try:
        if path.is_dir():
            raise ConfigError(
                "", tr("{shown} is a folder: give the config.json in it", shown=shown)
            )
        data = read_at_most(path, MAX_FILE_BYTES)
        if (size := max(len(data), path.stat().st_size)) > MAX_FILE_BYTES:
            raise ConfigError(
                "",
                tr("{shown} is {size:,} B large: that is no config.json", shown=shown, size=size),
            )
        raw = json.loads(data)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(
            "", tr("{shown} cannot be read: {reason}", shown=shown, reason=reason)
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError("", f"{shown} is no JSON: {_first_line(error)}") from error
    if not isinstance(raw, Mapping):
        raise ConfigError("", tr("{shown} holds no JSON object", shown=shown))
    name = path.stem if path.stem != "config" else path.resolve().parent.name
    raw = _with_quantisation(raw, path)
    try:
        model = from_config(raw, str(raw.get("_name_or_path") or "") or name)
        return model if model.params is not None else _with_twins_weights(model)
    except ConfigError as error:
        known = _known_twin(raw) if error.field in ("layer_types", "no_rope_layers") else ""
        if not known:
            raise
        raise ConfigError(
            error.field, tr("{error}; --arch {known} has that geometry", error=error, known=known)
        ) from error


def from_config(raw: Mapping[str, Any], name: str = "config.json") -> Model:
    """The model that a parsed config.json describes.

    Args:
        raw: the JSON object.
        name: the name to show.

    Raises:
        ConfigError: a field that is missing, unknown or senseless.
    """
    outer = Fields(raw, "config.json")
    inner = _text_part(outer)
    kind = str(inner.get("model_type") or outer.get("model_type") or "")
    if not kind and inner.get("num_hidden_layers", "n_layer", "block_configs") is None:
        raise outer.missing("model_type")
    if kind in _REFUSED:
        raise ConfigError("model_type", f"{inner.where}: model_type {kind}: {_REFUSED[kind]}")
    if inner.get("compress_ratios", "compress_rates") is not None:
        raise ConfigError(
            "compress_ratios",
            tr(
                "{where}: the compressed attention that compress_ratios describes is not known"
                " here",
                where=inner.where,
            ),
        )
    dtype = _dtype(inner, outer)
    unsaid = (
        ""
        if dtype
        else tr("no torch_dtype: 16 bits an element are counted, as vLLM and llama.cpp do")
    )
    if kind in _ENCODER_DECODERS:
        layers = _encoder_decoder(inner, kind)
    elif outer.get("is_encoder_decoder"):
        raise ConfigError(
            "is_encoder_decoder",
            tr(
                "config.json: the encoder of model_type {value} is not known here",
                value=kind or "(none)",
            ),
        )
    else:
        layers = _cross_layers(outer, inner, layers_of(inner, kind))
    draft = inner.maybe(
        "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", least=0
    )
    modules = inner.maybe("num_mtp_modules", least=0)
    if draft is None:
        draft = modules if inner.get("use_mtp") else 0
    inner.get("mtp_hybrid_override_pattern", "mtp_layers_block_type")
    tied = _tied(inner, outer)
    heads = inner.get("num_attention_heads", "n_head", "n_heads", "num_heads")
    params, active, experts, how = estimate(inner, kind, layers, tied)
    precision = weights_precision(inner, outer, dtype or "bf16")
    inner.refuse_unknown()
    note = "; ".join(filter(None, (unsaid, how)))
    if _keeps_fp8(inner, outer):
        note = "; ".join(filter(None, (note, tr("it has scales for an fp8 cache: --kv-dtype fp8"))))
    if precision is None:
        note = "; ".join(filter(None, (note, UNKNOWN_QUANTISATION)))
        params = active = None
    # What multi-token prediction adds is attention that keeps every token.
    last = next((x for x in reversed(layers) if any(kv.is_growing(cache) for cache in x)), ())
    return Model(
        id=name,
        name=name,
        params=params,
        params_active=active,
        weights_dtype=precision or "bf16",
        kv_dtype=dtype or "bf16",
        layers=layers,
        source=later("config.json as given"),
        max_context=inner.maybe(
            "max_position_embeddings",
            "n_positions",
            "max_seq_len",
            "model_max_length",
            "seq_length",
            "max_target_positions",
            "max_sequence_length",
            limit=MAX_TOKENS,
        ),
        vocab=inner.maybe("vocab_size", limit=1 << 26),
        hidden=inner.maybe("hidden_size", "n_embd", "d_model"),
        tied=tied,
        heads=heads if isinstance(heads, int) and not isinstance(heads, bool) else None,
        experts=experts,
        note=note,
        draft_layers=(last,) * (draft or 0),
        windows_ignored_by=("llamacpp",) if kind in ("mistral", "phi3", "starcoder2") else (),
    )


def _with_twins_weights(model: Model) -> Model:
    """The model with the parameters of the catalogue's rows of its geometry, if they agree."""
    from dataclasses import replace

    from .catalogue import catalogue

    if UNKNOWN_QUANTISATION in model.note:
        return model
    own = (model.layers, model.hidden, model.vocab)
    twins = [row for row in catalogue() if (row.layers, row.hidden, row.vocab) == own]
    if len({row.params for row in twins}) != 1 or twins[0].params is None:
        return model
    return replace(
        model,
        params=twins[0].params,
        params_active=twins[0].params_active,
        experts=twins[0].experts,
        note="; ".join(
            [
                *(part for part in model.note.split("; ") if not part.startswith("parameters")),
                tr("parameters of {id}, which has this geometry", id=twins[0].id),
            ]
        ).removeprefix("; "),
    )


def _with_quantisation(raw: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The object with what an hf_quant_config.json beside it says, where it says nothing itself."""
    beside = path.with_name("hf_quant_config.json")
    if raw.get("quantization_config") is not None or beside == path or not beside.is_file():
        return raw
    try:
        found = json.loads(read_at_most(beside, MAX_FILE_BYTES)).get("quantization")
    except (OSError, ValueError, RecursionError, AttributeError) as error:
        raise ConfigError(
            "", tr("{name} cannot be used: {error}", name=beside.name, error=_first_line(error))
        ) from error
    if not isinstance(found, Mapping):
        return raw
    return {**raw, "quantization_config": {"quant_method": "modelopt", **found}}


def _known_twin(raw: Mapping[str, Any]) -> str:
    """The only model of the catalogue with this file's layers, width and vocabulary, if any."""
    from .catalogue import catalogue

    fields = _text_part(Fields(raw, "config.json"))
    wanted = [fields.get(name) for name in ("num_hidden_layers", "hidden_size")]
    if None in wanted:
        return ""
    vocab = fields.get("vocab_size")
    twins = [
        model.id
        for model in catalogue()
        if [len(model.layers), model.hidden] == wanted and vocab in (None, model.vocab)
    ]
    return twins[0] if len(twins) == 1 else ""


def _text_part(outer: Fields) -> Fields:
    """The fields of the language model, however deep they are."""
    found = outer
    for _ in range(3):
        deeper = next((found.inner(name) for name in _NESTED if found.inner(name)), None)
        if deeper is None:
            break
        found = deeper
    return found


def _dtype(inner: Fields, outer: Fields) -> str:
    """The checkpoint's precision, "" where the file does not say.

    Raises:
        ConfigError: a precision that is not known here.
    """
    given = inner.get("dtype", "torch_dtype") or outer.get("dtype", "torch_dtype")
    if given is None or given == "auto":
        return ""
    found = _DTYPES.get(str(given).removeprefix("torch."))
    if found is None:
        raise ConfigError(
            "torch_dtype",
            tr("{where}: torch_dtype {given!r} is not known here", where=inner.where, given=given),
        )
    return found


def _keeps_fp8(inner: Fields, outer: Fields) -> bool:
    """Whether the checkpoint brings scales for a cache in fp8, which vLLM then uses."""
    for fields in (inner, outer):
        quantised = fields.inner("quantization_config")
        if quantised is not None:
            scheme = quantised.get("kv_cache_scheme", "kv_cache_quant_algo")
            if isinstance(scheme, Mapping):
                return scheme.get("num_bits") == 8 and scheme.get("type") == "float"
            return str(scheme).upper() == "FP8"
    return False


def _tied(inner: Fields, outer: Fields) -> bool | None:
    for fields in (inner, outer):
        given = fields.get("tie_word_embeddings")
        if isinstance(given, bool):
            return given
    return None


def _encoder_decoder(fields: Fields, kind: str) -> tuple[Layer, ...]:
    """Whisper, BART: each decoder layer has self attention and attention to the encoder."""
    count = fields.whole("decoder_layers")
    heads = fields.whole("decoder_attention_heads")
    width = fields.whole("d_model")
    source = "max_source_positions" if kind == "whisper" else "max_position_embeddings"
    tokens = fields.whole(source, limit=MAX_TOKENS)
    if width % heads:
        raise ConfigError(
            "d_model",
            tr(
                "{where}: {width} is no multiple of {heads} heads",
                where=fields.where,
                width=width,
                heads=heads,
            ),
        )
    dim = width // heads
    for name in ("encoder_layers", "encoder_attention_heads", "encoder_layerdrop"):
        fields.get(name)
    fields.get("num_hidden_layers", "num_attention_heads", "median_filter_width")
    fields.get("decoder_layerdrop", "use_weighted_layer_sum", "max_length", "is_encoder_decoder")
    return ((Attention(heads, dim, dim), Cross(heads, dim, dim, tokens)),) * count


def _cross_layers(outer: Fields, inner: Fields, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Llama 3.2 Vision: some layers attend to one image's tokens and to nothing else."""
    indices = inner.numbers("cross_attention_layers")
    if indices is None:
        return layers
    vision = outer.inner("vision_config")
    if vision is None:
        raise outer.missing("vision_config")
    patches = (vision.whole("image_size") // vision.whole("patch_size")) ** 2 + 1
    tokens = patches * vision.whole("max_num_tiles")
    result = list(layers)
    for index in indices:
        cache = layers[index][0] if 0 <= index < len(layers) and layers[index] else None
        if not isinstance(cache, Attention):
            raise ConfigError(
                "cross_attention_layers",
                tr(
                    "{where}: there is no layer {index} to attend from",
                    where=inner.where,
                    index=index,
                ),
            )
        result[index] = (Cross(cache.kv_heads, cache.k_dim, cache.v_dim, tokens),)
    return tuple(result)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
