"""The prompt of a request, from the flag, the file or the pipe that holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from kvtui import prompt
from kvtui.commands.errors import BadInput
from kvtui.commands.piped import piped_prompt

T = TypeVar("T")

_FLAGS = {"prompt": "--prompt", "prompt_file": "--prompt-file", "messages_file": "--messages"}


def read_messages(path: Path) -> tuple[dict[str, Any], ...]:
    """The chat messages in a JSON file.

    Raises:
        BadInput: It is not that.
    """
    return _usable(lambda: prompt.read_messages(path))


def read_prompt(flags: Mapping[str, Any], usual: str | None) -> str:
    """The prompt: ``--prompt``, ``--prompt-file``, what is piped in, else the usual one.

    Raises:
        BadInput: It is empty, too large, or the file cannot be read.
        click.UsageError: Two flags name one.
    """
    given = [name for name in ("prompt", "prompt_file", "messages_file") if flags.get(name)]
    if len(given) > 1:
        first, second = (_FLAGS[name] for name in given[:2])
        raise click.UsageError(f"{first} and {second} both give a prompt: use one.")
    text = flags.get("prompt")
    if text is None and flags.get("prompt_file"):
        text = _usable(lambda: prompt.read_prompt_file(flags["prompt_file"]))
    elif text is None:
        text = _usable(piped_prompt) or usual or prompt.DEFAULT_PROMPT
    if not text.strip():
        raise BadInput("The prompt is empty: give one with --prompt.")
    return str(text)


def _usable(read: Callable[[], T]) -> T:
    try:
        return read()
    except prompt.PromptError as error:
        raise BadInput(str(error)) from None
