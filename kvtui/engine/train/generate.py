"""Write training answers with SmolLM2-135M-Instruct (Apache-2.0), grounded in the written notes.

    python generate.py --model SmolLM2-135M-Instruct.Q4_1.gguf --out subject/generated.jsonl

Each line of the output is {"prompt", "answer"}. A question comes from a table of templates and
topics; most are asked together with a note or an answer of subject/, which keeps the small writer
to the facts, and the note is left out of what is stored. Runs until --seconds are over and may be
run again with another --seed: it appends.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import torch
from decode import Sampling, generate
from load import load_gguf
from subject import Pair, load_notes, load_pairs
from tokenizer import END_OF_TEXT, IM_END, chat_prompt

BATCH = 96
SAMPLING = Sampling(temperature=0.8, top_p=0.92, max_tokens=380)
MIN_WORDS, MIN_WORDS_LONG = 25, 60
MAX_REPEATED_SHARE = 0.12
SYSTEM = "You are a helpful expert on computing. You answer in clear, plain, correct English prose."

OFF_FORM = re.compile(
    r"```|I'm sorry|\bAI\b|SmolLM|Hugging Face|\bnotes?\b|helpful expert|[Tt]he (text|original)"
    r"|[Yy]our question|rewrit|revis|electrical|\bvoltage\b|Chat\w*:"
)

GROUNDED = (
    "Use these notes:\n{note}\n\nQuestion: {question}",
    "Here is what is known:\n{note}\n\nNow, in your own words: {question}",
    "{note}\n\nWith this in mind: {question}",
)
REWRITE = (
    "Explain the following to a beginner, in two or three paragraphs:\n{note}",
    "Rewrite this in your own words, with more detail:\n{note}",
    "Explain this in a simple way, with an example:\n{note}",
)
# What is stored as the prompt when a note was rewritten.
REWRITE_PROMPTS = (
    "Tell me about {topic}.",
    "Explain {topic}.",
    "Explain {topic} in detail.",
    "Write about {topic}.",
    "What should I know about {topic}?",
)
OPEN = (
    "What is {thing}?",
    "Explain what {thing} is.",
    "Explain {thing} in simple terms.",
    "Why does {thing} matter?",
    "How does {thing} work?",
    "Write three paragraphs about {thing}.",
    "Give an example of {thing}.",
    "What are the advantages and disadvantages of {thing}?",
)
THINGS = (
    "a cache", "a web cache", "a CPU cache", "a database index", "a hash table", "a queue",
    "a thread", "a process", "virtual memory", "memory bandwidth", "latency", "throughput", "a GPU",
    "a CPU", "a server", "an API", "an API key", "a rate limit", "a timeout", "an error message",
    "HTTP", "a status code", "JSON", "a network connection", "streaming", "a neural network",
    "a language model", "a transformer", "machine learning", "a training set", "a vector",
    "a matrix", "matrix multiplication", "a floating-point number", "rounding", "data compression",
    "a tokenizer", "an embedding", "a probability distribution", "random sampling", "a benchmark",
    "a median", "an average", "a bottleneck", "parallel computing", "a batch job", "a scheduler",
    "load balancing", "a file system", "a page of memory", "paging in an operating system",
    "a pointer", "an array", "recursion", "an algorithm", "a compiler", "a terminal",
    "a command line", "a configuration file", "open source software", "a chatbot", "a prompt",
    "the context of a conversation", "software testing", "debugging", "a log file",
    "monitoring a server", "cloud computing", "a data center", "a buffer",
)  # fmt: skip


def repeated_share(text: str, n: int = 5) -> float:
    """The share of n-word runs that occurred before in the text."""
    words = text.lower().split()
    runs = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def acceptable(answer: str, note: str, ended: bool) -> str | None:
    """The answer cleaned, or None if it is degenerate, code, a copy of its note or off the form."""
    answer = answer.strip()
    if not ended:
        cut = max(answer.rfind(". "), answer.rfind(".\n"))
        answer = answer[: cut + 1]
    if len(answer.split()) < (MIN_WORDS if ended else MIN_WORDS_LONG):
        return None
    if OFF_FORM.search(answer):
        return None
    if repeated_share(answer) > MAX_REPEATED_SHARE or not answer.isascii():
        return None
    symbols = sum(not (c.isalpha() or c in " .,;:'\"()-!?\n") for c in answer)
    if symbols / len(answer) > 0.06 or answer[0].islower():
        return None
    if note and answer[:120] in note:
        return None
    return answer


def tasks(notes: list[tuple[str, str]], pairs: list[Pair]) -> Callable[[random.Random], tuple]:
    """A function that draws (prompt for the writer, prompt to store, note used)."""

    def draw(rng: random.Random) -> tuple[str, str, str]:
        kind = rng.random()
        if kind < 0.45:
            pair = rng.choice(pairs)
            text = rng.choice(GROUNDED).format(note=pair.answer, question=pair.prompt)
            return text, pair.prompt, pair.answer
        if kind < 0.8:
            topic, note = rng.choice(notes)
            return (
                rng.choice(REWRITE).format(note=note),
                rng.choice(REWRITE_PROMPTS).format(topic=topic),
                note,
            )
        question = rng.choice(OPEN).format(thing=rng.choice(THINGS))
        return question, question, ""

    return draw


def main() -> None:
    """Generate until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--subject", type=Path, default=Path(__file__).parent / "subject")
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rng = random.Random(args.seed)
    model, tokenizer = load_gguf(args.model)
    model = model.bfloat16()
    draw = tasks(load_notes(args.subject), load_pairs(args.subject))
    began, tokens, kept, made, rounds = time.monotonic(), 0, 0, 0, 0
    while time.monotonic() - began < args.seconds:
        drawn = sorted((draw(rng) for _ in range(BATCH)), key=lambda task: len(task[0]))
        prompts = [tokenizer.encode(chat_prompt(task[0], SYSTEM)).ids for task in drawn]
        stop = {IM_END, END_OF_TEXT}
        answers = generate(model, prompts, stop, SAMPLING, seed=args.seed * 1000 + rounds)
        rounds += 1
        with args.out.open("a", encoding="utf-8") as file:
            for (_, prompt, note), ids in zip(drawn, answers, strict=True):
                tokens, made = tokens + len(ids), made + 1
                answer = acceptable(tokenizer.decode(ids), note, ids[-1] in stop)
                if answer:
                    kept += 1
                    file.write(json.dumps({"prompt": prompt, "answer": answer}) + "\n")
        rate = tokens / (time.monotonic() - began)
        print(f"{made} made, {kept} kept, {tokens:,} tokens, {rate:.0f} tok/s", flush=True)


if __name__ == "__main__":
    main()
