"""How near synthetic prompts came to the length that was asked for, and by what they were made."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.prompts import LEAST, Words
from kvtui.bench.work.workload import Workload

_SOURCES = {
    "tokenizer": "the server's own tokenizer",
    "probes": "the token counts of two probe requests",
}


def prompt_lengths(
    workload: Workload, samples: Sequence[Sample], words: Words | None
) -> list[Finding]:
    """What is to be said of the lengths; nothing where no prompt was synthetic."""
    if not samples or all(stage.texts for stage in workload.stages):
        return []
    if words is None or not words.measured:
        text = (
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
    if off and not any(off):
        all_of = "all" if not long else "the other"
        parts.append(
            f"{all_of} {len(off)} have exactly the tokens asked for, as the server counted"
        )
    elif off:
        parts.append(
            f"the server counted {min(off):+d} to {max(off):+d} tokens beside the length asked for"
            f" ({len(off)} requests)"
        )
    if long:
        parts.insert(
            0,
            f"{len(long)} are longer than asked for, by up to {max(long)} tokens, since the chat"
            f" template and {LEAST} words make {words.shortest:.0f}",
        )
    made = f"Synthetic prompts were made by {_SOURCES.get(words.source, words.source)}"
    holds = None if not parts else not any((*off, *long))
    text = f"{made}: {'; '.join(parts)}." if parts else f"{made}."
    return [Finding("prompt_lengths", text, holds, figures)]
