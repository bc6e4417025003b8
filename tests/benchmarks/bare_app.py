"""The bare app that kvtui's start is measured against: Textual with three bordered panes."""

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Static


class BareApp(App[None]):
    """Three empty panes, titled as kvtui's are."""

    CSS = """
    Static { border: round; width: 1fr; height: 1fr; }
    """

    def compose(self) -> ComposeResult:
        with Horizontal():
            stream = Static()
            stream.border_title = "1 Stream"
            yield stream
            with Vertical():
                for title in ("2 Memory", "3 Errors"):
                    pane = Static()
                    pane.border_title = title
                    yield pane


if __name__ == "__main__":
    BareApp().run()
