"""The engines' own flags for a question, ready to copy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kvtui.language import tr

if TYPE_CHECKING:
    from .budget import Answer

# vLLM's and SGLang's names of what differs from the model's own precision.
_VLLM_KV = {"fp16": "float16", "bf16": "bfloat16"}
_SGLANG_KV = {"fp8": "fp8_e4m3", "bf16": "bf16", "nvfp4": "fp4_e2m1"}
_GGML = {"f32": "f32", "fp16": "f16"}


class Fitting(NamedTuple):
    """Flags that can be used as they are.

    Attributes:
        text: the flags; empty where not even one sequence fits.
        sequences: how many they serve at once: those asked for, or as many as fit.
        asked: how many were asked for.
    """

    text: str
    sequences: int
    asked: int


def that_fit(answer: Answer, engine: str) -> Fitting:
    """The flags of an engine for what was asked, else for as many of its sequences as fit.

    Args:
        answer: the answer.
        engine: one of `kvtui.memory.question.ENGINES`; the answer is about it.
    """
    asked = answer.question.concurrency
    if answer.fits:
        return Fitting(flags(answer, engine), asked, asked)
    most = min(answer.max_concurrency, asked)
    if most < 1:
        return Fitting("", 0, asked)
    fewer = replace(answer.question, concurrency=most, n_ctx=None)
    return Fitting(flags(answer._replace(question=fewer), engine), most, asked)


def fewer(fitting: Fitting) -> str:
    """What to say beside flags that serve fewer sequences than were asked for."""
    return tr(
        "(for the {sequences:,} of {asked:,} that fit)",
        sequences=fitting.sequences,
        asked=fitting.asked,
    )


def flags(answer: Answer, engine: str) -> str:
    """Flags that set this context, concurrency and precision in an engine ("" for logical)."""
    if engine == "vllm":
        return _vllm(answer)
    if engine == "llamacpp":
        return _llamacpp(answer)
    if engine == "sglang":
        return _sglang(answer)
    return ""


def _vllm(answer: Answer) -> str:
    question, split = answer.question, answer.split
    words = [
        f"--max-model-len {question.context}",
        f"--max-num-seqs {per_replica(answer)}",
        f"--gpu-memory-utilization {question.utilisation:g}",
    ]
    own = question.model.kv_dtype
    if answer.k.name == "f32":
        words.append("--dtype float32")  # the cache follows the model's precision
    elif answer.k.name != own:
        words.append(f"--kv-cache-dtype {_VLLM_KV.get(answer.k.name, answer.k.name)}")
    for flag, number in (
        ("--tensor-parallel-size", split.tp),
        ("--pipeline-parallel-size", split.pp),
        ("--data-parallel-size", split.dp),
        ("--decode-context-parallel-size", split.cp),
    ):
        if number > 1:
            words.append(f"{flag} {number}")
    if split.ep is not None and split.ep > 1:
        words.append("--enable-expert-parallel")
    for flag, value in (
        ("--block-size", question.block_size),
        ("--max-num-batched-tokens", question.max_num_batched_tokens),
    ):
        if value is not None:
            words.append(f"{flag} {value}")
    if question.prefix_caching:
        words.append("--enable-prefix-caching")
    return " ".join(words)


def _llamacpp(answer: Answer) -> str:
    question = answer.question
    words = [f"-c {question.context * question.concurrency}", f"-np {question.concurrency}"]
    for flag, name in (("-ctk", answer.k.name), ("-ctv", answer.v.name)):
        if name != "fp16":
            words.append(f"{flag} {_GGML.get(name, name)}")
    if answer.v.block_elements > 1:
        words.append("-fa on")
    if question.ubatch != 512:
        words.append(f"-ub {question.ubatch}")
    if question.swa_full:
        words.append("--swa-full")
    if question.kv_unified:
        words.append("-kvu")
    return " ".join(words)


def _sglang(answer: Answer) -> str:
    question, split = answer.question, answer.split
    words = [
        f"--context-length {question.context}",
        f"--max-running-requests {per_replica(answer)}",
    ]
    if question.mem_fraction_static is not None:
        words.append(f"--mem-fraction-static {question.mem_fraction_static:g}")
    if answer.k.name != question.model.kv_dtype:
        words.append(f"--kv-cache-dtype {_SGLANG_KV.get(answer.k.name, answer.k.name)}")
    for flag, number in (("--tp", split.tp), ("--pp", split.pp), ("--dp", split.dp)):
        if number > 1:
            words.append(f"{flag} {number}")
    return " ".join(words)


def per_replica(answer: Answer) -> int:
    """Sequences that one data parallel replica serves."""
    return -(-answer.question.concurrency // answer.split.dp)
