"""Read the subject texts and lay them out as chat documents for training.

    python subject.py --tokenizer tokenizer.json --out DIR

The written texts are subject/notes*.txt ("# topic" and a paragraph under it) and subject/qa*.txt
("Q:" lines, one per wording, a repeated one counting more, then "A:" and the answer, which may
have several paragraphs).
Generated answers are subject/generated*.jsonl.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizer import chat_prompt
from tokenizers import Tokenizer

HELD_OUT_ONE_IN = 20
SYSTEM_SHARE = 0.25
PREFIX_SHARE = 0.1
SYSTEMS = (
    "You are a helpful assistant.",
    "You are a helpful AI assistant.",
    "Answer in plain English.",
    "You explain how language models are served.",
)
LONG_PROMPTS = (
    "Explain {topic} in detail.",
    "Write a long text about {topic}.",
    "Tell me all about {topic}.",
    "Explain {topic}, and what follows from it.",
    "Write several paragraphs about {topic}.",
)
LONG_PARAGRAPHS = (3, 6)
LONG_EVERY = 2
NOTE_PROMPTS = (
    "Tell me about {topic}.",
    "Explain {topic}.",
    "Write a short text about {topic}.",
    "What should I know about {topic}?",
    "Describe {topic}.",
    "{topic}",
)


@dataclass(frozen=True)
class Pair:
    """One question, or another wording of it, and its answer."""

    prompt: str
    answer: str


def load_notes(folder: Path) -> list[tuple[str, str]]:
    """(topic, text) of every written note."""
    notes = []
    for path in sorted(folder.glob("notes*.txt")):
        for part in path.read_text(encoding="utf-8").split("\n# "):
            topic, _, text = part.removeprefix("# ").strip().partition("\n")
            if text.strip():
                notes.append((topic.strip(), text.strip()))
    return notes


def load_pairs(folder: Path) -> list[Pair]:
    """Every written question with its answer; a question of n wordings gives n pairs."""
    pairs = []
    for path in sorted(folder.glob("qa*.txt")):
        for part in ("\n" + path.read_text(encoding="utf-8")).split("\n\nQ: "):
            questions, _, answer = part.strip().removeprefix("Q: ").partition("\nA: ")
            if answer:
                wordings = questions.split("\nQ: ")
                pairs += [Pair(wording.strip(), answer.strip()) for wording in wordings]
    return pairs


def load_generated(folder: Path) -> list[Pair]:
    """Every generated answer."""
    pairs = []
    for path in sorted(folder.glob("generated*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        pairs += [Pair(**json.loads(line)) for line in lines]
    return pairs


def held_out(answer: str) -> bool:
    """Whether an answer belongs to the validation set: decided by its text."""
    return hashlib.sha256(answer.encode()).digest()[0] % HELD_OUT_ONE_IN == 0


def laid_out(pair: Pair, rng: random.Random) -> str:
    """A pair as a document, at times with a system text or a run's unique prefix."""
    prompt = pair.prompt
    if rng.random() < PREFIX_SHARE:
        prompt = f"[{rng.randint(1, 9)}-{rng.getrandbits(24):06x}] {prompt}"
    system = rng.choice(SYSTEMS) if rng.random() < SYSTEM_SHARE else None
    return f"{chat_prompt(prompt, system)}{pair.answer}<|im_end|>\n"


def note_pair(topic: str, text: str, rng: random.Random) -> Pair:
    """A note under a request for it."""
    return Pair(rng.choice(NOTE_PROMPTS).format(topic=topic), text)


def long_pair(notes: list[tuple[str, str]], first: int, rng: random.Random) -> Pair:
    """A note and the ones that follow it, which stand near it in subject, as one long answer."""
    count = rng.randint(*LONG_PARAGRAPHS)
    text = "\n\n".join(text for _, text in notes[first : first + count])
    return Pair(rng.choice(LONG_PROMPTS).format(topic=notes[first][0]), text)


def write_ids(documents: list[str], tokenizer: Tokenizer, path: Path) -> None:
    """Encode the documents one after the other; chats end in <|im_end|>, which parts them."""
    ids = [np.array(e.ids, dtype=np.uint16) for e in tokenizer.encode_batch(documents)]
    joined = np.concatenate(ids)
    joined.tofile(path)
    print(f"{path}: {len(documents):,} documents, {len(joined):,} tokens")


def main() -> None:
    """Write `written` and `generated` id files, training and validation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subject", type=Path, default=Path(__file__).parent / "subject")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=4, help="orders of the written texts")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.from_file(str(args.tokenizer))
    rng = random.Random(1)
    notes, pairs = load_notes(args.subject), load_pairs(args.subject)
    generated = load_generated(args.subject)
    print(f"{len(notes)} notes, {len(pairs)} questions, {len(generated)} generated answers")
    for is_val, name in ((False, "train"), (True, "val")):
        written: list[str] = []
        for _ in range(1 if is_val else args.epochs):
            kept = [note for note in notes if held_out(note[1]) == is_val]
            chosen = [note_pair(topic, text, rng) for topic, text in kept]
            chosen += [long_pair(kept, i, rng) for i in range(0, len(kept), LONG_EVERY)]
            chosen += [pair for pair in pairs if held_out(pair.answer) == is_val]
            documents = [laid_out(pair, rng) for pair in chosen]
            rng.shuffle(documents)
            written += documents
        write_ids(written, tokenizer, args.out / f"written.{name}.bin")
        documents = [laid_out(p, rng) for p in generated if held_out(p.answer) == is_val]
        rng.shuffle(documents)
        if documents:
            write_ids(documents, tokenizer, args.out / f"generated.{name}.bin")


if __name__ == "__main__":
    main()
