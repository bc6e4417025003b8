"""How near synthetic prompts came to the length that was asked for, and by what they were made."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.sample import Sample
from kvtui.bench.work.prompts import Words
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
    off = []
    for sample in samples:
        wanted = workload.stages[sample.stage].prompt_tokens
        if wanted is not None and sample.prompt_tokens is not None and sample.completed:
            off.append(sample.prompt_tokens - wanted)
    figures = {
        "source": words.source,
        "tokens_per_word": words.per_word,
        "fixed": words.fixed,
        "n": len(off),
        "off_least": min(off, default=None),
        "off_most": max(off, default=None),
    }
    made = f"Synthetic prompts were made by {_SOURCES.get(words.source, words.source)}"
    if not off:
        return [Finding("prompt_lengths", f"{made}.", None, figures)]
    if not any(off):
        text = f"{made}: all {len(off)} have exactly the tokens asked for, as the server counted."
        return [Finding("prompt_lengths", text, True, figures)]
    text = (
        f"{made}: the server counted {min(off):+d} to {max(off):+d} tokens beside the length asked"
        f" for ({len(off)} requests)."
    )
    return [Finding("prompt_lengths", text, False, figures)]
