"""The rules on the latest run, and the order of all: each pure, and silent without its figures."""

from __future__ import annotations

from collections.abc import Callable

from kvtui.language import tr
from kvtui.text import binary_size, count, milliseconds, rate
from kvtui.ui.adviser.room import too_much
from kvtui.ui.adviser.situation import Advice, Ran, Situation, StepBound

LAG_MS = 20.0
"""From here on kvtui's own lateness is said, where it is longer than two tokens take as well."""
FEW_TOKENS = 256
"""Below that many a decode rate is noisy (see ``kvtui.measure.conclude``)."""
LONGER = 2.0
"""A prompt at least so many times as long is compared with the one before."""
GREW = 1.5
"""TTFT grew, rather than wavered."""
SAME = 1.15
"""Two rates within this ratio are called about the same."""
MOSTLY = 0.5
"""Share of a request that prefill takes before it is said."""
SLOW_CONNECT_MS = 50.0
"""Connecting is worth a word from here on, if it takes longer than the first token does."""

Rule = Callable[[Situation], Advice | None]


def advise(situation: Situation) -> Advice | None:
    """The most useful thing that is true; None where nothing is worth saying."""
    memory, run = MEMORY_RULES, RUN_RULES
    ordered = (*memory, *run) if situation.asked_last else (*run, *memory)
    return next((said for rule in ordered if (said := rule(situation)) is not None), None)


# --- of the latest run ----------------------------------------------------------------------------


def own_lag(situation: Situation) -> Advice | None:
    """Kvtui itself was late in reading."""
    run = situation.latest
    if run is None or run.lag_ms is None:
        return None
    if not run.client_bound and run.lag_ms < max(LAG_MS, 2 * (run.tpot_ms or 0)):
        return None
    lag = milliseconds(run.lag_ms)
    return Advice(
        tr("kvtui itself was up to {lag} late: TTFT and tok/s may be off by that", lag=lag)
        if run.client_bound
        else tr("kvtui itself was up to {lag} late: gaps that long are its own", lag=lag),
        tr(
            "longest lag of kvtui's reading loop in this run = {lag}\n"
            "TTFT = {ttft}\n"
            "TPOT = {tpot}\n"
            "Close what keeps this machine busy, or lower --fps, and run again.",
            lag=lag,
            ttft=milliseconds(run.ttft_ms),
            tpot=milliseconds(run.tpot_ms),
        ),
    )


def cache_effect(situation: Situation) -> Advice | None:
    """What the KV cache brought, once two runs about as long were with it and without."""
    both, runs = situation.compared, situation.runs
    if both is None or not runs or not both.off_tps:
        return None
    if all(run.kv_cache for run in runs[:2]):
        return None  # it was said when it was news
    times = f"{both.on_tps / both.off_tps:.1f}×"
    run = runs[0]
    length = (run.prompt_tokens or 0) + (run.tokens or 0)
    return Advice(
        tr(
            "decode is {times} as fast with the KV cache: without it each of these steps works"
            " out the whole sequence again",
            times=times,
        ),
        tr(
            "with / without = {on} / {off} tok/s = {times}, up to token {tokens} of both\n"
            "Without the cache the step for token n passes all n tokens through the model; with it"
            " only one. The latest run came to {length} tokens.",
            on=rate(both.on_tps),
            off=rate(both.off_tps),
            times=times,
            length=count(length),
            tokens=count(both.tokens),
        ),
    )


def warm(situation: Situation) -> Advice | None:
    """The prompt, or part of it, was not read at all."""
    run = situation.latest
    if run is None or not run.cached_tokens or not run.prompt_tokens:
        return None
    cached, prompt = count(run.cached_tokens), count(run.prompt_tokens)
    share = f"{min(1.0, run.cached_tokens / run.prompt_tokens):.0%}"
    return Advice(
        tr(
            "{cached} of {prompt} prompt tokens came from the prefix cache: this TTFT is warm",
            cached=cached,
            prompt=prompt,
        ),
        tr(
            "cached / prompt tokens = {cached} / {prompt} = {share}\n"
            "Their keys and values were there already, so prefill only read the rest. Cold and"
            " warm TTFT are never put into one median; repeats get a unique prefix against it.",
            cached=cached,
            prompt=prompt,
            share=share,
        ),
    )


def prefill_grew(situation: Situation) -> Advice | None:
    """A longer prompt moved TTFT and left the decode rate alone: measured, not assumed."""
    pair = _two_prompts(situation)
    if pair is None:
        return None
    (short_tokens, short_ttft, short_tps), (long_tokens, long_ttft, long_tps) = pair
    ttft = long_ttft / short_ttft
    slower = short_tps / long_tps
    if ttft < GREW or not 1 / SAME <= slower <= SAME:
        return None
    times = f"{ttft:.1f}×"
    ratio = f"{long_tokens / short_tokens:.1f}×"
    return Advice(
        tr(
            "the prompt is {ratio} as long and TTFT {times}, tok/s about the same: that is prefill",
            ratio=ratio,
            times=times,
        ),
        tr(
            "prompt {short} → {long} tokens = {ratio}\n"
            "TTFT {short_ttft} → {long_ttft} = {times}\n"
            "decode {short_tps} → {long_tps} tok/s\n"
            "Prefill works through the prompt before the first token; decode then adds one token a"
            " step.",
            short=count(short_tokens),
            long=count(long_tokens),
            ratio=ratio,
            short_ttft=milliseconds(short_ttft),
            long_ttft=milliseconds(long_ttft),
            times=times,
            short_tps=rate(short_tps),
            long_tps=rate(long_tps),
        ),
    )


_Prompt = tuple[int, float, float]
"""Prompt tokens, TTFT in ms, decode rate."""


def _two_prompts(situation: Situation) -> tuple[_Prompt, _Prompt] | None:
    """The latest run and the one before it, where its prompt is a good deal longer."""
    if len(situation.runs) < 2:
        return None
    long, short = situation.runs[0], situation.runs[1]
    same = (long.model, long.kv_cache) == (short.model, short.kv_cache)
    if not (same and long.cold and short.cold):
        return None
    known = []
    for run in (short, long):
        if not (run.prompt_tokens and run.ttft_ms and run.tps):
            return None
        known.append((run.prompt_tokens, run.ttft_ms, run.tps))
    return (known[0], known[1]) if known[1][0] >= LONGER * known[0][0] else None


def bandwidth(situation: Situation) -> Advice | None:
    """Decode against what the server's own card can read."""
    run, bound = situation.latest, situation.bound
    if run is None or run.tps is None or bound is None or bound.tokens_per_s <= 0:
        return None
    share = run.tps / bound.tokens_per_s
    values = {
        "share": f"{share:.0%}",
        "card": bound.card,
        "bound": rate(bound.tokens_per_s),
        "kv": f"{bound.kv_share:.0%}" if bound.kv_share >= 0.01 else "< 1%",
    }
    if share > 1:
        say = tr(
            "decode beat {card}'s bandwidth bound of {bound} tok/s ({share}): several tokens a"
            " step, or smaller weights",
            **values,
        )
    else:
        say = tr(
            "decode ran at {share} of {card}'s bandwidth bound ({bound} tok/s): KV reads are {kv}"
            " of each step",
            **values,
        )
    return Advice(say, _bandwidth_why(run, bound, f"{share:.0%}"))


def _bandwidth_why(run: Ran, bound: StepBound, share: str) -> str:
    read = bound.weights_bytes + bound.kv_bytes
    origin = (
        tr("The profile says that the server runs on this card.")
        if bound.where == "profile"
        else tr("It is the card of this machine, whose memory in use holds these weights.")
    )
    return tr(
        "bytes a step = weights {weights} + KV {kv} = {read}\n"
        "bandwidth of {card} = {bandwidth} GB/s\n"
        "bound = {bandwidth} GB/s / {read} = {bound} tok/s\n"
        "measured / bound = {tps} / {bound} = {share}\n"
        "{model}, one sequence, KV at the middle of the answer. {origin}",
        weights=binary_size(bound.weights_bytes),
        kv=binary_size(bound.kv_bytes),
        read=binary_size(read),
        card=bound.card,
        bandwidth=f"{bound.tokens_per_s * read / 1e9:,.0f}",
        bound=rate(bound.tokens_per_s),
        tps=rate(run.tps),
        share=share,
        model=bound.model,
        origin=origin,
    )


def mostly_prefill(situation: Situation) -> Advice | None:
    """More of the request went into the prompt than into the answer."""
    run = situation.latest
    if run is None or not (run.ttft_ms and run.e2e_ms and run.prompt_tokens) or run.cached_tokens:
        return None
    share = run.ttft_ms / run.e2e_ms
    if not MOSTLY <= share <= 1:
        return None
    shown = f"{share:.0%}"
    return Advice(
        tr(
            "{share} of this request went by before the first token ({prompt} prompt tokens): a"
            " shorter prompt or a prefix cache helps most",
            share=shown,
            prompt=count(run.prompt_tokens),
        ),
        tr(
            "TTFT / end to end = {ttft} / {e2e} = {share}\n"
            "TTFT holds prefill and, on a busy server, the wait for a place.",
            ttft=milliseconds(run.ttft_ms),
            e2e=milliseconds(run.e2e_ms),
            share=shown,
        ),
    )


def slow_connect(situation: Situation) -> Advice | None:
    """A new connection cost more than the first token."""
    run = situation.latest
    if run is None or not (run.connect_ms and run.ttft_ms):
        return None
    if run.connect_ms < SLOW_CONNECT_MS or run.connect_ms <= run.ttft_ms:
        return None
    connect, ttft = milliseconds(run.connect_ms), milliseconds(run.ttft_ms)
    return Advice(
        tr(
            "connecting took {connect}, longer than the first token ({ttft}): keep it open",
            connect=connect,
            ttft=ttft,
        ),
        tr(
            "connect (DNS, TCP, TLS) = {connect}\nTTFT = {ttft}\n"
            "Connecting is no part of TTFT here; the next run over the kept connection goes"
            " without it.",
            connect=connect,
            ttft=ttft,
        ),
    )


def noisy(situation: Situation) -> Advice | None:
    """Too few tokens for a rate to be trusted."""
    run = situation.latest
    if run is None or run.tps is None or run.tokens is None or run.tokens >= FEW_TOKENS:
        return None
    limited = run.max_tokens is not None and run.max_tokens < FEW_TOKENS
    few = (
        f"max_tokens {run.max_tokens}"
        if limited
        else tr("{tokens} tokens", tokens=count(run.tokens))
    )
    return Advice(
        tr(
            "{few}: a decode rate over fewer than {enough} tokens is noisy",
            few=few,
            enough=FEW_TOKENS,
        ),
        tr(
            "tok/s = (tokens − tokens of the first read) / (last − first token), here over {tokens}"
            " tokens\nOne late token of {tpot} more moves it by {part}. Longer answers, or several"
            " runs and their median, steady it.",
            tokens=count(run.tokens),
            tpot=milliseconds(run.tpot_ms),
            part=f"{1 / max(1, run.tokens - 1):.1%}",
        ),
    )


RUN_RULES: tuple[Rule, ...] = (
    own_lag,
    cache_effect,
    warm,
    prefill_grew,
    bandwidth,
    mostly_prefill,
    slow_connect,
    noisy,
)
MEMORY_RULES: tuple[Rule, ...] = (too_much,)
