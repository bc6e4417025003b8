"""What is asked, out of a file: a text, or the messages of a conversation; bounded.

For the screen and for the commands alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kvtui.language import tr

DEFAULT_PROMPT = "Explain what a KV cache is."
PROMPT_LIMIT = 1 << 20
"""Bytes of a prompt that are read from a pipe or a file."""


class PromptError(ValueError):
    """A prompt that cannot be used: one sentence that says why, and what to do."""


def prompt_text(data: bytes, what: str) -> str:
    """``data`` as text; ``what`` begins the sentence that says why it is none.

    Raises:
        PromptError: It is not UTF-8, or holds a NUL, which no text does.
    """
    nul = data.find(0)
    if nul >= 0:
        raise PromptError(tr("{what} is not UTF-8 text (byte {nul}).", what=what, nul=nul))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PromptError(
            tr("{what} is not UTF-8 text (byte {start}).", what=what, start=error.start)
        ) from None


def read_prompt_file(path: Path) -> str:
    """The prompt in a file; of a pipe all that comes.

    Raises:
        PromptError: It cannot be read, is empty, too large, or no text.
    """
    text = _read(path).strip()
    if not text:
        raise PromptError(tr("{path} is empty: there is nothing to ask.", path=path))
    return text


def read_messages(path: Path) -> tuple[dict[str, Any], ...]:
    """The chat messages in a JSON file: a list, or an object with ``messages``.

    Raises:
        PromptError: It cannot be read, or is not that.
    """
    import json

    text = _read(path)
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PromptError(
            tr("{path} is not valid JSON: {error}.", path=path, error=json_fault(error))
        ) from None
    if isinstance(table, dict):
        table = table.get("messages")
    if not isinstance(table, list) or not table:
        raise PromptError(tr("{path} holds no list of messages.", path=path))
    for place, message in enumerate(table, 1):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise PromptError(
                tr(
                    "{path}: message {place} is no object with a role and a content.",
                    path=path,
                    place=place,
                )
            )
    return tuple(table)


def json_fault(error: Exception) -> str:
    """What is wrong with a JSON text, in words that name no Python."""
    from json import JSONDecodeError

    if isinstance(error, JSONDecodeError):
        return tr(
            "{msg} at line {lineno}, column {colno}",
            msg=error.msg,
            lineno=error.lineno,
            colno=error.colno,
        )
    if isinstance(error, RecursionError):
        return tr("it is nested too deeply")
    return tr("it holds a number with too many digits")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:  # bounded by reading: a device has no size to ask for
            data = file.read(PROMPT_LIMIT + 1)
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        why = getattr(error, "strerror", None) or error
        raise PromptError(tr("{path} cannot be read: {why}.", path=path, why=why)) from None
    if len(data) > PROMPT_LIMIT:
        raise PromptError(
            tr(
                "{path} is larger than {limit:,} bytes.",
                path=path,
                limit=PROMPT_LIMIT,
            )
        )
    return prompt_text(data, str(path))
