"""A model from a GGUF header: the caches of its layers, and its weights to the byte.

Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and llama.cpp October 2026
(`llama-hparams.cpp`, `llama-model.cpp`). What llama.cpp has in its code and no key says, the
spacing of windows in some architectures, is in `gguf_words.toml`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from kvtui.language import later, tr

from . import kv
from .gguf_header import GgufError, Header, Long, read_header
from .gguf_keys import Keys
from .model import (
    MAX_HEADS,
    MAX_LAYERS,
    MAX_TOKENS,
    Attention,
    Latent,
    Layer,
    Model,
    Shared,
    State,
)
from .tables import read_toml

_PLAIN_PRECISIONS = {0: "f32", 1: "fp16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1"}


def read_gguf(path: Path) -> Model:
    """The model that a GGUF file's header describes.

    Raises:
        GgufError: the file cannot be read, is no GGUF, is cut off, or lacks a key such that its
            cache cannot be told.
    """
    return to_model(read_header(path), path.stem)


def to_model(header: Header, name: str) -> Model:
    """The model that a header describes.

    Args:
        header: the header.
        name: the name to show where the file has none.

    Raises:
        GgufError: a key that is missing, unknown or senseless.
    """
    arch = header.metadata.get("general.architecture")
    if not isinstance(arch, str) or not arch:
        raise GgufError(tr("the GGUF's key general.architecture is missing"))
    if arch in _words()["refused"]:
        raise GgufError(
            tr("the GGUF's architecture {arch} keeps a cache that is not known here", arch=arch)
        )
    keys = Keys(header, arch)
    # block_count includes the layers of multi-token prediction, which llama.cpp does not load.
    draft = keys.maybe("nextn_predict_layers", MAX_LAYERS, 0) or 0
    layers = _layers(keys, keys.whole("block_count", MAX_LAYERS, least=draft + 1) - draft)
    last = next((x for x in reversed(layers) if any(kv.is_growing(cache) for cache in x)), ())
    keys.refuse_unknown()
    sizes = [tensor.size for tensor in header.tensors]
    parts = header.metadata.get("split.count")
    whole = not (isinstance(parts, int) and parts > 1)
    note = "" if whole else tr("one of {parts} parts: its weights are not counted", parts=parts)
    weights = sum(size for size in sizes if size is not None)
    if None in sizes:
        whole, note = False, tr("a tensor type that is not known here: weights are not counted")
    params = sum(tensor.elements for tensor in header.tensors) if whole else 0
    heads = keys.get("attention.head_count")
    shown = header.metadata.get("general.name")
    vocab = header.metadata.get("tokenizer.ggml.tokens")
    return Model(
        id=name,
        name=shown if isinstance(shown, str) and shown else name,
        params=params or None,
        params_active=None,
        weights_dtype=_PLAIN_PRECISIONS.get(header.metadata.get("general.file_type", -1), "fp16"),
        kv_dtype="fp16",
        weights_bytes=weights if whole and weights else None,
        layers=layers,
        source=later("GGUF header as given"),
        max_context=keys.maybe("context_length", MAX_TOKENS),
        vocab=keys.maybe("vocab_size", 1 << 26)
        or (vocab.length if isinstance(vocab, Long) else None),
        hidden=keys.maybe("embedding_length"),
        heads=heads if isinstance(heads, int) and not isinstance(heads, bool) else None,
        note=note,
        draft_layers=(last,) * draft,
        windows_ignored_by=("llamacpp",) if arch in _words()["window_ignored"] else (),
    )


def _layers(keys: Keys, count: int) -> tuple[Layer, ...]:
    """The caches of each layer."""
    kinds = _kinds(keys, count)
    heads = keys.per_layer("attention.head_count", count, MAX_HEADS)
    stored = keys.per_layer("attention.head_count_kv", count, MAX_HEADS) or heads
    recurrent = _state(keys, heads) if any(kind in ("state", "both") for kind in kinds) else None
    layers: list[Layer] = []
    for index, kind in enumerate(kinds):
        made: list[Any] = []
        if kind in ("full", "window", "chunk", "both"):
            if heads is None or stored is None:
                raise GgufError(
                    tr("the GGUF's key {arch}.attention.head_count is missing", arch=keys.arch)
                )
            if stored[index]:
                made.append(_attention(keys, kind, stored[index], heads[index]))
        if kind in ("state", "both") and recurrent is not None:
            made.append(recurrent)
        layers.append(tuple(made))
    shared = keys.maybe("attention.shared_kv_layers", MAX_LAYERS, 0)
    if shared is None and keys.arch in _words()["shares_layers"]:
        raise GgufError(
            tr("the GGUF's key {arch}.attention.shared_kv_layers is missing", arch=keys.arch)
        )
    if shared:
        if shared >= count:
            raise GgufError(
                tr(
                    "the GGUF's key {arch}.attention.shared_kv_layers is {shared}",
                    arch=keys.arch,
                    shared=shared,
                )
            )
        layers[count - shared :] = [(Shared(),)] * shared
    return tuple(layers)


def _kinds(keys: Keys, count: int) -> list[str]:
    """The kind of each layer: full, window, chunk, state, both or none."""
    arch, words = keys.arch, _words()
    stored = keys.per_layer("attention.head_count_kv", count, MAX_HEADS)
    if arch in words["state_everywhere"]:
        return ["state"] * count
    if arch in words["both_everywhere"]:
        return ["both"] * count
    listed = keys.per_layer("attention.recurrent_layers", count, 1)
    interval = keys.maybe("full_attention_interval", MAX_LAYERS)
    has_state = any(
        keys.get(name) is not None
        for name in ("ssm.conv_kernel", "kda.head_dim", "shortconv.l_cache")
    )
    if listed is not None:
        return ["state" if item else "full" for item in listed]
    if has_state and interval is not None:
        return ["full" if (index + 1) % interval == 0 else "state" for index in range(count)]
    if has_state:
        if stored is None or 0 not in stored:
            raise GgufError(
                tr(
                    "the GGUF has {arch}.ssm keys, but neither {arch}.full_attention_interval nor a"
                    " zero in {arch}.attention.head_count_kv says which layers are recurrent",
                    arch=arch,
                )
            )
        inner = keys.per_layer("feed_forward_length", count, 1 << 26)
        plain = arch in words["mlp_layers"] and inner is not None
        return [
            "full" if heads else "none" if plain and inner and inner[index] else "state"
            for index, heads in enumerate(stored)
        ]
    return _windows(keys, count)


def _windows(keys: Keys, count: int) -> list[str]:
    """Where the windows are: by the key, or as llama.cpp's code spaces them."""
    arch, words = keys.arch, _words()
    if arch in words["chunk_pattern"]:
        step = words["chunk_pattern"][arch]
        return ["full" if (index + 1) % step == 0 else "chunk" for index in range(count)]
    window = keys.maybe("attention.sliding_window", MAX_TOKENS, 0)
    pattern = keys.get("attention.sliding_window_pattern")
    if not window or words["window_needs_layers"].get(arch, count) != count:
        return ["full"] * count
    if arch in words["window_ignored"]:
        return ["window"] * count
    if isinstance(pattern, list):
        if len(pattern) < count:
            raise GgufError(
                tr(
                    "the GGUF's key {arch}.attention.sliding_window_pattern is shorter than {count}"
                    " layers",
                    arch=arch,
                    count=count,
                )
            )
        return ["window" if item else "full" for item in pattern[:count]]
    step = pattern if isinstance(pattern, int) and pattern else words["window_pattern"].get(arch)
    if step is None:
        raise GgufError(
            tr(
                "the GGUF's key {arch}.attention.sliding_window is set, but none says which"
                " layers have it ({arch}.attention.sliding_window_pattern)",
                arch=arch,
            )
        )
    return ["full" if (index + 1) % step == 0 else "window" for index in range(count)]


def _attention(keys: Keys, kind: str, stored: int, heads: int) -> Attention | Latent:
    rank = keys.maybe("attention.kv_lora_rank")
    mla = keys.get("attention.key_length_mla")
    keys.get("attention.value_length_mla")
    keys.get("attention.value_length")
    if rank is not None and mla is not None:
        # llama.cpp keeps the latent with its rotary key as one key, and no value.
        row = keys.whole("attention.key_length")
        if row <= rank:
            raise GgufError(
                tr("the GGUF's key {arch}.attention.key_length is {row}", arch=keys.arch, row=row)
            )
        return Latent(
            rank,
            row - rank,
            keys.maybe("attention.indexer.key_length") or 0,
            keys.maybe("attention.indexer.top_k", MAX_TOKENS) or 0,
        )
    if keys.get("attention.indexer.key_length") is not None:
        raise GgufError(
            tr(
                "the GGUF's key {arch}.attention.indexer.key_length stands without MLA's keys",
                arch=keys.arch,
            )
        )
    k_dim, v_dim = keys.maybe("attention.key_length"), keys.maybe("attention.value_length")
    if kind == "window":
        k_dim = keys.maybe("attention.key_length_swa") or k_dim
        v_dim = keys.maybe("attention.value_length_swa") or v_dim
    else:
        keys.get("attention.key_length_swa")
        keys.get("attention.value_length_swa")
    if k_dim is None or v_dim is None:
        # The format's own rule: without a length it is the width over the heads.
        width = keys.whole("embedding_length")
        if not heads or width % heads:
            raise GgufError(
                tr("the GGUF's key {arch}.attention.key_length is missing", arch=keys.arch)
            )
        k_dim, v_dim = k_dim or width // heads, v_dim or width // heads
    if kind == "window":
        return Attention(
            stored, k_dim, v_dim, window=keys.whole("attention.sliding_window", MAX_TOKENS)
        )
    if kind == "chunk":
        return Attention(stored, k_dim, v_dim, chunk=_words()["chunk_tokens"][keys.arch])
    return Attention(stored, k_dim, v_dim)


def _state(keys: Keys, heads: list[int] | None) -> State:
    """A recurrent layer's state, as llama.cpp sizes it (n_embd_r and n_embd_s)."""
    dim = keys.maybe("kda.head_dim")
    kernel = keys.maybe("ssm.conv_kernel")
    if dim is not None:
        many = max(heads or [0])
        if kernel is None or not many:
            raise GgufError(tr("the GGUF's key {arch}.ssm.conv_kernel is missing", arch=keys.arch))
        return State("kda", kernel - 1, 3 * many * dim, many * dim * dim)
    short = keys.maybe("shortconv.l_cache")
    if short is not None:
        return State("shortconv", short - 1, keys.whole("embedding_length"), 0)
    kernel = keys.whole("ssm.conv_kernel")
    inner, size = keys.whole("ssm.inner_size", 1 << 24), keys.whole("ssm.state_size")
    groups = keys.maybe("ssm.group_count", MAX_HEADS, 0) or 0
    keys.get("ssm.time_step_rank")
    keys.get("ssm.dt_b_c_rms")
    family = "mamba2" if groups else "mamba1"
    return State(
        family,
        kernel - 1,
        inner + 2 * groups * size,
        inner * size,
        dtype="f32",
        groups=groups,
        group_channels=2 * size if groups else 0,
    )


@cache
def _words() -> dict[str, Any]:
    """`gguf_words.toml`.

    Raises:
        PlanError: the file is not what it should be.
    """
    return read_toml("gguf_words.toml")
