"""What is asked before a recorded run is changed: its tags, its note, whether to delete it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.bench.records import store
from kvtui.bench.records.schema import RecordError
from kvtui.language import tr
from kvtui.ui.draw.record import when_of
from kvtui.ui.draw.runs import requests_of
from kvtui.ui.screens.ask import AskScreen
from kvtui.ui.screens.confirm import ConfirmScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.bench.records.entries import Entry


def ask_tags(entry: Entry) -> AskScreen:
    """Tags, or ``-word`` to take one away."""

    def take(text: str) -> str:
        words = text.replace(",", " ").split()
        gone = [word[1:] for word in words if word.startswith("-") and len(word) > 1]
        new = [word for word in words if not word.startswith("-")]
        return _problem(lambda: store.tag(entry.path, new, gone))

    had = " ".join(f"#{tag}" for tag in entry.tags) or tr("none")
    hint = tr("Words, separated by spaces; -word takes one away. Now: {had}.", had=had)
    return AskScreen(tr("Tags"), hint, "", take)


def ask_note(entry: Entry) -> AskScreen:
    """A note of one line."""
    hint = tr("One line; empty takes the note away.")

    def take(text: str) -> str:
        return _problem(lambda: store.note(entry.path, text))

    return AskScreen(tr("Note"), hint, entry.note, take)


def ask_delete(entry: Entry) -> ConfirmScreen:
    """Whether its file is to be deleted."""
    text = tr(
        "{preset} of {when}, {requests}\n{path}\n\nThe file is deleted for good.",
        preset=entry.preset or entry.path.name,
        when=when_of(entry.when),
        requests=requests_of(entry),
        path=entry.path,
    )
    return ConfirmScreen(tr("Delete this run?"), text, tr("delete"))


def delete(entry: Entry) -> str:
    """Delete its file; returns why it could not be done, or nothing."""
    return _problem(lambda: store.delete(entry.path))


def _problem(work: Callable[[], object]) -> str:
    try:
        work()
    except RecordError as error:
        return str(error)
    return ""
