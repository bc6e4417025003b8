"""Names of cards, models, precisions and themes that are wrong, found before a screen opens.

Each check imports only the table that it looks into, and only where such a name was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.commands.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kvtui.memory.cards import Card


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


def refuse_wrong_default(key: str, value: object, own: Mapping[str, Any]) -> None:
    """Look a value of ``[defaults]`` up.

    Args:
        key: The setting under ``defaults``.
        value: What it is to be.
        own: The cards of the file that it is written to.

    Raises:
        BadInput: it is a name that nothing has.
    """
    checks = {"arch": _model, "kv_dtype": _precision, "theme": _theme}
    try:
        if key == "gpu":
            _card(str(value), _cards_of(own))
        elif key in checks:
            checks[key](str(value))
    except ValueError as error:
        raise BadInput(f"Not written: {_sentence(error)}") from None


def _sentence(error: ValueError) -> str:
    text = str(error)
    return text if text.endswith((".", "?")) else text + "."


def _card(name: str, own: list[Card] | None = None) -> None:
    from kvtui.commands.own_cards import own_cards
    from kvtui.memory import cards

    cards.find(name, own_cards() if own is None else own)


def _cards_of(listed: Mapping[str, Any]) -> list[Card]:
    from kvtui.memory import cards

    return [cards.own(name, card.memory_gib) for name, card in listed.items()]


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
    from kvtui.memory import precision

    if name.strip().casefold() == "auto":
        return
    found = precision.parse(name)
    if not found.kv:
        raise ValueError(f"{found.name} is a precision of weights: no KV cache is stored in it")


def _theme(name: str) -> None:
    from kvtui.ui.themes import shipped_names, suggest

    shipped = shipped_names()
    if name in shipped:
        return
    from textual.theme import BUILTIN_THEMES

    if name not in BUILTIN_THEMES:
        raise ValueError(suggest(name, [*shipped, *BUILTIN_THEMES]))
