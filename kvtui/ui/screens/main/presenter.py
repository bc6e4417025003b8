"""Presenter mode on the main screen, as a mixin: large figures, hosts and key names hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

    from kvtui.ui.look.veil import Veil
    from kvtui.ui.state import EndpointView
    from kvtui.ui.stream.conductor import Conductor
    from kvtui.ui.widgets.bars import FooterBar
    from kvtui.ui.widgets.panes import ErrorsPane
    from kvtui.ui.widgets.stream_pane import StreamPane


class PresenterActions:
    """One action, and the veil that hides names while it is on."""

    if TYPE_CHECKING:
        app: App[Any]
        conductor: Conductor | None
        stream: StreamPane
        errors: ErrorsPane
        footer: FooterBar

        # Of the screen's other half:
        # ruff: noqa: D102
        def show_endpoint(self) -> None: ...
        def set_class(self, add: bool, *class_names: str, update: bool = True) -> Any: ...

    presenting = False
    veil: Veil | None = None

    def action_presenter(self) -> None:
        """Begin or end presenting."""
        self.present(not self.presenting)

    def present(self, on: bool) -> None:
        """Large figures and hidden names, or everything as always."""
        self.presenting = on
        self.set_class(on, "-presenter")
        self.stream.figures.presenter = on
        self.footer.presenter = on
        self.draw_veil()
        self.show_endpoint()

    def draw_veil(self) -> None:
        """Hide what is to be hidden of the endpoint and the failures as they are now."""
        veil = None
        if self.presenting:
            from kvtui.ui.look.veil import Veil, names_of

            conductor = self.conductor
            prepared = None if conductor is None else conductor.prepared
            failures = () if conductor is None else conductor.errors.failures
            veil = Veil(names_of(prepared, failures))
            if self.veil is not None and self.veil.names == veil.names:
                return
        self.veil = veil
        self.errors.veil = veil
        hide = getattr(self.app, "hide_names", None)
        if hide is not None:
            hide(veil)

    def unveiled(self, view: EndpointView) -> EndpointView:
        """The endpoint as it may be shown."""
        return view if self.veil is None else self.veil.endpoint(view)
