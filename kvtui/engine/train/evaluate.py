"""Measure a trained model: held-out loss by position, samples, agreement with llama.cpp.

    python evaluate.py loss --model run/long.pt --tokenizer tokenizer.json --val base.val.bin
    python evaluate.py samples --model kvtui-tiny.gguf
    python evaluate.py compare --model kvtui-tiny.gguf --server http://127.0.0.1:8080

`compare` wants a llama.cpp server that runs the same GGUF file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import urllib.request
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from decode import Sampling, generate
from load import load_checkpoint, load_gguf
from model import Llama
from tokenizer import END_OF_TEXT, IM_END, chat_prompt

BANDS = (0, 64, 256, 512, 1024, 2048)
MAX_WINDOWS = 16
SAMPLE_PROMPTS = (
    "Explain what a KV cache is.",
    "What is the difference between prefill and decode?",
    "Why is decode slow?",
    "Explain what a cache is.",
)
COMPARE_PROMPTS = (*SAMPLE_PROMPTS, "What is GQA?", "Hello", "What does a 429 error mean?")
NEAR_TIE = 0.3
COMPARE_TOKENS = 60


@torch.no_grad()
def losses(model: Llama, path: Path) -> np.ndarray:
    """Losses (windows, positions) over full-context windows of a held-out id file."""
    ids = torch.from_numpy(np.fromfile(path, dtype=np.uint16).astype(np.int64))
    context = min(model.shape.context, len(ids) - 1)
    starts = range(0, len(ids) - context, context)
    rows = []
    for start in list(starts)[:MAX_WINDOWS]:
        window = ids[start : start + context + 1][None]
        scores = model.logits(model(window[:, :-1]))[0]
        rows.append(F.cross_entropy(scores, window[0, 1:], reduction="none"))
    return torch.stack(rows).numpy()


def report_loss(model: Llama, paths: list[Path]) -> None:
    """Print the mean loss of each file, in all and by position band."""
    for path in paths:
        table = losses(model, path)
        bands = {
            f"{a}-{b - 1}": round(float(table[:, a:b].mean()), 4)
            for a, b in itertools.pairwise(BANDS)
            if table.shape[1] > a
        }
        print(json.dumps({"file": path.name, "windows": len(table),
                          "loss": round(float(table.mean()), 4), **bands}))  # fmt: skip


def report_samples(model: Llama, tokenizer, prompts: list[str], sampling: Sampling) -> None:  # type: ignore[no-untyped-def]
    """Print an answer to each prompt."""
    ids = [tokenizer.encode(chat_prompt(prompt)).ids for prompt in prompts]
    for prompt, answer in zip(
        prompts, generate(model, ids, {IM_END, END_OF_TEXT}, sampling, seed=1), strict=True
    ):
        ended = "ended by itself" if answer[-1] == IM_END else "cut at the limit"
        print(f"## {prompt}\n{tokenizer.decode(answer)}\n[{len(answer)} tokens, {ended}]\n")


def llama_cpp_greedy(server: str, ids: list[int], count: int) -> list[int]:
    """The tokens a llama.cpp server continues the ids with."""
    body = {"prompt": ids, "n_predict": count, "temperature": 0, "return_tokens": True,
            "cache_prompt": False}  # fmt: skip
    request = urllib.request.Request(
        f"{server}/completion", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        return list(json.load(response)["tokens"])


@torch.no_grad()
def compare(model: Llama, tokenizer, server: str) -> bool:  # type: ignore[no-untyped-def]
    """Compare greedy tokens; True if each answer agrees up to a near tie at least."""
    fine = True
    for prompt in COMPARE_PROMPTS:
        ids = tokenizer.encode(chat_prompt(prompt)).ids
        theirs = llama_cpp_greedy(server, ids, COMPARE_TOKENS)
        scores = model.logits(model(torch.tensor([ids + theirs])))[0, len(ids) - 1 : -1]
        best = scores.topk(2).values
        verdict = f"equal in all {len(theirs)} tokens"
        for i, token in enumerate(theirs):
            if int(scores[i].argmax()) != token:
                gap = float(best[i, 0] - best[i, 1])
                tie = gap < NEAR_TIE
                fine &= tie
                kind = "a near tie" if tie else "NOT a near tie"
                verdict = f"differs at token {i} of {len(theirs)}: gap {gap:.3f}, {kind}"
                break
        print(f"{prompt!r}: {verdict}")
    return fine


def main() -> None:
    """Run one of the three commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("loss", "samples", "compare"))
    parser.add_argument("--model", type=Path, required=True, help="a checkpoint or a GGUF file")
    parser.add_argument("--val", type=Path, nargs="*", default=[])
    parser.add_argument("--prompt", nargs="*", default=list(SAMPLE_PROMPTS))
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--server", default="http://127.0.0.1:8080")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.model.suffix != ".gguf":
        if args.command != "loss":
            raise SystemExit("samples and compare need a GGUF file, which has the tokenizer")
        report_loss(load_checkpoint(args.model), args.val)
        return
    model, tokenizer = load_gguf(args.model)
    if args.command == "loss":
        report_loss(model, args.val)
    elif args.command == "samples":
        sampling = Sampling(args.temperature, 0.95, args.max_tokens)
        report_samples(model, tokenizer, args.prompt, sampling)
    elif not compare(model, tokenizer, args.server):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
