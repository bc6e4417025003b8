"""``finish_reason`` values in the wild, as class and subcode."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from kvtui.failure.taxonomy import split


@cache
def finish_table() -> dict[str, str]:
    """Lower-case value → ``class.subcode``.

    Raises:
        ValueError: The file names an unknown class, or one value twice.
    """
    path = Path(__file__).with_name("finish_reasons.toml")
    table: dict[str, str] = {}
    for name, values in tomllib.loads(path.read_text(encoding="utf-8")).items():
        split(name)
        for value in values:
            if value in table:
                raise ValueError(f"{path.name}: {value!r} is there twice")
            table[value] = name
    return table


def by_finish_reason(reason: str | None) -> str | None:
    """What a raw value means; ``ok.no_finish_reason`` for none, None for one that is unknown."""
    if reason is None or not reason.strip():
        return "ok.no_finish_reason"
    return finish_table().get(reason.strip().lower())
