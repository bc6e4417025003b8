"""Text to token ids and back, as a GGUF file's vocabulary defines it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from kvtui.engine.bpe import BytePairs, byte_alphabet
from kvtui.engine.errors import ModelFileError
from kvtui.engine.pretokenize import NAMES, Pretokenizer

_CONTROL, _USER_DEFINED = 3, 4


class Tokenizer:
    """A byte-level BPE tokenizer.

    Attributes:
        tokens: the text of each id, in the byte alphabet (specials as they are).
        eos_ids: ids that end an answer.
        bos_id: the id put before every prompt, or None where the model wants none.
        longest: the most bytes that one token stands for.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        merges: Iterable[str],
        *,
        pre: str = "smollm",
        special_ids: Iterable[int] = (),
        control_ids: Iterable[int] = (),
        eos_ids: Iterable[int] = (),
        bos_id: int | None = None,
    ) -> None:
        self.tokens = tokens
        self.eos_ids = frozenset(eos_ids)
        self.bos_id = bos_id
        self._control = frozenset(control_ids)
        self._special = {tokens[i]: i for i in {*special_ids, *self._control} if tokens[i]}
        names = sorted(self._special, key=len, reverse=True)
        self._special_pattern = re.compile("|".join(map(re.escape, names))) if names else None
        self._pretokenizer = Pretokenizer(pre)
        vocabulary = {token: i for i, token in enumerate(tokens) if token not in self._special}
        self._pairs = BytePairs(vocabulary, merges)
        alphabet = byte_alphabet()
        self._to_alphabet = alphabet
        self._to_byte = {char: byte for byte, char in enumerate(alphabet)}
        self.longest = max((len(token) for token in vocabulary), default=1)

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, object], name: str) -> Tokenizer:
        """Read the vocabulary from GGUF metadata.

        Raises:
            ModelFileError: no vocabulary, or one of a kind that is not byte-level BPE.
        """
        model = metadata.get("tokenizer.ggml.model")
        if model != "gpt2":
            raise ModelFileError(
                f"{name} has a tokenizer of kind {model!r}; the embedded engine reads "
                "byte-level BPE ('gpt2') only."
            )
        pre = metadata.get("tokenizer.ggml.pre", "default")
        if not isinstance(pre, str) or pre not in NAMES:
            raise ModelFileError(
                f"{name} splits text by the rules {pre!r}; known are {', '.join(sorted(NAMES))}."
            )
        tokens = _strings(metadata, "tokenizer.ggml.tokens", name)
        types = metadata.get("tokenizer.ggml.token_type", [])
        kinds = cast("list[int]", types) if isinstance(types, list) else []
        bos = _token_id(metadata, "tokenizer.ggml.bos_token_id", tokens, name)
        eos = _token_id(metadata, "tokenizer.ggml.eos_token_id", tokens, name)
        eot = _token_id(metadata, "tokenizer.ggml.eot_token_id", tokens, name)
        control = {i for i, kind in enumerate(kinds[: len(tokens)]) if kind == _CONTROL}
        defined = {i for i, kind in enumerate(kinds[: len(tokens)]) if kind == _USER_DEFINED}
        ends = {i for i in control if tokens[i] in _END_MARKS}
        return cls(
            tokens,
            _strings(metadata, "tokenizer.ggml.merges", name),
            pre=pre,
            special_ids=defined,
            control_ids=control,
            eos_ids=ends | {i for i in (eos, eot) if i is not None},
            bos_id=bos if metadata.get("tokenizer.ggml.add_bos_token") is True else None,
        )

    def special(self, text: str) -> int | None:
        """The id of a special token by its text."""
        return self._special.get(text)

    def encode(self, text: str, *, specials: bool = False) -> list[int]:
        """The ids of `text`; the text of special tokens is read as such only with `specials`."""
        if not specials or self._special_pattern is None:
            return self._encode_plain(text)
        ids: list[int] = []
        at = 0
        for match in self._special_pattern.finditer(text):
            ids += self._encode_plain(text[at : match.start()])
            ids.append(self._special[match.group()])
            at = match.end()
        return ids + self._encode_plain(text[at:])

    def _encode_plain(self, text: str) -> list[int]:
        ids: list[int] = []
        for word in self._pretokenizer.split(text):
            raw = word.encode("utf-8", "replace")
            ids += self._pairs.encode_word("".join([self._to_alphabet[byte] for byte in raw]))
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        """What one token stands for; control tokens and a padded vocabulary's rest: nothing."""
        if token_id in self._control or token_id >= len(self.tokens):
            return b""
        token = self.tokens[token_id]
        if token in self._special:
            return token.encode("utf-8")
        to_byte = self._to_byte
        if all(char in to_byte for char in token):
            return bytes([to_byte[char] for char in token])
        return token.encode("utf-8")

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


_END_MARKS = frozenset({"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "</s>"})


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
