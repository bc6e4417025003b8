"""What holding weights and cache in fewer bytes does to the logits, over a text that stays.

    python -m kvtui.engine.fidelity [--model NAME] WEIGHTS/KV …

prints one JSON line for each pair of precisions. The text is read as it stands
(teacher forcing): every position has the same past on both sides, and the logits of each
precision are set beside float32's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

TEXT = (
    "The sun had not yet risen when the old keeper climbed the stairs of the lighthouse. He counted"
    " the steps, as he did every morning, and at the top he put out the lamp. Below him the sea was"
    " grey and calm. A cache keeps what was worked out before, so that the next step only has to"
    " add to it. Without one, every step would start from the beginning: twice the text, twice the"
    " work for each new word. In 1969 two people walked on the moon, and 600 million watched them"
    " do it. Water boils at 100 degrees at sea level, and at about 70 on the highest mountain."
    ' "What do you want?" she asked. "Only to know the way," said the boy, "and whether it is'
    ' far." It was far, and the road was not good, but he went on until evening.'
)
"""Prose, explanation, numbers and speech."""
_MOST_TOKENS = 256
_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Fidelity:
    """One pair of precisions beside float32, over the positions of the text.

    Attributes:
        weights: precision of the weights.
        kv_dtype: precision of the cache.
        positions: tokens that were compared.
        kl_mean: mean Kullback–Leibler divergence KL(float32 ‖ this) of the next token's
            distribution, in nats.
        kl_max: its largest value.
        top1: part of the positions where the likeliest token is the same.
        max_abs: largest difference of a logit.
        nll_f32: mean negative log-likelihood of the text's own next token, float32.
        nll: the same with these precisions.
        weights_bytes: of all weights, exactly.
        kv_bytes_per_token: of the cache, exactly.
    """

    weights: str
    kv_dtype: str
    positions: int
    kl_mean: float
    kl_max: float
    top1: float
    max_abs: float
    nll_f32: float
    nll: float
    weights_bytes: int
    kv_bytes_per_token: int


def measure(model: str | None, pairs: Sequence[tuple[str, str]]) -> list[Fidelity]:
    """Compare pairs of (weights, cache) precisions with float32, in a process of its own; blocks.

    Args:
        model: a model's name or the path of a GGUF file; None takes the default.
        pairs: what to compare.

    Raises:
        EngineError: the model cannot be used, or the process failed; the message says why.
    """
    from kvtui.engine.errors import EngineError

    command = [sys.executable, "-m", "kvtui.engine.fidelity"]
    if model is not None:
        command += ["--model", model]
    command += [f"{weights}/{kv}" for weights, kv in pairs]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
        )
        rows = [Fidelity(**json.loads(line)) for line in done.stdout.splitlines()]
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError) as error:
        raise EngineError(f"The logits could not be compared: {error}.") from error
    if done.returncode or len(rows) != len(pairs):
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
        raise EngineError(last or f"Comparing logits ended with status {done.returncode}.")
    return rows


def compare(
    model: str | None, pairs: Sequence[tuple[str, str]], told: Callable[[Fidelity], None]
) -> None:
    """As `measure`, in this process; each result is told as it is there.

    Raises:
        ModelFileError: the model cannot be used.
    """
    import numpy as np

    from kvtui.engine import models
    from kvtui.engine.cache import KVCache
    from kvtui.engine.geometry import LlamaConfig
    from kvtui.engine.gguf import GGUFFile
    from kvtui.engine.tokenizer import Tokenizer
    from kvtui.engine.transformer import Floats
    from kvtui.engine.weights import load_llama

    choice = models.resolve(model)
    file = GGUFFile.open(choice.path)
    config = LlamaConfig.from_metadata(file.metadata, str(choice.path))
    tokenizer = Tokenizer.from_metadata(file.metadata, str(choice.path))
    ids = tokenizer.encode(TEXT, specials=False)
    if tokenizer.bos_id is not None:
        ids.insert(0, tokenizer.bos_id)
    ids = ids[: min(_MOST_TOKENS, config.context)]

    def logs(weights: str, kv: str) -> tuple[Floats, Floats, int, int]:
        """Logits (T, vocabulary), their log-probabilities, bytes of weights and of a token."""
        llama = load_llama(file, config, len(ids), weights)
        cache = KVCache(config, 1, len(ids), kv)
        slot = cache.take()
        assert slot is not None
        work = llama.extend(ids, slot, every=True)
        while True:
            try:
                next(work)
            except StopIteration as done:
                logits: Floats = done.value
                break
        shifted = logits - logits.max(axis=1, keepdims=True)
        log = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return logits, log, llama.nbytes, cache.bytes_per_token

    exact, exact_log, _, _ = logs("f32", "f32")
    following, rows = np.asarray(ids[1:]), np.arange(len(ids) - 1)

    def surprise(log: Floats) -> float:
        return float(-log[rows, following].mean())

    for weights, kv in pairs:
        logits, log, weights_bytes, kv_bytes = logs(weights, kv)
        divergence = (np.exp(exact_log) * (exact_log - log)).sum(axis=1)
        same = logits.argmax(axis=1) == exact.argmax(axis=1)
        told(
            Fidelity(
                weights,
                kv,
                len(ids),
                max(0.0, float(divergence.mean())),
                max(0.0, float(divergence.max())),
                float(same.mean()),
                float(np.abs(logits - exact).max()),
                surprise(exact_log),
                surprise(log),
                weights_bytes,
                kv_bytes,
            )
        )


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kvtui.engine.fidelity")
    parser.add_argument("--model")
    parser.add_argument("pairs", nargs="+", metavar="WEIGHTS/KV")
    given = parser.parse_args()
    pairs = [tuple(pair.split("/", 1)) for pair in given.pairs]
    from kvtui.engine.errors import EngineError
    from kvtui.engine.precision import PRECISIONS

    if any(len(pair) != 2 or not set(pair) <= set(PRECISIONS) for pair in pairs):
        parser.error(f"a pair reads WEIGHTS/KV, each one of {', '.join(PRECISIONS)}")

    def told(row: Fidelity) -> None:
        sys.stdout.write(json.dumps(asdict(row)) + "\n")
        sys.stdout.flush()

    try:
        compare(given.model, pairs, told)
    except EngineError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_main())
