"""Train the byte-level BPE tokenizer and turn texts into token ids.

    python tokenizer.py train --text base/train.txt --terms terms.txt --out tokenizer.json
    python tokenizer.py encode --tokenizer tokenizer.json --text base/train.txt --out base.bin

Pre-tokenisation is GPT-2's with every digit on its own, what GGUF calls "smollm". The special
tokens and their ids are SmolLM2's, so that one chat format serves both models.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCAB = 4096
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
END_OF_TEXT, IM_START, IM_END = range(3)
TERM_REPEATS = 600  # How often each line of the terms counts: they are rare in the base corpus.
PAGE_BREAK = "\n\f\n"


def train(text: str, terms: str, vocab: int = VOCAB) -> Tokenizer:
    """A tokenizer of `vocab` entries learned from text and, weighted up, from the terms."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )

    def texts() -> Iterator[str]:
        yield from text.replace("\f", "").split("\n\n")
        for _ in range(TERM_REPEATS):
            yield terms

    tokenizer.train_from_iterator(texts(), trainer)
    return tokenizer


def chat_prompt(prompt: str, system: str | None = None) -> str:
    """A request in ChatML, up to where the answer begins."""
    head = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    return f"{head}<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


def encode_pages(tokenizer: Tokenizer, text: str) -> np.ndarray:
    """Ids of all pages of a corpus file, each page ended by <|endoftext|>."""
    pages = tokenizer.encode_batch(text.split(PAGE_BREAK), add_special_tokens=False)
    return np.concatenate([np.array([*page.ids, END_OF_TEXT], dtype=np.uint16) for page in pages])


def main() -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    learn = commands.add_parser("train")
    learn.add_argument("--text", type=Path, required=True)
    learn.add_argument("--terms", type=Path, required=True)
    learn.add_argument("--out", type=Path, required=True)
    turn = commands.add_parser("encode")
    turn.add_argument("--tokenizer", type=Path, required=True)
    turn.add_argument("--text", type=Path, required=True)
    turn.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    if args.command == "train":
        terms = args.terms.read_text(encoding="utf-8")
        train(args.text.read_text(encoding="utf-8"), terms).save(str(args.out), pretty=False)
        return
    text = args.text.read_text(encoding="utf-8")
    ids = encode_pages(Tokenizer.from_file(str(args.tokenizer)), text)
    ids.tofile(args.out)
    print(f"{args.out}: {len(ids):,} tokens, {len(text) / len(ids):.2f} characters per token")


if __name__ == "__main__":
    main()
