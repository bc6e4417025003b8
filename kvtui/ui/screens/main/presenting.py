"""Presenter mode: large figures, hosts and key names hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.ui.look.veil import Veil
    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.state import EndpointView, Failure


class Presenter:
    """The mode, and the veil that hides names while it is on."""

    def __init__(
        self,
        opened: Opened,
        *,
        hide: Callable[[Veil | None], None],
        enlarge: Callable[[bool], None],
    ) -> None:
        """Nobody looks on yet.

        Args:
            opened: Holds the endpoint and the failures whose names are hidden.
            hide: Hides these names wherever they stand; None shows them again.
            enlarge: Large figures and few keys, or all as always.
        """
        self._opened = opened
        self._hide = hide
        self._enlarge = enlarge
        self.presenting = False
        self._veil: Veil | None = None

    def toggle(self) -> None:
        """Begin or end presenting."""
        self.presenting = not self.presenting
        self.renew()
        self._enlarge(self.presenting)

    def renew(self) -> None:
        """Hide what is to be hidden of the endpoint and the failures as they are now."""
        veil = self._needed()
        if _names(veil) != _names(self._veil):
            self._veil = veil
            self._hide(veil)

    def _needed(self) -> Veil | None:
        if not self.presenting:
            return None
        from kvtui.ui.look.veil import Veil, names_of

        conductor = self._opened.conductor
        failures = () if conductor is None else conductor.errors.failures
        return Veil(names_of(self._opened.prepared, failures))

    def text(self, text: str) -> str:
        """A text as it may be shown."""
        return text if self._veil is None else self._veil.text(text)

    def endpoint(self, view: EndpointView) -> EndpointView:
        """The endpoint as it may be shown."""
        return view if self._veil is None else self._veil.endpoint(view)

    def failure(self, failure: Failure) -> Failure:
        """A failure as it may be shown."""
        return failure if self._veil is None else self._veil.failure(failure)


def _names(veil: Veil | None) -> frozenset[str] | None:
    return None if veil is None else veil.names
