"""The TOML tables beside the code."""

from __future__ import annotations

from typing import Any

from .errors import PlanError


def read_toml(file: str) -> dict[str, Any]:
    """A TOML file of this folder.

    Raises:
        PlanError: the file cannot be read or is no TOML.
    """
    # 25 ms cold together, and only who asks for a table needs them
    import tomllib
    from pathlib import Path

    path = Path(__file__).with_name(file)
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise PlanError(f"{file} of kvtui.memory cannot be used: {error}") from error


def read_table(file: str, key: str) -> list[dict[str, Any]]:
    """The rows `[[key]]` of a table in this folder.

    Raises:
        PlanError: the file cannot be read, is no TOML, or has no such rows.
    """
    rows = read_toml(file).get(key)
    if not isinstance(rows, list):
        raise PlanError(f"{file} of kvtui.memory: {key} must be rows ([[{key}]])")
    return rows


def wrong_key(row: dict[str, Any], known: dict[str, type], needed: tuple[str, ...]) -> str:
    """What is wrong with a row's keys, or "" when nothing is."""
    for key in needed:
        if key not in row:
            return f"{key} is missing"
    for key, value in row.items():
        kind = known.get(key)
        if kind is None:
            return f"unknown key {key!r}"
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            return f"{key} must be {kind.__name__}"
    return ""
