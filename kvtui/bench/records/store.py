"""The folder of runs: what is in it, and what a person may do with it.

Tags and notes are lines of the record itself, the last one counting, so that one file stays one
run: copied elsewhere, it takes them along.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from kvtui.bench.records.entries import Entry, ends_torn, entry_of
from kvtui.bench.records.lock import is_locked
from kvtui.bench.records.record import runs_path
from kvtui.bench.records.schema import RecordError, encoded
from kvtui.language import tr
from kvtui.text import did_you_mean, sanitise

_MOST_NOTE = 2000
_MOST_TAG = 40
_seen: dict[Path, tuple[tuple[int, int], Entry]] = {}


def list_runs(folder: Path | None = None) -> list[Entry]:
    """The runs of the folder, the latest first; no folder, no runs.

    A file that is as it was when last looked at is not read again.

    Raises:
        RecordError: The folder cannot be read.
    """
    place = folder or runs_path()
    try:
        paths = [path for path in place.iterdir() if path.suffix == ".jsonl"]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordError(
            tr("{place} cannot be read: {error}.", place=place, error=error.strerror or error)
        ) from None
    entries = [look(path) for path in paths if path.is_file()]
    return sorted(entries, key=lambda entry: (entry.when, entry.path.name), reverse=True)


def look(path: Path) -> Entry:
    """One run."""
    try:
        stat = path.stat()
    except OSError:
        _seen.pop(path, None)
        return entry_of(path)
    stamp = stat.st_mtime_ns, stat.st_size
    known = _seen.get(path)
    if known is None or known[0] != stamp:
        known = _seen[path] = stamp, entry_of(path)
    entry = known[1]
    return replace(entry, running=is_locked(path)) if entry.unfinished else entry


def search(entries: Iterable[Entry], words: str) -> list[Entry]:
    """The runs that hold every one of the words, in any of what a list shows."""
    wanted = words.casefold().split()
    return [entry for entry in entries if all(word in _words(entry) for word in wanted)]


def _words(entry: Entry) -> str:
    state = "resumable" if entry.resumable else "running" if entry.running else "finished"
    state = "broken" if entry.broken else state
    parts = (
        entry.path.name, entry.id, entry.when, entry.kind, entry.preset, entry.endpoint,
        entry.base_url or "", entry.model or "", entry.note, state, entry.broken,
        "failed" if entry.failed else "", "stopped" if entry.stopped else "",
        "cache off" if entry.cache_off else "", entry.prompt, *(f"#{tag}" for tag in entry.tags),
    )  # fmt: skip
    return "\n".join(parts).casefold()


def find(name: str, folder: Path | None = None) -> Entry:
    """A run by its file, its name, its id or the beginning of one; ``last`` is the latest.

    Raises:
        RecordError: There is none, or several.
    """
    path = Path(name)
    if path.is_file():
        return look(path)
    runs = list_runs(folder)
    if name == "last" and (whole := [entry for entry in runs if not entry.broken]):
        return whole[0]
    exact = [e for e in runs if name in (e.path.name, e.path.stem, e.id)]
    found = exact or [e for e in runs if name and (e.path.stem + "\n" + e.id).startswith(name)]
    found = found or [e for e in runs if name and e.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(e.path.stem for e in found[:3])
        raise RecordError(
            tr(
                "{name!r} could be {n} runs ({names}): give more of the name.",
                name=name,
                n=len(found),
                names=names,
            )
        )
    hint = did_you_mean(name, [e.path.stem for e in runs])
    raise RecordError(
        tr(
            "There is no run {name!r} in {folder}{hint}.",
            name=name,
            folder=folder or runs_path(),
            hint=hint,
        )
    )


def tag(path: Path, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Entry:
    """Give a run tags, or take some away.

    Raises:
        RecordError: A tag is none, or the record cannot be written.
    """
    entry = look(path)
    gone = {_tag(word) for word in remove}
    tags = [word for word in entry.tags if word not in gone]
    tags += [word for word in dict.fromkeys(map(_tag, add)) if word not in tags]
    return _mark(entry, tags, entry.note)


def note(path: Path, text: str) -> Entry:
    """Give a run a note; an empty one takes it away.

    Raises:
        RecordError: The record cannot be written.
    """
    entry = look(path)
    return _mark(entry, entry.tags, sanitise(text).strip()[:_MOST_NOTE])


def _tag(text: str) -> str:
    word = sanitise(text).strip().removeprefix("#").strip()
    if not word or len(word) > _MOST_TAG or any(c.isspace() or c == "," for c in word):
        raise RecordError(
            tr(
                "{text!r} is no tag: one word of at most {most} characters, without a comma.",
                text=text,
                most=_MOST_TAG,
            )
        )
    return word


def _mark(entry: Entry, tags: Sequence[str], text: str) -> Entry:
    """Append what is said of the run; the file is written by one call, after a torn line's end."""
    if entry.broken:
        raise RecordError(
            tr(
                "{path} {broken}: it takes neither tags nor notes.",
                path=entry.path,
                broken=entry.broken,
            )
        )
    data = encoded({"type": "meta", "tags": list(tags), "note": text}) + b"\n"
    try:
        if ends_torn(entry.path):
            data = b"\n" + data
        file = os.open(entry.path, os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(file, data) < len(data):
                raise RecordError(
                    tr("{path} cannot be written: the disk is full.", path=entry.path)
                )
        finally:
            os.close(file)
    except OSError as error:
        raise RecordError(
            tr("{path} cannot be written: {error}.", path=entry.path, error=error.strerror or error)
        ) from None
    return look(entry.path)


def delete(path: Path) -> None:
    """Delete a run's file for good.

    Raises:
        RecordError: It cannot be deleted, or a run writes it now.
    """
    if is_locked(path):
        raise RecordError(
            tr(
                "{path} is being written by a run that is under way: stop it, or wait for its end.",
                path=path,
            )
        )
    try:
        path.unlink()
    except OSError as error:
        raise RecordError(
            tr("{path} cannot be deleted: {error}.", path=path, error=error.strerror or error)
        ) from None
    _seen.pop(path, None)
