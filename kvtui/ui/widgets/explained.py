"""Rows whose figures say what they are where the mouse rests on one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from kvtui.ui.look.rows import plain
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from textual import events


class Explained(LinesWidget):
    """Subclasses say which glossary is theirs."""

    GLOSSARY: ClassVar[str] = ""
    """The name of a table in ``kvtui.ui.draw.glossary``."""
    _said = ""

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Another figure is under the mouse."""
        from kvtui.ui.draw import glossary

        at = event.get_content_offset(self)
        table: Mapping[str, str] = getattr(glossary, self.GLOSSARY)
        rows = self.rows
        said = ""
        if at is not None and at.y < len(rows):  # the first cell of all is an Offset that is false
            said = glossary.explained(plain(rows[at.y]), at.x, table)
        if said != self._said:
            self._said = said
            self.tooltip = Content(said) if said else None

    def on_leave(self) -> None:
        """Nothing is."""
        self._said, self.tooltip = "", None
