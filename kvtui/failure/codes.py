"""Provider code tables: a code that only one provider uses, as class and subcode."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from kvtui.failure.errorobject import ErrorObject
from kvtui.failure.providers import provider_of_host
from kvtui.failure.taxonomy import NAMES


@dataclass(frozen=True, slots=True)
class CodeTable:
    """One provider's table (``codes.toml`` says what the fields mean)."""

    provider: str
    shape: Literal["base_resp", "error", "flat"]
    codes: dict[str, str]

    def reads(self, owner: str | None, error: ErrorObject) -> bool:
        """True where an answer of this shape, from this host's owner, is this table's to read."""
        if owner is not None and owner != self.provider:
            return False
        if self.shape == "base_resp":
            return "base_resp" in error.data
        if owner is not None:
            return True
        # A gateway's host tells nothing: numbers mean this provider's only in its own shape.
        return isinstance(error.data.get("error"), dict) == (self.shape == "error")


@cache
def tables() -> tuple[CodeTable, ...]:
    """All tables, in the file's order.

    Raises:
        ValueError: A table names a class or subcode that does not exist.
    """
    path = Path(__file__).with_name("codes.toml")
    found = []
    for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
        unknown = set(row["codes"].values()) - NAMES
        if unknown:
            raise ValueError(f"{path.name}: {name}: unknown {', '.join(sorted(unknown))}")
        found.append(CodeTable(name, row["shape"], row["codes"]))
    return tuple(found)


def by_code(host: str, error: ErrorObject) -> str | None:
    """Class and subcode that the answering provider's own code stands for, or None."""
    if error.code is None or not error.is_error:
        return None
    provider = provider_of_host(host)
    owner = provider.name if provider is not None else None
    for table in tables():
        name = table.codes.get(error.code)
        if name is not None and table.reads(owner, error):
            return name
    return None
