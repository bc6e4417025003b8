"""A file chosen by typing its path: what fits is listed, Tab completes, folders are gone into."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.widgets import Input

from kvtui.language import tr
from kvtui.ui.prompt.files import listing, split
from kvtui.ui.screens.picker import PickerScreen

if TYPE_CHECKING:
    from kvtui.ui.screens.picker import Choice


class FilePickerScreen(PickerScreen):
    """Returns the path of a file, or None."""

    BINDINGS = [  # noqa: RUF012
        Binding("tab", "complete", "Complete", show=False, priority=True)
    ]

    def __init__(self, title: str) -> None:
        super().__init__(title, _choices(Path()))
        self._folder = Path()

    def fit(self) -> None:
        """Room for a folder, whatever is in this one."""
        box = self.query_one("#picker")
        box.styles.height, box.styles.width = 21, 92
        box.border_subtitle = tr("⏎ take · tab complete · esc leave")
        self.query_one(Input).placeholder = tr("path, from {folder}", folder=Path.cwd())

    def filter(self, typed: str) -> None:
        """List the folder that is typed, filtered by the rest."""
        folder, rest = split(typed)
        if folder != self._folder:
            self._folder = folder
            self.list.choices = _choices(folder)
        self.list.filter(rest)

    def action_complete(self) -> None:
        """The marked name in the place of what is typed of it."""
        value = self.list.value
        if value is None:
            return
        entry = self.query_one(Input)
        head, slash, _ = entry.value.rpartition("/")
        name = Path(value).name + ("/" if Path(value).is_dir() else "")
        entry.value = f"{head}{slash}{name}"
        entry.cursor_position = len(entry.value)

    def action_take(self, index: int | None = None) -> None:
        """Take the marked file, or go into the folder; a whole path typed is taken as it is."""
        if index is not None:
            self.list.marked = min(index, max(0, len(self.list.shown) - 1))
        value = self.list.value
        if value is None:
            typed = self.query_one(Input).value.strip()
            if typed:
                folder, rest = split(typed)
                self.dismiss(str(folder / rest))
        elif Path(value).is_dir():
            self.action_complete()
        else:
            self.dismiss(value)


def _choices(folder: Path) -> list[Choice]:
    return [(each.path, each.name, each.remark) for each in listing(folder)]
