"""How servers word their failures: groups of codes and patterns, read from ``wordings.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Group:
    """One group: whole codes, and patterns for running text."""

    codes: frozenset[str]
    pattern: re.Pattern[str] | None

    def has_code(self, *codes: str | None) -> bool:
        """True where one of the codes or types (any case) belongs to the group."""
        return any(code is not None and code.lower() in self.codes for code in codes)

    def is_in(self, words: str) -> bool:
        """True where the lower-case words hold one of the wordings."""
        return self.pattern is not None and self.pattern.search(words) is not None


@cache
def _table() -> dict[str, dict[str, list[str]]]:
    path = Path(__file__).with_name("wordings.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def group(name: str) -> Group:
    """The group of that name, its patterns compiled when it is first asked for.

    Raises:
        KeyError: There is no such group.
    """
    row = _table()[name]
    patterns = "|".join(f"(?:{pattern})" for pattern in row["patterns"])
    return Group(frozenset(row["codes"]), re.compile(patterns) if patterns else None)


def group_names() -> tuple[str, ...]:
    """All groups, in the file's order."""
    return tuple(_table())
