"""The memory question: its fields, and what makes no sense among them."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.language import tr

from .cards import Card
from .errors import BadValueError, PlanError, UnknownNameError
from .model import MAX_TOKENS, Model, check
from .parallel import Parallel

ENGINES: tuple[str, ...] = ("logical", "vllm", "llamacpp", "sglang")

CUDA_ONLY = {"vllm": "vLLM", "sglang": "SGLang"}
"""Engines whose budgets are those of CUDA and ROCm cards, and what they call themselves."""

MAX_CARDS = 65_536
MAX_SEQUENCES = 10**9
MAX_BYTES = 1 << 60

_SIZES = (
    "weights_bytes",
    "kv_budget_bytes",
    "activation_bytes",
    "non_torch_bytes",
    "graphs_bytes",
    "extra_weights_bytes",
)
_COUNTS = ("tp", "pp", "dp", "ep", "cp", "gpus")
_TOKENS = ("block_size", "max_num_batched_tokens", "max_num_seqs", "ubatch", "n_ctx")


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        model: the model.
        card: the card.
        gpus: how many of them; None counts those that tp, pp, dp and cp need. Without these they
            share the heads (llama.cpp: the layers).
        engine: one of `ENGINES`. "logical" is the formula alone: no padding, no overhead, and
            the whole card.
        k: precision of the keys, by name; "auto" is the model's own (llama.cpp: fp16).
        v: precision of the values.
        context: tokens of one sequence.
        concurrency: sequences at once.
        weights_bytes: size of all weights together when known; else parameters × bits.
        weights_dtype: precision of the weights where it is not the checkpoint's.
        extra_weights_bytes: LoRA adapters and draft models beside them.
        kv_budget_bytes: bytes for the KV cache per card, where that is set by hand.
        tp: tensor parallel ranks.
        pp: pipeline stages.
        pp_partition: layers of each stage, where not split evenly.
        dp: data parallel replicas.
        ep: ranks that share the experts.
        cp: context parallel ranks.
        utilisation: vLLM's `gpu_memory_utilization`: weights and activations come out of it.
        activation_bytes: activation peak (llama.cpp: compute buffer); None takes a preset.
        non_torch_bytes: CUDA context and NCCL; None takes a preset.
        graphs_bytes: CUDA graphs; None takes a preset.
        block_size: tokens of a vLLM block; None is the backend's own.
        max_num_batched_tokens: vLLM's, which windows reserve for; None is its default.
        async_scheduling: vLLM has one batch more in flight (its default from 0.25 on; the logs of
            older versions are met without).
        max_num_seqs: vLLM's cap on sequences.
        prefix_caching: recurrent states keep a second block in vLLM.
        spec_tokens: speculative tokens; the model's own draft layers are counted with them.
        ubatch: llama.cpp's `-ub`.
        swa_full: llama.cpp's `--swa-full`.
        kv_unified: llama.cpp's `-kvu`.
        n_ctx: llama.cpp's `-c` for all slots, where it is not context × concurrency.
        mem_fraction_static: SGLang's; None works it out as SGLang does.
    """

    model: Model
    card: Card
    gpus: int | None = None
    engine: str = "logical"
    k: str = "auto"
    v: str = "auto"
    context: int = 2048
    concurrency: int = 1
    weights_bytes: int | None = None
    weights_dtype: str | None = None
    extra_weights_bytes: int = 0
    kv_budget_bytes: int | None = None
    tp: int | None = None
    pp: int = 1
    pp_partition: tuple[int, ...] | None = None
    dp: int = 1
    ep: int | None = None
    cp: int = 1
    utilisation: float = 0.92
    activation_bytes: int | None = None
    non_torch_bytes: int | None = None
    graphs_bytes: int | None = None
    block_size: int | None = None
    max_num_batched_tokens: int | None = None
    async_scheduling: bool = True
    max_num_seqs: int | None = None
    prefix_caching: bool = False
    spec_tokens: int = 0
    ubatch: int = 512
    swa_full: bool = False
    kv_unified: bool = False
    n_ctx: int | None = None
    mem_fraction_static: float | None = None


def split_of(question: Question) -> Parallel:
    """How the question spreads the model over its cards.

    Raises:
        BadValueError: the cards and the ways to share do not multiply up.
        PlanError: a way to share that the engine does not have.
    """
    q = question
    if q.engine == "llamacpp" and ((q.tp or 1) > 1 or q.cp > 1):
        raise PlanError(tr("llama.cpp gives each card some of the layers: use --gpus or --pp"))
    tp, pp = q.tp, q.pp
    if q.gpus is not None and tp is None and q.engine != "llamacpp":
        if q.gpus % (pp * q.dp):
            raise BadValueError(
                "gpus",
                tr("{gpus} cannot be shared by pp {pp} × dp {dp}", gpus=q.gpus, pp=pp, dp=q.dp),
            )
        tp = q.gpus // (pp * q.dp)
        if q.cp > 1 and tp == q.cp:
            return Parallel(tp, pp, q.dp, q.cp, q.ep, q.pp_partition)
    if q.gpus is not None and q.engine == "llamacpp" and pp == 1:
        pp = max(q.gpus // q.dp, 1)
    split = Parallel(tp or 1, pp, q.dp, q.cp, q.ep, q.pp_partition)
    if split.tp > 1 and split.tp % split.cp:
        raise BadValueError(
            "cp",
            tr("{cp} does not divide tp {tp}, whose cards it shares", cp=split.cp, tp=split.tp),
        )
    if q.gpus is not None and q.gpus != split.cards:
        raise BadValueError(
            "gpus",
            tr(
                "is {gpus}, but tp {tp} × pp {pp} × dp {dp} makes {cards}",
                gpus=q.gpus,
                tp=split.tp,
                pp=pp,
                dp=q.dp,
                cards=split.cards,
            ),
        )
    if split.ep is not None and (split.tp * split.dp) % split.ep:
        raise BadValueError(
            "ep", tr("{ep} does not divide tp × dp = {tp}", ep=split.ep, tp=split.tp * split.dp)
        )
    return split


def validate(question: Question) -> None:
    """Refuse numbers that make no sense.

    Raises:
        BadValueError: names the field; `engine` where it does not run on the card.
        UnknownNameError: an unknown engine.
    """
    q = question
    if q.engine not in ENGINES:
        raise UnknownNameError("engine", q.engine, ENGINES, listing="known: " + " ".join(ENGINES))
    if q.engine in CUDA_ONLY and q.card.metal:
        raise BadValueError(
            "engine",
            tr(
                "{engine} does not run on {card}: choose another card, or llama.cpp",
                engine=CUDA_ONLY[q.engine],
                card=q.card.name,
            ),
        )
    check("context", q.context, MAX_TOKENS)
    check("concurrency", q.concurrency, MAX_SEQUENCES)
    check("spec_tokens", q.spec_tokens, 1024, least=0)
    for field in _COUNTS:
        value = getattr(q, field)
        if value is not None:
            check(field, value, MAX_CARDS)
    for field in _TOKENS:
        value = getattr(q, field)
        if value is not None:
            check(field, value, MAX_TOKENS)
    for field in _SIZES:
        value = getattr(q, field)
        if value is not None:
            check(field, value, MAX_BYTES, least=0)
    for field in ("utilisation", "mem_fraction_static"):
        share = getattr(q, field)
        if share is not None and not 0 < share <= 1:
            raise BadValueError(
                field, tr("must be above 0 and at most 1, not {share}", share=share)
            )
