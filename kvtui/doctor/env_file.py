"""Base URL, key and model as a ``.env`` file holds them, and what other readers make of it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from kvtui.config import ConfigError
from kvtui.doctor.sources import (
    KEY_NAMES,
    MODEL_NAMES,
    REFERENCE,
    URL_NAMES,
    Found,
    Value,
    found,
    read_text,
    without_suffix,
)

_INSIDE = re.compile(r"\$\{(\w+)\}")
_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][\w.-]*)(?P<gap>\s*=\s*)(?P<rest>.*)$")
_NEARLY = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*[^\w\s]")


def read_env_file(
    path: Path, environ: Mapping[str, str] = os.environ, base_url: str | None = None
) -> Found:
    """The endpoint that a ``.env`` file names; ``base_url`` wins over the file's.

    Raises:
        ConfigError: It cannot be read, or names neither a base URL nor a key.
    """
    try:
        values, notes = parse_env(read_text(path))
    except UnreadLineError as error:
        raise ConfigError(f"{path}: {error}") from None
    if not values:
        raise ConfigError(f"{path} sets no variable (lines read NAME=value).")
    named = {value.name: value for value in values}
    known = {**environ, **{value.name: value.text for value in values}}
    named = {name: _expanded(value, known, notes) for name, value in named.items()}
    prefix = _prefix(named)
    if prefix is None:
        raise ConfigError(
            f"{path} names neither a base URL nor a key (variables like OPENAI_BASE_URL and"
            f" OPENAI_API_KEY); it sets {', '.join(list(named)[:8])}."
        )
    url, key, model = (_of(named, prefix, names) for names in (URL_NAMES, KEY_NAMES, MODEL_NAMES))
    notes += [
        f"{value.name} is set in the environment too, to something else; most programs prefer that."
        for value in (url, key)
        if value is not None and environ.get(value.name, value.text) != value.text
    ]
    named_url = Value("--base-url", base_url) if base_url else url
    return found(path, prefix, named_url, key, model, notes, known)


def _expanded(value: Value, known: Mapping[str, str], notes: list[str]) -> Value:
    """A value with the variables in it put in, as dotenv and docker compose do."""
    if REFERENCE.match(value.text.strip()) or not _INSIDE.search(value.text):
        return value
    text = _INSIDE.sub(lambda match: known.get(match[1], match[0]), value.text)
    if text != value.text:
        notes.append(
            f"{value.name} has a variable in it, which is put in here; some readers leave it there."
        )
    return Value(value.name, text, value.line)


class UnreadLineError(ValueError):
    """A line that was to name the base URL and is no NAME=value.

    Without it the key would be tried at another host than the one it was meant for.
    """

    def __init__(self, line: int, name: str) -> None:
        super().__init__(
            f"line {line} was to set {name[:40]}, but no = follows the name, so that programs pass"
            " it over; write NAME=value."
        )


def parse_env(text: str) -> tuple[list[Value], list[str]]:
    """The variables of a ``.env`` in their order, the last of each name; and what is odd.

    Raises:
        UnreadLineError: The line with the base URL cannot be read.
    """
    notes: list[str] = []
    if text.startswith("\ufeff"):
        notes.append("The file begins with a byte order mark: some readers take it for a name.")
        text = text[1:]
    if "\r\n" in text:
        notes.append("Lines end in CR LF: a shell takes the CR for a part of each value.")
    values: dict[str, Value] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            named = _NEARLY.match(line)
            if named is not None and without_suffix(named[1], URL_NAMES) is not None:
                raise UnreadLineError(number, named[1])
            notes.append(f"Line {number} is no NAME=value and was passed over.")
            continue
        name = match["name"]
        if match["gap"] != "=":
            notes.append(
                f"Line {number}: there is a space around the = of {name}: shells refuse it."
            )
        value, odd = _env_value(match["rest"])
        if odd:
            notes.append(f"Line {number}: {name} {odd}")
        if name in values:
            notes.append(
                f"{name} is set on lines {values[name].line} and {number}: the last counts."
            )
        values[name] = Value(name, value, number)
    return list(values.values()), notes


def _env_value(rest: str) -> tuple[str, str | None]:
    """A value as most readers take it, and what other readers would make of it."""
    quote = rest[:1]
    if quote in ("'", '"'):
        end = rest.find(quote, 1)
        if end > 0:
            return rest[1:end], "stands in quotes: docker --env-file keeps them in the value."
        return rest, "has a quote that is never closed."
    bare = re.split(r"\s#", rest, maxsplit=1)[0].strip()
    if bare != rest.rstrip("\r"):
        return bare, "is followed by a space or a comment: some readers keep that in the value."
    return bare, None


def _prefix(named: Mapping[str, Value]) -> str | None:
    """The ``OPENAI`` of ``OPENAI_BASE_URL``: the prefix with the most of URL, key and model."""
    scores: dict[str, int] = {}
    for names, weight in ((URL_NAMES, 4), (KEY_NAMES, 3), (MODEL_NAMES, 1)):
        for name in named:
            prefix = without_suffix(name, names)
            if prefix is not None:
                scores[prefix] = scores.get(prefix, 0) + weight
    usable = {prefix: score for prefix, score in scores.items() if score >= 3}
    return max(usable, key=lambda prefix: usable[prefix]) if usable else None


def _of(named: Mapping[str, Value], prefix: str, suffixes: tuple[str, ...]) -> Value | None:
    """The prefix's own variable; for the model also one without a prefix."""
    for wanted in (prefix, ""):
        for name, value in named.items():
            if without_suffix(name, suffixes) == wanted and value.text:
                return value
    return None
