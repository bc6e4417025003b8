"""What each figure of the panes is, in a sentence: shown where the mouse rests on it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rich.cells import cell_len

from kvtui.language import later, tr

_GAP = later("ITL: the time from one chunk to the next; p99: 99 of 100 gaps are shorter.")
_HEADS = later(
    "What a sequence would take with a key and value head for each query head (MHA), for a group of"
    " them (GQA) or for all (MQA); ▸ is this model's."
)
_RATES = later("The slowest, fastest and latest running rate, tokens of the last second.")
_SERVER = later("The server's own figure of its KV cache, from its metrics.")
_LIVE = later("Tokens that the live sequences hold, of those reserved for them; c reserves more.")

FIGURES: Mapping[str, str] = {
    "TTFT": later(
        "Time to first token: from the last byte of the request to the first token."
        " F has the numbers."
    ),
    "TTFA": later("Time to the first token of the answer, where reasoning came before it."),
    "TPOT": later("Time per output token after the first one: (t_last − t_first) / (N − n_first)."),
    "ITL p99": _GAP,
    "ITL99": _GAP,
    "ITL p50": later("ITL: the time from one chunk to the next; half of the gaps are shorter."),
    "chunks": later("Tokens that one chunk carries; ITL is a gap between chunks, not tokens."),
    "tokens": later("Tokens of the answer, of the most that were asked for."),
    "counted": later(
        "Who counted the tokens: the server's usage, live or at the end, its timings,"
        " or an estimate."
    ),
    "prompt": later("Tokens of the prompt, and how many of them came from the prefix cache."),
    "finish": later("Why the answer ended, in the server's word: stop, length, ..."),
    "decode": later("Decoding: one token after another, each reads the cache of all before it."),
    "prefill": later("Prefill: the whole prompt is worked out at once, up to the first token."),
    "connect": later("DNS, TCP and TLS, apart from TTFT; reused: the connection was there."),
    "conn": later("DNS, TCP and TLS, apart from TTFT; reused: the connection was there."),
    "own lag": later("How late this program read at most; from 20 ms on no decode rate is shown."),
    "min": _RATES,
    "max": _RATES,
    "now": _RATES,
    "last": _RATES,
    "tok/s": later("Tokens a second: 1 / TPOT when done, of the last second while it streams."),
}
"""The Stream pane's, by the names they stand under."""

MEMORY: Mapping[str, str] = {
    "weights": later("The model's parameters; W chooses their precision."),
    "overhead": later("Activations, CUDA graphs and the engine's own buffers: an estimate."),
    "KV in use": later("What the keys and values of the live tokens take."),
    "KV free": later("What is left for keys and values, and how many tokens fit in it."),
    "unused": later("The part of the card, as its driver shows it, that the engine leaves alone."),
    "sequence": _LIVE,
    "seq": _LIVE,
    "server": _SERVER,
    "server now": _SERVER,
    "server said": later("The server's own figure of its KV cache, from before the run ended."),
    "per token": later("Bytes of keys and values that one more token takes, in all layers."),
    "constant per sequence": later("What a sequence takes however long it is."),
    "longest": later(
        "The most tokens that one sequence alone could have on this card, whatever its model takes."
    ),
    "most at once": later("How many sequences of the context reserved fit on the card together."),
    "MHA": _HEADS,
    "GQA": _HEADS,
    "MQA": _HEADS,
    "as if": later("The tokens of this stream as if on another model; w goes back."),
    "misses": later("So much more than the card has would be needed."),
}
"""The Memory pane's."""


def explained(line: str, cell: int, glossary: Mapping[str, str]) -> str:
    """What the figure at a cell of a row is; empty where none of the glossary's is there.

    Args:
        line: The row's text.
        cell: Which cell of it.
        glossary: Sentences by the names that figures stand under; a name counts up to the next one.
    """
    found = ""
    end = -1
    for start, name in sorted(_names(line, glossary), key=lambda at: (at[0], -len(tr(at[1])))):
        if cell_len(line[:start]) > cell:
            break
        if start >= end:
            found, end = glossary[name], start + len(tr(name))
    return tr(found) if found else ""


def _names(line: str, glossary: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    for name in sorted(glossary, key=len, reverse=True):
        # Letters of an alphabet only: Chinese puts no space between a name and what follows it.
        for match in re.finditer(rf"(?<!\w){re.escape(tr(name))}(?!\w)", line, re.ASCII):
            yield match.start(), name
