"""The name beside a field, marked where the field is wrong or has the cursor."""

from __future__ import annotations

from kvtui.ui.widgets.lines import LinesWidget


class FieldLabel(LinesWidget):
    """Subclasses draw the name in ``role``."""

    wrong = False
    focused = False

    def mark(self, *, wrong: bool, focused: bool) -> None:
        """Show whether the field is wrong and whether it has the cursor."""
        if (wrong, focused) != (self.wrong, self.focused):
            self.wrong, self.focused = wrong, focused
            self.redraw()

    @property
    def role(self) -> str:
        """The colour of the name."""
        return "bad" if self.wrong else "accent" if self.focused else "muted"
