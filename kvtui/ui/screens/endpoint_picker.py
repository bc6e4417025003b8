"""The endpoints that there are; a URL typed or pasted into the field is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.language import tr
from kvtui.text import looks_like_key, one_line, redact
from kvtui.ui.endpoint.choices import ANOTHER, USE
from kvtui.ui.endpoint.typed import TypedError, is_url, read_url
from kvtui.ui.screens.picker import PickerScreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.ui.screens.picker import Choice


class EndpointPicker(PickerScreen):
    """Returns an endpoint's value, or ``USE`` and a URL."""

    def __init__(self, choices: Sequence[Choice], current: str) -> None:
        """Set the list up.

        Args:
            choices: As ``kvtui.ui.endpoint.choices.endpoint_choices`` gives them.
            current: The value in force.
        """
        super().__init__(tr("Endpoint"), choices, current)

    def placeholder(self) -> str:
        """What an empty field says."""
        return tr("type to filter, or a URL: http://127.0.0.1:8080/v1")

    def fit(self) -> None:
        """Wide enough for a URL, with a line for one that is typed."""
        super().fit()
        box = self.query_one("#picker")
        box.styles.width = 92
        box.styles.height = min(len(self.list.choices), 17) + 4

    def filter(self, typed: str) -> None:
        """Show what fits; a URL is offered, or what is wrong with it said."""
        self.list.nothing = ""
        self.list.filter(typed)
        if not is_url(typed):
            if looks_like_key(typed.strip()):
                self.list.shown = []
                self.list.nothing = tr(
                    "this looks like a key: type the URL first, the key is asked for then"
                )
            elif not self.list.shown:
                self.list.nothing = tr(
                    "no endpoint of that name: type a URL to use one (http://HOST:PORT/v1)"
                )
            return
        self.list.shown = [each for each in self.list.shown if each[0] != ANOTHER]
        try:
            url, said = read_url(typed)
        except TypedError as error:
            self.list.nothing = str(error)
        else:
            name = tr("use {url}", url=one_line(redact(url), 120))
            remark = tr("mended") if said else tr("⏎ key and model")
            self.list.shown.insert(0, (f"{USE}{url}", name, remark))
            self.list.marked = 0
        self.list.redraw()
