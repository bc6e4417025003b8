"""From options to an answer: what `kvtui plan` and the planner's fields share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvtui.language import tr

from . import cards, catalogue, options
from . import model as models
from .budget import Answer, Question, answer
from .cards import Card
from .errors import BadValueError, PlanError
from .model import Model

_RAW = ("layers", "kv_heads", "head_dim")
_SAME_NAME = (
    "gpus",
    "engine",
    "pp",
    "pp_partition",
    "dp",
    "ep",
    "cp",
    "tp",
    "block_size",
    "max_num_batched_tokens",
    "max_num_seqs",
    "prefix_caching",
    "spec_tokens",
    "async_scheduling",
    "ubatch",
    "swa_full",
    "kv_unified",
    "mem_fraction_static",
    "weights_dtype",
    "concurrency",
)
_OTHER_NAME = {
    "weights_gib": "weights_bytes",
    "kv_budget_gib": "kv_budget_bytes",
    "activation_gib": "activation_bytes",
    "non_torch_gib": "non_torch_bytes",
    "graphs_gib": "graphs_bytes",
    "gpu_memory_utilization": "utilisation",
}
_ONLY_FOR = {
    "vllm": (
        "gpu_memory_utilization",
        "block_size",
        "max_num_batched_tokens",
        "max_num_seqs",
        "graphs_gib",
        "prefix_caching",
        "async_scheduling",
    ),
    "llamacpp": ("parallel", "ubatch", "swa_full", "kv_unified"),
    "sglang": ("mem_fraction_static",),
}
ENGINE_ALIASES = {"llama.cpp": "llamacpp", "llama-cpp": "llamacpp", "formula": "logical"}
DEFAULT_CARD = "24GB"


def plan(given: Mapping[str, Any], own_cards: Sequence[Card] = ()) -> tuple[Question, Answer]:
    """The question that options ask, and its answer.

    Args:
        given: options by name (`options.KINDS`), as text or as numbers; None is not given.
            The model is one of `arch`, `config_json`, `gguf`, or `layers`, `kv_heads` and
            `head_dim` together. Sizes are in GiB.
        own_cards: the user's own cards.

    Raises:
        PlanError: whatever is wrong, in one sentence.
    """
    wanted = options.parse(given)
    engine = wanted.get("engine", "logical").casefold()
    wanted["engine"] = engine = ENGINE_ALIASES.get(engine, engine)
    fields: dict[str, Any] = {name: wanted[name] for name in _SAME_NAME if name in wanted}
    fields.update({new: wanted[old] for old, new in _OTHER_NAME.items() if old in wanted})
    for name in ("k", "v"):
        fields[name] = wanted.get(f"{name}_dtype", wanted.get("kv_dtype", "auto"))
    extra = wanted.get("lora_gib", 0) + wanted.get("draft_gib", 0)
    if extra:
        fields["extra_weights_bytes"] = extra
    model = _model(wanted)
    if "arch" in wanted and "weights_dtype" not in fields:
        # "…-FP8" or "…-AWQ" names the checkpoint's precision.
        matched = catalogue.match(wanted["arch"])
        if matched is not None and matched.model is model and matched.weights_dtype:
            fields["weights_dtype"] = matched.weights_dtype
    question = Question(
        model=model,
        card=cards.find(wanted.get("gpu", DEFAULT_CARD), own_cards),
        **{**fields, **_lengths(wanted)},
    )
    told = answer(question)
    unused = _unused(wanted, engine)
    return question, (told if not unused else _noted(told, unused))


def _lengths(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Context and concurrency; llama.cpp's `-c` is for all slots where only `-np` is given."""
    lengths = {name: wanted[name] for name in ("context", "concurrency") if name in wanted}
    parallel = wanted.get("parallel")
    if wanted["engine"] != "llamacpp" or parallel is None:
        return lengths
    if "concurrency" in wanted:
        if wanted["concurrency"] > parallel:
            raise BadValueError(
                "--concurrency",
                tr(
                    "{concurrency} is more than --parallel {parallel}",
                    concurrency=wanted["concurrency"],
                    parallel=parallel,
                ),
            )
        lengths["concurrency"] = parallel
    elif "context" in wanted:
        n_ctx = wanted["context"]
        lengths = {
            "n_ctx": n_ctx,
            "context": max(n_ctx // parallel, 1),
            "concurrency": parallel,
        }
    else:
        lengths["concurrency"] = parallel
    return lengths


def _model(wanted: Mapping[str, Any]) -> Model:
    raw = [name for name in _RAW if name in wanted]
    sources = [name for name in ("arch", "config_json", "gguf") if name in wanted]
    sources += ["layers"] if raw else []
    if len(sources) > 1:
        first, second = (options.flag_name(name) for name in sources[:2])
        raise PlanError(
            tr("{first} and {second} both name a model: give one", first=first, second=second)
        )
    if not sources:
        raise PlanError(
            tr(
                "name a model: --arch NAME, --config-json FILE, --gguf FILE, or --layers,"
                " --kv-heads and --head-dim"
            )
        )
    if "arch" in wanted:
        return catalogue.find(wanted["arch"])
    if "config_json" in wanted:
        from .hf_config import read_config

        return read_config(Path(wanted["config_json"]))
    if "gguf" in wanted:
        from .gguf_model import read_gguf

        return read_gguf(Path(wanted["gguf"]))
    missing = [options.flag_name(name) for name in _RAW if name not in wanted]
    if missing:
        raise PlanError(tr("raw geometry needs {missing} too", missing=tr(" and ").join(missing)))
    return models.custom(
        layers=wanted["layers"],
        kv_heads=wanted["kv_heads"],
        head_dim=wanted["head_dim"],
        v_head_dim=wanted.get("v_head_dim"),
        n_heads=wanted.get("heads"),
        window=wanted.get("window"),
        params=wanted.get("params_b"),
        weights_dtype=wanted.get("weights_dtype", "fp16"),
    )


def _unused(wanted: Mapping[str, Any], engine: str) -> tuple[str, ...]:
    """A note for each option that the engine does not have."""
    return tuple(
        tr(
            "{name} is {owner}'s and changes nothing for {engine}",
            name=options.flag_name(name),
            owner=owner,
            engine=engine,
        )
        for owner, names in _ONLY_FOR.items()
        for name in names
        if owner != engine
        and wanted.get(name) not in (None, False)
        and not (name == "async_scheduling" and wanted[name])
    )


def _noted(told: Answer, notes: tuple[str, ...]) -> Answer:
    return told._replace(notes=(*told.notes, *notes))
