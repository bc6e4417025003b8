"""The schema of a record's lines, and what tells a record from another file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kvtui.language import tr

VERSION = 2
MOST_LINE = 64 << 20
"""Bytes of a line that are read: no request's tape comes near it."""
SCHEMA = f"kvtui.record/{VERSION}"
REQUEST = b'{"type":"request"'
"""How the line of a request begins, in every version."""
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a line raises that is none of a record's: torn, damaged, nested without an end."""


class RecordError(ValueError):
    """A record that cannot be read or written; the message names the file."""


def encoded(value: Any) -> bytes:
    """A line's JSON in UTF-8: a letter takes its own bytes and no six of an escape."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half a character, as a server may send it
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def version_of(header: Mapping[str, Any], path: Path) -> int:
    """The version of the schema that a record's first line names.

    Raises:
        RecordError: It is no record, or one of a later kvtui.
    """
    found = re.fullmatch(r"kvtui\.record/([1-9][0-9]{0,8})", str(header.get("schema")))
    if header.get("type") != "run" or found is None:
        raise RecordError(tr("{path} is no record of kvtui.", path=path))
    version = int(found[1])
    if version > VERSION:
        wrote = header.get("kvtui")
        by = f" by kvtui {wrote}" if isinstance(wrote, str) and len(wrote) < 40 else ""
        raise RecordError(
            tr(
                "{path} has schema kvtui.record/{version}, written{by}: this kvtui reads up to"
                " {newest}; a later one reads it.",
                path=path,
                version=version,
                by=by,
                newest=SCHEMA,
            )
        )
    return version


def is_request(line: bytes) -> bool:
    """Whether a line is one of a request, also where another program wrote it anew."""
    if line.startswith(REQUEST):
        return True
    if line.startswith(b'{"type":"') or b'"request"' not in line:
        return False
    try:
        return type_of(line) == "request"
    except UNREADABLE:
        return False


def type_of(line: bytes) -> str:
    """The type of a line.

    Raises:
        UNREADABLE: It has none.
    """
    return _TYPE.decode(line).type


class _Typed(msgspec.Struct):
    type: str


_TYPE = msgspec.json.Decoder(_Typed)


class _Endpoint(msgspec.Struct, frozen=True):
    base_url: str | None = None
    model: str | None = None
    key_from: str | None = None
    chosen_by: str | None = None
    profile: str | None = None
    embedded: bool = False
    context: int | None = None
    geometry: dict[str, Any] | None = None


class _Request(msgspec.Struct, frozen=True):
    system: str | None = None
    messages: list[dict[str, Any]] | None = None
    base_url: str | None = None
    top_p: float | None = None
    temperature: float | None = None
    seed: int | None = None
    stop: list[str] = []
    headers: list[str] = []
    extra_body: dict[str, Any] | None = None


class _Header(msgspec.Struct, frozen=True):
    """What others rely on in a first line; what else it has is as it is."""

    id: str = ""
    created_at: str = ""
    kvtui: str = ""
    nonce: str = ""
    endpoint: _Endpoint = _Endpoint()
    request: _Request = _Request()
    machine: dict[str, Any] = {}
    workload: dict[str, Any] = {}


def check_header(header: Mapping[str, Any], path: Path) -> None:
    """See to it that a first line is as its readers take it to be.

    Raises:
        RecordError: It is damaged; the message names the place.
    """
    try:
        msgspec.convert(header, _Header)
    except msgspec.ValidationError as error:
        raise RecordError(f"{path} is damaged: {error}.") from None


def migrated(line: dict[str, Any], version: int) -> dict[str, Any]:
    """A line of an older record in today's form; every older version has its step."""
    for number in range(version, VERSION):
        line = _STEPS[number](line)
    return line


def _from_1(line: dict[str, Any]) -> dict[str, Any]:
    """2 has ``kind`` and ``clock`` in ``run``, ``summary`` in ``end``, ``tape`` in ``request``."""
    if line.get("type") != "run":
        return line
    machine = line.get("machine")
    machine = dict(machine) if isinstance(machine, dict) else {}
    clock = {"name": machine.pop("clock", "perf_counter"), "wall": line.get("created_at")}
    return {**line, "schema": SCHEMA, "kind": "bench", "machine": machine, "clock": clock}


_STEPS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1}
