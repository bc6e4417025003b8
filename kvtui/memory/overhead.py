"""What a card holds beside weights and cache, by engine: every term an editable number.

vLLM 0.33 (`v1/worker/utils.py` request_memory, `gpu_worker.py` determine_available_memory):

    requested = ceil(total × gpu_memory_utilization)
    KV = requested − weights − activation peak − what is not torch's − CUDA graphs

so the fraction holds weights and activations inside it, and what is outside is not used at all.
Measured presets: https://github.com/llm-d-incubation/llm-d-planner/pull/205.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kvtui.language import tr
from kvtui.text import GIB

from . import llamacpp, sglang
from .errors import PlanError
from .model import Latent, Model
from .names import tokens
from .parallel import Parallel
from .question import Question
from .tables import read_table
from .units import ceil_div, gib

NON_TORCH_BYTES = GIB // 4
NON_TORCH_NCCL_BYTES = round(2.1 * GIB)
GRAPHS_BYTES = round(1.04 * GIB)
BAND_BYTES = GIB


class Overhead(NamedTuple):
    """One card's terms, in bytes.

    Attributes:
        available: what the engine divides into weights, overhead and cache.
        overhead: activations, CUDA context, graphs, buffers.
        band: by how much the overhead may be off either way.
        how: the sum in words, for display.
        notes: what a reader should know.
    """

    available: int
    overhead: int
    band: int
    how: str
    notes: tuple[str, ...] = ()


def of(question: Question, split: Parallel) -> Overhead:
    """The terms for a question.

    Raises:
        PlanError: the presets' file is not what it should be.
    """
    total = question.card.engine_total_bytes
    if question.engine == "vllm":
        return _vllm(question, split, total)
    if question.engine == "llamacpp":
        return _llamacpp(question, total)
    if question.engine == "sglang":
        return _sglang(question, split, total)
    return Overhead(question.card.memory_bytes, 0, 0, tr("the whole card, nothing else counted"))


def requested_bytes(total: int, utilisation: float) -> int:
    """What vLLM asks of a card: ceil(total × utilisation), in decimal arithmetic."""
    from fractions import Fraction

    share = Fraction(str(utilisation))
    return ceil_div(total * share.numerator, share.denominator)


def _vllm(question: Question, split: Parallel, total: int) -> Overhead:
    ranks = split.ranks_per_stage
    notes = []
    activation = question.activation_bytes
    band = 0
    if activation is None:
        activation, band = activation_preset(question.model), BAND_BYTES
    outside_torch = question.non_torch_bytes
    if outside_torch is None:
        outside_torch = NON_TORCH_BYTES if ranks == 1 else NON_TORCH_NCCL_BYTES
    graphs = question.graphs_bytes
    if graphs is None:
        measured = question.activation_bytes is not None and question.non_torch_bytes is not None
        graphs = 0 if measured else GRAPHS_BYTES
        if measured:
            notes.append(
                tr(
                    "activation and non-torch are given and CUDA graphs are not, so none are"
                    " counted"
                )
            )
    requested = requested_bytes(total, question.utilisation)
    how = tr(
        "{utilisation:g} × {total} − activation {activation} − not torch's"
        " {outside_torch} − CUDA graphs {graphs}",
        utilisation=question.utilisation,
        total=gib(total),
        activation=gib(activation),
        outside_torch=gib(outside_torch),
        graphs=gib(graphs),
    )
    return Overhead(requested, activation + outside_torch + graphs, band, how, tuple(notes))


def _llamacpp(question: Question, total: int) -> Overhead:
    compute = question.activation_bytes
    band = 0
    if compute is None:
        compute = llamacpp.compute_bytes(
            question.model, question.context * question.concurrency, question.ubatch
        )
        band = compute // 2
    outside = NON_TORCH_BYTES if question.non_torch_bytes is None else question.non_torch_bytes
    how = tr(
        "{total} − compute buffer {compute} − CUDA context {outside}",
        total=gib(total),
        compute=gib(compute),
        outside=gib(outside),
    )
    return Overhead(total, compute + outside, band, how)


def _sglang(question: Question, split: Parallel, total: int) -> Overhead:
    share = question.mem_fraction_static
    latent = any(isinstance(cache, Latent) for cache, _ in question.model.groups)
    band = 0
    if share is None:
        share = sglang.fraction(total, split.tp, split.pp, latent=latent)
        band = BAND_BYTES
    reserved = total - requested_bytes(total, share)
    how = tr(
        "mem_fraction_static {share:g} of {total}, the rest for activations and graphs",
        share=share,
        total=gib(total),
    )
    return Overhead(total, reserved, min(band, reserved), how)


def activation_preset(model: Model) -> int:
    """VLLM's measured activation peak for the model's family, in bytes."""
    words = tokens(model.id) + (("moe",) if model.experts else ())
    for wanted, size in _presets():
        if all(part in words for part in wanted):
            return size
    raise PlanError("overheads.toml has no row for the rest")


@cache
def _presets() -> tuple[tuple[tuple[str, ...], int], ...]:
    return tuple(
        (tuple(row["words"]), round(row["gib"] * GIB))
        for row in read_table("overheads.toml", "activation")
    )
