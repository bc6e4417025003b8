"""The prompt of a request, from the flag, the file or the pipe that holds it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from kvtui.commands.errors import BadInput
from kvtui.commands.options import json_fault
from kvtui.commands.piped import PROMPT_LIMIT, PromptError, piped_prompt, prompt_text

DEFAULT_PROMPT = "Explain what a KV cache is."
_FLAGS = {"prompt": "--prompt", "prompt_file": "--prompt-file", "messages_file": "--messages"}


def read_messages(path: Path) -> tuple[dict[str, Any], ...]:
    """The chat messages in a JSON file: a list, or an object with ``messages``.

    Raises:
        BadInput: It is not that.
    """
    try:
        table = json.loads(_read_file(path))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not valid JSON: {json_fault(error)}.") from None
    if isinstance(table, dict):
        table = table.get("messages")
    if not isinstance(table, list) or not table:
        raise BadInput(f"{path} holds no list of messages.")
    for place, message in enumerate(table, 1):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise BadInput(f"{path}: message {place} is no object with a role and a content.")
    return tuple(table)


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
    prompt = flags.get("prompt")
    if prompt is None and flags.get("prompt_file"):
        prompt = _read_file(flags["prompt_file"]).strip()
        if not prompt:
            raise BadInput(f"{flags['prompt_file']} is empty: there is nothing to ask.")
    elif prompt is None:
        prompt = _piped() or usual or DEFAULT_PROMPT
    if not prompt.strip():
        raise BadInput("The prompt is empty: give one with --prompt.")
    return str(prompt)


def _piped() -> str | None:
    try:
        return piped_prompt()
    except PromptError as error:
        raise BadInput(str(error)) from None


def _read_file(path: Path) -> str:
    try:
        with path.open("rb") as file:  # bounded by reading: a device has no size to ask for
            data = file.read(PROMPT_LIMIT + 1)
        if len(data) > PROMPT_LIMIT:
            raise BadInput(f"{path} is larger than {PROMPT_LIMIT:,} bytes.")
        return prompt_text(data, str(path))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.") from None
    except PromptError as error:
        raise BadInput(str(error)) from None
