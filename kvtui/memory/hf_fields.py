"""Fields of a config.json: looked up by name, checked, and none passed over that matters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from kvtui.language import tr

from .errors import PlanError
from .model import MAX_DIM
from .tables import read_toml

# A name with one of these in it may change the cache, so an unknown one is refused.
_TELLING = re.compile(
    r"kv|head|layer|window|chunk|state|ssm|conv|lora|latent|cache|compress|index|atten|attn"
    r"|linear|mamba|shar|recurr|local|global|sparse|block|pattern|interval|rnn|lru|memory|sink"
    r"|period|swa|sliding|mtp|nextn",
    re.IGNORECASE,
)


class ConfigError(PlanError):
    """A config.json that is not read: which field is missing, unknown or senseless.

    Attributes:
        field: the field's name; empty where the file itself is wrong.
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(problem)


class Fields:
    """The fields of one JSON object, each remembered once it was looked at.

    Args:
        raw: the object.
        where: the object's name in messages ("config.json", "text_config").
    """

    def __init__(self, raw: Mapping[str, Any], where: str) -> None:
        self.raw = raw
        self.where = where
        self._seen: set[str] = set()

    def get(self, *names: str) -> Any:
        """The first of these fields that is there and not null, else None."""
        self._seen.update(names)
        return next((self.raw[name] for name in names if self.raw.get(name) is not None), None)

    def need(self, *names: str) -> Any:
        """As `get`, but one must be there.

        Raises:
            ConfigError: naming the first.
        """
        found = self.get(*names)
        if found is None:
            raise self.missing(*names)
        return found

    def missing(self, *names: str) -> ConfigError:
        """The error for a field that is not there."""
        null = next((name for name in names if name in self.raw), None)
        how = f"{null} is null" if null else f"{' or '.join(names)} is missing"
        return ConfigError(
            null or names[0],
            tr("{where}: {how}, and nothing is assumed", where=self.where, how=how),
        )

    def whole(self, *names: str, limit: int = MAX_DIM, least: int = 1) -> int:
        """A field that must be there and be a sensible whole number.

        Raises:
            ConfigError: missing, not whole, or out of range.
        """
        return self.checked(names, self.need(*names), limit, least)

    def maybe(self, *names: str, limit: int = MAX_DIM, least: int = 1) -> int | None:
        """As `whole`, None where it is not there.

        Raises:
            ConfigError: not whole, or out of range.
        """
        found = self.get(*names)
        return None if found is None else self.checked(names, found, limit, least)

    def soft(self, *names: str) -> int | None:
        """A whole number that the cache does not depend on; None where it is none."""
        found = self.get(*names)
        usable = isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 40
        return found if usable else None

    def checked(self, names: tuple[str, ...], value: Any, limit: int, least: int) -> int:
        """`value` if it is a whole number in the range.

        Raises:
            ConfigError: naming the field.
        """
        name = next((item for item in names if self.raw.get(item) is not None), names[0])
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(
                name,
                tr(
                    "{where}: {name} is no whole number: {value}",
                    where=self.where,
                    name=name,
                    value=_short(value),
                ),
            )
        if not least <= value <= limit:
            raise ConfigError(
                name,
                tr(
                    "{where}: {name} is {value:,}, not between {least:,} and {limit:,}",
                    where=self.where,
                    name=name,
                    value=value,
                    least=least,
                    limit=limit,
                ),
            )
        return value

    def list_of(self, name: str, length: int) -> list[Any] | None:
        """A list with one item for each layer, or None where it is not there.

        Raises:
            ConfigError: no list, or of another length.
        """
        found = self.get(name)
        if found is None:
            return None
        if not isinstance(found, list):
            raise ConfigError(
                name,
                tr(
                    "{where}: {name} is no list: {found}",
                    where=self.where,
                    name=name,
                    found=_short(found),
                ),
            )
        if len(found) != length:
            raise ConfigError(
                name,
                tr(
                    "{where}: {name} has {n} entries for {length} layers",
                    where=self.where,
                    name=name,
                    n=len(found),
                    length=length,
                ),
            )
        return found

    def numbers(self, name: str) -> list[int] | None:
        """A list of whole numbers, or None where it is not there.

        Raises:
            ConfigError: something else.
        """
        found = self.get(name)
        if found is None:
            return None
        if not isinstance(found, list) or any(
            isinstance(item, bool) or not isinstance(item, int) for item in found
        ):
            raise ConfigError(
                name,
                tr(
                    "{where}: {name} is no list of numbers: {found}",
                    where=self.where,
                    name=name,
                    found=_short(found),
                ),
            )
        return found

    def factor(self, *names: str) -> float | None:
        """A positive finite number, or None where it is not there.

        Raises:
            ConfigError: something else.
        """
        found = self.get(*names)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < 1000:
            raise ConfigError(
                names[0],
                tr(
                    "{where}: {names} is no sensible factor: {found}",
                    where=self.where,
                    names=names[0],
                    found=_short(found),
                ),
            )
        return found

    def inner(self, name: str) -> Fields | None:
        """The object in a field, or None where it is not there.

        Raises:
            ConfigError: it is no object.
        """
        found = self.get(name)
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise ConfigError(
                name,
                tr(
                    "{where}: {name} is no object: {found}",
                    where=self.where,
                    name=name,
                    found=_short(found),
                ),
            )
        return Fields(found, name)

    def refuse_unknown(self) -> None:
        """Refuse a field that was not looked at and may change the cache.

        Raises:
            ConfigError: naming it.
        """
        patterns = words("harmless")
        for name, value in self.raw.items():
            if name in self._seen or not value or value == "none":
                continue
            if not _TELLING.search(name):
                continue
            if not any(fnmatchcase(name, pattern) for pattern in patterns):
                raise ConfigError(
                    name,
                    tr(
                        "{where}: the field {name} is not known here and may change the cache",
                        where=self.where,
                        name=name,
                    ),
                )


@cache
def words(key: str) -> tuple[str, ...]:
    """A list of `hf_words.toml`.

    Raises:
        PlanError: the file is not what it should be.
    """
    found = read_toml("hf_words.toml").get(key)
    if not isinstance(found, list):
        raise PlanError(f"hf_words.toml of kvtui.memory: {key} must be a list")
    return tuple(found)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"
