"""What a reader should beware of in the figures of a run: a function for each caution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.sample import Sample
from kvtui.bench.figures.summary import template_of
from kvtui.bench.work.labels import label_shown
from kvtui.bench.work.workload import Workload
from kvtui.failure import advice_shown
from kvtui.language import later, retold, tr
from kvtui.text import milliseconds

ENDINGS = (later("every request failed: {outcome}"), later("certain enough"))
"""What ends a level before its requests are through, as the runner records it."""


def cautions(
    workload: Workload, levels: Sequence[Level], samples: Sequence[Sample]
) -> list[Finding]:
    """All that apply; of levels first.

    Args:
        workload: What was asked.
        levels: Its rows.
        samples: Its measured requests.
    """
    each = (_short_output, _estimated, _few_tpot, _client_bound, _ended_early, _no_steady_window)
    found = [finding for row in levels for say in each if (finding := say(row)) is not None]
    return [*found, *_cached(workload, samples), *_failures(samples)]


# --- of one level, where it applies ---------------------------------------------------------------


def _short_output(row: Level) -> Finding | None:
    if not row.short_outputs:
        return None
    text = tr(
        "{label}: {n} of {all} answers ended before the {tokens} tokens asked for"
        " (median {median:.0f}).",
        label=label_shown(row.label),
        n=row.short_outputs,
        all=row.completed,
        tokens=row.max_tokens,
        median=row.completion_tokens.p50 if row.completion_tokens else 0,
    )
    return Finding("short_output", text)


def _estimated(row: Level) -> Finding | None:
    if not row.token_source.get("estimate"):
        return None
    text = tr(
        "{label}: the server counted no tokens in {n} of {all} answers: TPOT and"
        " tok/s rest on an estimate.",
        label=label_shown(row.label),
        n=row.token_source["estimate"],
        all=row.completed,
    )
    return Finding("estimated_count", text)


def _few_tpot(row: Level) -> Finding | None:
    known = row.tpot_ms.n if row.tpot_ms else 0
    if row.max_tokens <= 1 or known >= row.completed / 2:
        return None
    text = tr(
        "{label}: {n} of {all} answers have a TPOT; the others came whole or in"
        " bursts, which tells of no pace.",
        label=label_shown(row.label),
        n=known,
        all=row.completed,
    )
    return Finding("few_tpot", text)


def _client_bound(row: Level) -> Finding | None:
    if row.client is None or not row.client.client_bound:
        return None
    text = tr(
        "{label}: this client was part of what was measured (own lag up to {lag},"
        " {share:.0f} % of a core).",
        label=label_shown(row.label),
        lag=milliseconds(row.client.loop_lag_ms_max),
        share=100 * row.client.cpu_share,
    )
    return Finding("client_bound", text)


def _ended_early(row: Level) -> Finding | None:
    if not row.ended_early:
        return None
    why = retold(row.ended_early, ENDINGS)
    text = tr("{label}: ended early: {why}.", label=label_shown(row.label), why=why)
    return Finding("ended_early", text)


def _no_steady_window(row: Level) -> Finding | None:
    wanted = row.concurrency > 1 and row.rate is None
    if not wanted or not row.completed or row.steady_output_tps is not None:
        return None
    text = tr(
        "{label}: {n} requests never kept all {streams} streams in use for long:"
        " only throughput over all.",
        label=label_shown(row.label),
        n=row.requests,
        streams=row.concurrency,
    )
    return Finding("no_steady_window", text)


# --- of all requests ------------------------------------------------------------------------------


def _cached(workload: Workload, samples: Sequence[Sample]) -> list[Finding]:
    """What came from the prefix cache: the template, and more than that."""
    found = []
    template = template_of(workload, samples)
    if template:
        text = tr(
            "Up to {n} prompt tokens that all prompts share (the chat template) come from"
            " the prefix cache; a TTFT with no more than those counts as cold.",
            n=template,
        )
        found.append(Finding("template_cached", text, None, {"tokens": template}))
    warm = sum(s.warm(template) for s in samples)
    if warm and not workload.stages[0].same_prompt:
        text = tr(
            "{n} of {all} requests had prompt tokens from the prefix cache: their TTFT"
            " stands apart, as warm.",
            n=warm,
            all=len(samples),
        )
        found.append(Finding("warm", text))
    return found


def _failures(samples: Sequence[Sample]) -> list[Finding]:
    """How many failed, class by class, with what the first of each said."""
    classes: Counter[str] = Counter()
    first: dict[str, Sample] = {}
    for sample in samples:
        if sample.failed:
            name = f"{sample.cls}.{sample.subcode}"
            classes[name] += 1
            first.setdefault(name, sample)
    found = []
    for name, failed in classes.items():
        detail = first[name].failure or {}
        said = [detail.get("message") or "", *(detail.get("fixes") or ())][:2]
        message = " ".join(_closed(advice_shown(name, text)) for text in said if text)
        sentence = (
            later("{n} of {all} requests failed as {name}: {message}")
            if message
            else later("{n} of {all} requests failed as {name}.")
        )
        text = tr(sentence, n=failed, all=len(samples), name=name, message=message)
        found.append(Finding("failures", text, None, {"outcome": name, "n": failed}))
    return found


def _closed(sentence: str) -> str:
    """With a stop at its end: a server's own words, which a sentence may end with, have none."""
    return sentence if sentence[-1:] in ".!?…。！？" else f"{sentence}."
