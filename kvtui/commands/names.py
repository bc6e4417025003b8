"""Names of cards, models, precisions and themes that are wrong, found before a screen opens.

Each check imports only the table that it looks into, and only where such a name was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.commands.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def refuse_wrong_names(options: Mapping[str, Any]) -> None:
    """Look the options' names up: ``gpu``, ``arch``, ``kv_dtype``, ``theme``, model files.

    Raises:
        BadInput: one cannot be used; a sentence with the flag and the nearest name.
    """
    checks = (
        ("gpu", _card),
        ("arch", _model),
        ("config_json", _config_json),
        ("gguf", _gguf),
        ("kv_dtype", _precision),
        ("theme", _theme),
    )
    for key, check in checks:
        if options.get(key):
            try:
                check(options[key])
            except BadInput:
                raise
            except ValueError as error:
                flag = "--" + key.replace("_", "-")
                raise BadInput(f"{flag}: {_sentence(error)}") from None


def _sentence(error: ValueError) -> str:
    text = str(error)
    return text if text.endswith((".", "?")) else text + "."


def _card(name: str) -> None:
    from kvtui.commands.own_cards import own_cards
    from kvtui.memory import cards

    cards.find(name, own_cards())


def _model(name: str) -> None:
    from kvtui.memory import catalogue

    catalogue.find(name)


def _config_json(path: Path) -> None:
    from kvtui.memory.hf_config import read_config

    read_config(path)


def _gguf(path: Path) -> None:
    from kvtui.memory.gguf_model import read_gguf

    read_gguf(path)


def _precision(name: str) -> None:
    from kvtui.config_edit import check_precision

    check_precision(name)


def _theme(name: str) -> None:
    from kvtui.ui.look.themes import all_names, suggest

    known = all_names()
    if name not in known:
        raise ValueError(suggest(name, known))
