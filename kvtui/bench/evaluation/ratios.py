"""Endpoints beside each other: ratios of pairs of requests; what a precision costs and saves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.quantiles import Figure, figure, interval
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import template_of
from kvtui.bench.requests.targets import Target
from kvtui.bench.work.labels import label_shown
from kvtui.bench.work.workload import Workload
from kvtui.language import later, tr
from kvtui.text import milliseconds

FIGURES = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": later("end to end")}
LEAST = 0.02
"""A ratio nearer to one than this is no difference worth a claim, whatever its interval."""
METHOD = "median of the ratios of pairs, 95 % by order statistics"


def pairs_of(
    workload: Workload, samples: Sequence[Sample], name: str, template: int = 0
) -> dict[tuple[str, int], list[float]]:
    """(series, target) → figure over that of the first target, request by request.

    Only requests that both completed; a TTFT only where both were cold, or both warm.
    """
    found: dict[tuple[str, int, int], Sample] = {}
    for sample in samples:
        stage = workload.stages[sample.stage]
        if sample.completed:
            found[stage.series, stage.target, sample.index] = sample
    ratios: dict[tuple[str, int], list[float]] = {}
    for (series, target, index), sample in found.items():
        first = found.get((series, 0, index))
        if target == 0 or first is None:
            continue
        a, b = getattr(first, name), getattr(sample, name)
        alike = name != "ttft_ms" or first.warm(template) == sample.warm(template)
        if a and b and alike:
            ratios.setdefault((series, target), []).append(b / a)
    return ratios


def compare_endpoints(
    workload: Workload, levels: Sequence[Level], samples: Sequence[Sample]
) -> list[Finding]:
    """Each endpoint's figures over the first one's."""
    found = []
    several = len({stage.series for stage in workload.stages}) > 1
    template = template_of(workload, samples)
    first = workload.targets[0].name
    for name, what in FIGURES.items():
        for (series, number), ratios in pairs_of(workload, samples, name, template).items():
            target = workload.targets[number].name
            where = f" ({series.removeprefix('compare/')})" if several else ""
            of = tr("{figure} of {target}", figure=tr(what), target=f"{target}{where}")
            found.append(_ratio(of, first, name, ratios))
    lengths = {row.completion_tokens.p50 for row in levels if row.completion_tokens}
    if len(lengths) > 1:
        found.append(
            Finding(
                "unequal_outputs",
                tr(
                    "The answers are not equally long (medians {lengths} tokens): end to end"
                    " compares different work.",
                    lengths=", ".join(f"{n:.0f}" for n in sorted(lengths)),
                ),
                None,
            )
        )
    return found


def _ratio(what: str, first: str, name: str, ratios: list[float]) -> Finding:
    spread = figure(ratios)
    assert spread is not None
    between = interval(sorted(ratios), 0.5)
    figures: dict[str, Any] = {
        "figure": name,
        "ratio": spread.p50,
        "ci95": between,
        "pairs": spread.n,
        "method": METHOD,
    }
    if between is None:
        text = tr(
            "{what} over {first}: {ratio:.3f}, the median of the ratios of {n} pairs, too few for"
            " a claim.",
            what=what,
            first=first,
            ratio=spread.p50,
            n=spread.n,
        )
        return Finding("ratio", text, None, figures)
    low, high = between
    told = tr(
        "{what} over {first}: {ratio:.3f} [{low:.3f}, {high:.3f}], the median of the ratios of"
        " {n} pairs",
        what=what,
        first=first,
        ratio=spread.p50,
        low=low,
        high=high,
        n=spread.n,
    )
    if low <= 1 <= high or abs(spread.p50 - 1) < LEAST:
        text = tr("{told}: no difference stands out.", told=told)
        return Finding("ratio", text, False, figures)
    text = tr("{told}: longer.", told=told) if low > 1 else tr("{told}: shorter.", told=told)
    return Finding("ratio", text, True, figures)


def precision(
    workload: Workload,
    levels: Sequence[Level],
    samples: Sequence[Sample],
    targets: Sequence[Target],
) -> list[Finding]:
    """Speed, bytes and logits of each precision beside float32's."""
    found = []
    ratios = pairs_of(workload, samples, "tpot_ms")
    exact = targets[0]
    for number, target in enumerate(targets):
        row = next((r for r in levels if r.target == target.name), None)
        pace = row.tpot_ms if row else None
        spread = figure(next((r for (_, n), r in ratios.items() if n == number), ()))
        said, figures = [], _figures(target, exact)
        if pace is not None:
            figures["tpot_ms"] = pace.p50
            said.append(tr("{time} a token", time=milliseconds(pace.p50)))
        if spread is not None:
            figures["tpot_ratio"], figures["pairs"] = spread.p50, spread.n
            figures["tpot_ratio_ci95"] = spread.p50_ci95
            said.append(_times(spread))
        if target.weights_bytes is not None:
            said.append(tr("weights {n:,} bytes", n=target.weights_bytes))
            said.append(tr("KV {n:,} bytes a token", n=target.kv_bytes_per_token or 0))
        logits = target.fidelity
        if logits is None:
            said.append(tr("logits not compared"))
        elif number:
            said.append(
                tr(
                    "logits over {n} tokens: KL {kl:.2g} nats on average, the same likeliest token"
                    " at {same:.1f} %, off by {most:.2g} at most",
                    n=logits.positions,
                    kl=logits.kl_mean,
                    same=100 * logits.top1,
                    most=logits.max_abs,
                )
            )
        text = tr("{name}: {facts}.", name=label_shown(target.name), facts=tr("; ").join(said))
        found.append(Finding("precision", text, None, figures))
    found.append(
        Finding(
            "arithmetic",
            tr(
                "All arithmetic is float32: shorter numbers are widened each time they are read."
                " How fast that is tells of NumPy on this machine and of no GPU; bytes and logits"
                " are the format's own."
            ),
        )
    )
    return found


def _times(spread: Figure) -> str:
    """A ratio to float32 with its interval: of pairs, so it is not that of the two medians."""
    if spread.p50_ci95 is None:
        return tr(
            "{ratio:.2f} times float32's, the median of the ratios of {n} pairs, too few for an"
            " interval",
            ratio=spread.p50,
            n=spread.n,
        )
    low, high = spread.p50_ci95
    return tr(
        "{ratio:.2f} [{low:.2f}, {high:.2f}] times float32's, the median of the ratios of {n}"
        " pairs",
        ratio=spread.p50,
        low=low,
        high=high,
        n=spread.n,
    )


def _figures(target: Target, exact: Target) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "weights": target.weights,
        "kv_dtype": target.kv_dtype,
        "weights_bytes": target.weights_bytes,
        "kv_bytes_per_token": target.kv_bytes_per_token,
    }
    if target.weights_bytes and exact.weights_bytes:
        figures["weights_ratio"] = target.weights_bytes / exact.weights_bytes
    if target.kv_bytes_per_token and exact.kv_bytes_per_token:
        figures["kv_ratio"] = target.kv_bytes_per_token / exact.kv_bytes_per_token
    if target.fidelity is not None:
        names = ("positions", "kl_mean", "kl_max", "top1", "max_abs", "nll_f32", "nll")
        figures |= {name: getattr(target.fidelity, name) for name in names}
    return figures
