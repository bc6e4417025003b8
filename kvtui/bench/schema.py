"""The schema of a record's lines, and what tells a record from another file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VERSION = 1
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
