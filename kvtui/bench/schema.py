"""The schema of a record's lines, and what tells a record from another file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

VERSION = 2
SCHEMA = f"kvtui.record/{VERSION}"


class RecordError(ValueError):
    """A record that cannot be read or written; the message names the file."""


def version_of(header: Mapping[str, Any], path: Path) -> int:
    """The version of the schema that a record's first line names.

    Raises:
        RecordError: It is no record, or one of a later kvtui.
    """
    found = re.fullmatch(r"kvtui\.record/([1-9][0-9]{0,8})", str(header.get("schema")))
    if header.get("type") != "run" or found is None:
        raise RecordError(f"{path} is no record of kvtui.")
    version = int(found[1])
    if version > VERSION:
        wrote = header.get("kvtui")
        by = f" by kvtui {wrote}" if isinstance(wrote, str) and len(wrote) < 40 else ""
        raise RecordError(
            f"{path} has schema kvtui.record/{version}, written{by}: this kvtui reads up to"
            f" {SCHEMA}; a later one reads it."
        )
    return version


def migrated(line: dict[str, Any], version: int) -> dict[str, Any]:
    """A line of an older record in today's form; every older version has its step."""
    for number in range(version, VERSION):
        line = _STEPS[number](line)
    return line


def _from_1(line: dict[str, Any]) -> dict[str, Any]:
    """2 has ``kind`` and ``clock`` in ``run``, ``summary`` in ``end``, ``tape`` in ``request``."""
    if line.get("type") != "run":
        return line
    machine = dict(line.get("machine") or {})
    clock = {"name": machine.pop("clock", "perf_counter"), "wall": line.get("created_at")}
    return {**line, "schema": SCHEMA, "kind": "bench", "machine": machine, "clock": clock}


_STEPS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1}
