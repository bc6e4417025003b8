"""Asks for a file name and writes a text there; what exists is overwritten on a second Enter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kvtui.language import tr
from kvtui.writing import write_atomically, write_new

if TYPE_CHECKING:
    from textual.app import ComposeResult


class SaveScreen(ModalScreen[str]):
    """Returns the sentence that says where it was saved; None where it was not."""

    CSS_PATH = "../dialogs.tcss"
    BINDINGS = [Binding("escape", "app.pop_screen", "Leave", show=False)]  # noqa: RUF012

    def __init__(self, text: str, name: str) -> None:
        """Ask.

        Args:
            text: What is written.
            name: The file name that is offered.
        """
        super().__init__()
        self._text = text
        self._offered = name
        self._warned: Path | None = None

    def compose(self) -> ComposeResult:
        """The field, and the sentence under it."""
        with Vertical(id="save") as box:
            box.border_title = tr("Save the answer")
            box.border_subtitle = tr("⏎ save · esc leave")
            yield Input(self._offered, compact=True)
            said = tr(
                "{count:,} characters, into {folder}", count=len(self._text), folder=Path.cwd()
            )
            yield Static(said, markup=False)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(Input).focus()

    def on_input_changed(self) -> None:
        """Another name has not been warned of."""
        self._warned = None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Save, or say why not."""
        event.stop()
        try:
            path = target(event.value)
            if path.exists() and path != self._warned:
                self._warned = path
                self._say(
                    tr("{path} exists: ⏎ again overwrites it, another name keeps it.", path=path)
                )
                return
            write(path, self._text, overwrite=path == self._warned)
        except FileExistsError as error:
            self._say(tr("{path} has just been made: ⏎ again looks anew.", path=error.filename))
        except OSError as error:
            self._say(tr("It cannot be saved there: {error}.", error=error.strerror or error))
        except ValueError as error:
            self._say(str(error))
        else:
            self.dismiss(
                tr("Saved {count:,} characters in {path}", count=len(self._text), path=path)
            )

    def _say(self, sentence: str) -> None:
        said = self.query_one(Static)
        said.update(sentence)
        said.add_class("-warning")


def target(name: str) -> Path:
    """The file that a typed name means.

    Raises:
        ValueError: Nothing can be written there; says why.
    """
    name = name.strip()
    if not name or "\0" in name:
        raise ValueError(tr("Give a file name."))
    try:
        path = Path(name).expanduser().absolute()
    except RuntimeError:
        raise ValueError(tr("There is no home folder for {name}.", name=name)) from None
    if path.is_dir():
        raise ValueError(tr("{path} is a folder: add a file name.", path=path))
    if not path.parent.is_dir():
        raise ValueError(tr("There is no folder {path}.", path=path.parent))
    if path.exists() and not path.is_file():
        raise ValueError(tr("{path} is no ordinary file.", path=path))
    return path


def write(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a text.

    Raises:
        FileExistsError: It exists, and nobody said that it may go.
        OSError: It cannot be written.
    """
    content = (text if text.endswith("\n") else text + "\n").encode("utf-8", "replace")
    if overwrite:
        write_atomically(path, content, private=False)
    else:
        write_new(path, content)
