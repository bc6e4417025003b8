"""Text to token ids and back, as a GGUF file's vocabulary defines it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, cast

from kvtui.engine.bpe import ByteLevel
from kvtui.engine.errors import ModelFileError
from kvtui.engine.pretokenize import NAMES
from kvtui.engine.sentencepiece import SentencePieces

_CONTROL, _USER_DEFINED = 3, 4
_END_MARKS = frozenset({"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "</s>"})


class Vocabulary(Protocol):
    """A way to cut plain text into tokens."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text that holds no special token."""

    def token_bytes(self, token_id: int) -> bytes:
        """What a token that is not special stands for."""


class Tokenizer:
    """A vocabulary and its special tokens.

    Args:
        tokens: the text of each id, as the vocabulary writes it (specials as they are).
        vocabulary: cuts what lies between special tokens.
        defined_ids: tokens that are always read as such.
        control_ids: tokens read as such on request only; they stand for no text.
        eos_ids: ids that end an answer.
        bos_id: the id put before every prompt, or None where the model wants none.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        vocabulary: Vocabulary,
        *,
        defined_ids: Iterable[int] = (),
        control_ids: Iterable[int] = (),
        eos_ids: Iterable[int] = (),
        bos_id: int | None = None,
    ) -> None:
        self.tokens = tokens
        self.eos_ids = frozenset(eos_ids)
        self.bos_id = bos_id
        self.longest = max((len(token.encode("utf-8", "replace")) for token in tokens), default=1)
        self._vocabulary = vocabulary
        self._control = frozenset(control_ids)
        self._defined = frozenset(defined_ids)
        self._ids = {tokens[i]: i for i in self._control | self._defined if tokens[i]}
        self._always = _any_of(tokens[i] for i in self._defined)
        self._on_request = _any_of(self._ids)

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, object], name: str) -> Tokenizer:
        """Read the vocabulary from GGUF metadata.

        Raises:
            ModelFileError: no vocabulary, or one of a kind that is not known.
        """
        tokens = _strings(metadata, "tokenizer.ggml.tokens", name)
        kinds = _integers(metadata, "tokenizer.ggml.token_type")[: len(tokens)]
        control = {i for i, kind in enumerate(kinds) if kind == _CONTROL}
        defined = {i for i, kind in enumerate(kinds) if kind == _USER_DEFINED}
        bos = _token_id(metadata, "tokenizer.ggml.bos_token_id", tokens, name)
        eos = _token_id(metadata, "tokenizer.ggml.eos_token_id", tokens, name)
        eot = _token_id(metadata, "tokenizer.ggml.eot_token_id", tokens, name)
        vocabulary, wants_bos = _vocabulary(metadata, tokens, control | defined, name)
        add_bos = metadata.get("tokenizer.ggml.add_bos_token", wants_bos)
        ends = {i for i in control if tokens[i] in _END_MARKS}
        return cls(
            tokens,
            vocabulary,
            defined_ids=defined,
            control_ids=control,
            eos_ids=ends | {i for i in (eos, eot) if i is not None},
            bos_id=bos if add_bos is True else None,
        )

    def special(self, text: str) -> int | None:
        """The id of a special token by its text."""
        return self._ids.get(text)

    def encode(self, text: str, *, specials: bool = False) -> list[int]:
        """The ids of `text`; the text of control tokens is read as such only with `specials`."""
        pattern = self._on_request if specials else self._always
        if pattern is None:
            return self._vocabulary.encode(text)
        ids: list[int] = []
        at = 0
        for match in pattern.finditer(text):
            ids += self._vocabulary.encode(text[at : match.start()])
            ids.append(self._ids[match.group()])
            at = match.end()
        return ids + self._vocabulary.encode(text[at:])

    def token_bytes(self, token_id: int) -> bytes:
        """What one token stands for; control tokens and a padded vocabulary's rest: nothing."""
        if token_id in self._control or token_id >= len(self.tokens):
            return b""
        if token_id in self._defined:
            return self.tokens[token_id].encode("utf-8", "replace")
        return self._vocabulary.token_bytes(token_id)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", "replace")


class Detokenizer:
    """Token ids to text as they come; bytes of an unfinished character wait for the rest."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token_id: int) -> str:
        """The text that is complete with this token, perhaps none."""
        return self._decoder.decode(self._tokenizer.token_bytes(token_id))

    def finish(self) -> str:
        """What is left: U+FFFD for a character that never came to its end."""
        return self._decoder.decode(b"", True)


def _vocabulary(
    metadata: Mapping[str, object], tokens: list[str], special: set[int], name: str
) -> tuple[Vocabulary, bool]:
    """The vocabulary of its kind, and whether that kind begins prompts with BOS by itself."""
    model = metadata.get("tokenizer.ggml.model")
    if model == "llama":
        scores = metadata.get("tokenizer.ggml.scores")
        if not isinstance(scores, list) or len(scores) < len(tokens):
            raise ModelFileError(f"{name} lacks tokenizer.ggml.scores, so text cannot be read.")
        prefix = metadata.get("tokenizer.ggml.add_space_prefix", True) is True
        pieces = SentencePieces(tokens, cast("list[float]", scores), special, space_prefix=prefix)
        return pieces, True
    if model != "gpt2":
        raise ModelFileError(
            f"{name} has a tokenizer of kind {model!r}; the embedded engine reads 'gpt2' "
            "(byte-level BPE) and 'llama' (SentencePiece)."
        )
    pre = metadata.get("tokenizer.ggml.pre", "default")
    if not isinstance(pre, str) or pre not in NAMES:
        raise ModelFileError(
            f"{name} splits text by the rules {pre!r}; known are {', '.join(sorted(NAMES))}."
        )
    merges = _strings(metadata, "tokenizer.ggml.merges", name)
    return ByteLevel(tokens, merges, special, pre), False


def _any_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for the longest of some texts, or None for none."""
    names = sorted((text for text in texts if text), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, names))) if names else None


def _integers(metadata: Mapping[str, object], key: str) -> list[int]:
    values = metadata.get(key)
    return cast("list[int]", values) if isinstance(values, list) else []


def _strings(metadata: Mapping[str, object], key: str, name: str) -> list[str]:
    values = metadata.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ModelFileError(f"{name} lacks {key}, so its text cannot be read.")
    return cast("list[str]", values)


def _token_id(
    metadata: Mapping[str, object], key: str, tokens: Sequence[str], name: str
) -> int | None:
    value = metadata.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or not 0 <= value < len(tokens):
        raise ModelFileError(f"{name} has an unusable {key} in its metadata.")
    return value
