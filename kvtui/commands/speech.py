"""The language of a command: ``--lang``, ``KVTUI_LANG``, ``defaults.lang``, else English."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kvtui.commands.errors import BadInput
from kvtui.language import ENGLISH, LanguageError, use, wanted

_Command = TypeVar("_Command", bound=Callable[..., Any])


def lang_option(command: _Command) -> _Command:
    """``--lang CODE``, of a command that prints texts."""
    option = click.option("--lang", metavar="CODE", help="Language of the texts: en, zh [en].")
    decorated: _Command = option(command)
    return decorated


def speak(flag: str | None, setting: str | None) -> None:
    """Take the language asked for.

    Raises:
        BadInput: There is none of that code.
    """
    try:
        use(wanted(flag, os.environ, setting) or ENGLISH)
    except LanguageError as error:
        raise BadInput(str(error)) from None
