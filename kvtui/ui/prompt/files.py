"""Text files: what a path typed so far may become, and what is in one."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kvtui.language import tr
from kvtui.places import user_path
from kvtui.prompt import PromptError, read_prompt_file
from kvtui.text import binary_size, one_line

MOST = 2000
"""Entries of a folder that are looked at."""


class Entry(NamedTuple):
    """One thing in a folder."""

    path: str
    name: str
    remark: str
    """Its size, or that it is a folder."""
    folder: bool


def split(typed: str) -> tuple[Path, str]:
    """The folder that a typed path is in so far, and the rest, which is still being typed."""
    head, slash, rest = typed.rpartition("/")
    folder = user_path(head + slash) if slash else Path()
    return folder, rest


def listing(folder: Path) -> list[Entry]:
    """Folders, then files, by name; hidden ones last. Empty where it cannot be read."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, MOST):
                try:
                    is_folder = entry.is_dir()
                    size = "folder" if is_folder else binary_size(entry.stat().st_size)
                except OSError:
                    continue
                name = entry.name + ("/" if is_folder else "")
                found.append(Entry(entry.path, one_line(name, 120), size, is_folder))
    except OSError:
        return []
    return sorted(found, key=lambda each: (each.name.startswith("."), not each.folder, each.name))


def read_file(path: Path) -> str:
    """A file's text; what is no file (a pipe, a device) might never end, and is refused.

    Raises:
        PromptError: It is that, cannot be read, is empty, too large, or no text.
    """
    if path.exists() and not path.is_file():
        raise PromptError(tr("{path} is no file with a text in it.", path=path))
    return read_prompt_file(path)
