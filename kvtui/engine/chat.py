"""Messages to the token ids of a prompt, as a model's own chat template writes them.

The templates in GGUF files are Jinja programs; the families below cover the Llama models that
carry a byte-level vocabulary. The marks of a template become special tokens, while the text of
messages never does: nobody can end a turn from within a message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kvtui.engine.tokenizer import Tokenizer

_DEFAULT_SYSTEM = re.compile(r"<\|im_start\|>system(?:\\n|\n)(?P<text>[^'\"{}]*?)<\|im_end\|>")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: str
    text: str


class ChatFormat(Protocol):
    """A way to write messages as a prompt that asks for the assistant's next turn."""

    def render(self, tokenizer: Tokenizer, messages: Sequence[Message]) -> list[int]:
        """The prompt's ids."""


@dataclass(frozen=True, slots=True)
class ChatML:
    """`<|im_start|>role`, newline, text, `<|im_end|>`, newline (SmolLM2, Qwen and others).

    `default_system` is put first where the conversation begins without a system message.
    """

    default_system: str | None = None

    def render(self, tokenizer: Tokenizer, messages: Sequence[Message]) -> list[int]:
        """The prompt's ids."""
        turns = list(messages)
        if self.default_system is not None and (not turns or turns[0].role != "system"):
            turns.insert(0, Message("system", self.default_system))
        start, end = (
            tokenizer.encode("<|im_start|>", specials=True),
            tokenizer.encode("<|im_end|>", specials=True),
        )
        newline = tokenizer.encode("\n")
        ids: list[int] = []
        for turn in turns:
            ids += start + tokenizer.encode(f"{turn.role}\n{turn.text}") + end + newline
        return ids + start + tokenizer.encode("assistant\n")


@dataclass(frozen=True, slots=True)
class Llama3:
    """`<|start_header_id|>role<|end_header_id|>`, two newlines, text, `<|eot_id|>`."""

    def render(self, tokenizer: Tokenizer, messages: Sequence[Message]) -> list[int]:
        """The prompt's ids."""
        ids = tokenizer.encode("<|begin_of_text|>", specials=True)
        for turn in messages:
            ids += self._header(tokenizer, turn.role)
            ids += tokenizer.encode("\n\n" + turn.text.strip())
            ids += tokenizer.encode("<|eot_id|>", specials=True)
        return ids + self._header(tokenizer, "assistant") + tokenizer.encode("\n\n")

    @staticmethod
    def _header(tokenizer: Tokenizer, role: str) -> list[int]:
        start = tokenizer.encode("<|start_header_id|>", specials=True)
        end = tokenizer.encode("<|end_header_id|>", specials=True)
        return start + tokenizer.encode(role) + end


@dataclass(frozen=True, slots=True)
class Plain:
    """For models without a template: the texts, one paragraph each, to be continued."""

    def render(self, tokenizer: Tokenizer, messages: Sequence[Message]) -> list[int]:
        """The prompt's ids."""
        start = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
        return start + tokenizer.encode("\n\n".join(turn.text for turn in messages))


def chat_format(metadata: Mapping[str, object], tokenizer: Tokenizer) -> ChatFormat:
    """The format that a GGUF file's `tokenizer.chat_template` stands for."""
    template = metadata.get("tokenizer.chat_template")
    if isinstance(template, str):
        if "<|im_start|>" in template and tokenizer.special("<|im_start|>") is not None:
            found = _DEFAULT_SYSTEM.search(template)
            return ChatML(found["text"].replace("\\n", "\n") if found else None)
        if "<|start_header_id|>" in template and tokenizer.special("<|start_header_id|>"):
            return Llama3()
    return Plain()
