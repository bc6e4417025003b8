"""A field that is gone, or is not there yet, is drawn as nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.strip import Strip

if TYPE_CHECKING:
    from textual.geometry import Region


class WhileStyled:
    """Before a widget of Textual's whose drawing asks for the styles of its components.

    A screen that another one has come over keeps its arrangement, with what was removed from it
    at that moment; a new theme draws it all once more. Styles it has none any more.

    No widget itself: Textual takes the styles of the first base that is one.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        """Its lines, blank where it cannot be drawn."""
        widget: Any = self
        if widget._get_component_classes() <= widget._component_styles.keys():
            lines: list[Strip] = super().render_lines(crop)  # type: ignore[misc]
            return lines
        return [Strip.blank(crop.width)] * crop.height
