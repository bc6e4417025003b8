"""How near synthetic prompts came to the length that was asked for, and by what they were made."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.prompts import LEAST_WORDS, Words
from kvtui.bench.work.workload import Workload
from kvtui.language import later, tr

_SOURCES = {
    "tokenizer": later("the server's own tokenizer"),
    "probes": later("the token counts of two probe requests"),
}


def prompt_lengths(
    workload: Workload, samples: Sequence[Sample], words: Words | None
) -> list[Finding]:
    """What is to be said of the lengths; nothing where no prompt was synthetic."""
    if not samples or all(stage.texts for stage in workload.stages):
        return []
    if words is None or not words.measured:
        text = tr(
            "Prompt lengths are approximate: the server did not tell how many tokens a synthetic"
            " prompt has."
        )
        return [Finding("approximate_prompts", text, None, {"source": "none"})]
    off: list[int] = []
    long: list[int] = []
    for sample in samples:
        wanted = workload.stages[sample.stage].prompt_tokens
        if wanted is not None and sample.prompt_tokens is not None and sample.completed:
            beyond = wanted < words.shortest and sample.prompt_tokens > wanted
            (long if beyond else off).append(sample.prompt_tokens - wanted)
    figures = {
        "source": words.source,
        "tokens_per_word": words.per_word,
        "fixed": words.fixed,
        "n": len(off) + len(long),
        "off_least": min((*off, *long), default=None),
        "off_most": max((*off, *long), default=None),
        "too_short": len(long),
    }
    parts = []
    if long:
        parts.append(
            tr(
                "{n} are longer than asked for, by up to {most} tokens, since the chat template and"
                " {words} words make {shortest:.0f}",
                n=len(long),
                most=max(long),
                words=LEAST_WORDS,
                shortest=words.shortest,
            )
        )
    if off and any(off):
        parts.append(
            tr(
                "the server counted {least:+d} to {most:+d} tokens beside the length asked for"
                " ({n} requests)",
                least=min(off),
                most=max(off),
                n=len(off),
            )
        )
    elif off:
        exact = (
            tr("the other {n} have exactly the tokens asked for, as the server counted", n=len(off))
            if long
            else tr("all {n} have exactly the tokens asked for, as the server counted", n=len(off))
        )
        parts.append(exact)
    source = tr(_SOURCES.get(words.source, words.source))
    holds = None if not parts else not any((*off, *long))
    text = (
        tr(
            "Synthetic prompts were made by {source}: {facts}.",
            source=source,
            facts=tr("; ").join(parts),
        )
        if parts
        else tr("Synthetic prompts were made by {source}.", source=source)
    )
    return [Finding("prompt_lengths", text, holds, figures)]
