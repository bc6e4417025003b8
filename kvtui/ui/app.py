"""The Textual app: wires screens, commands and themes. Importing it loads no network, no numpy."""

# ruff: noqa: E402 - two things come before Textual's import, and are about it

from __future__ import annotations

import gc
import os
from asyncio import get_running_loop
from functools import partial
from time import monotonic

os.environ.setdefault("ESCDELAY", "25")  # Textual reads it once, when it is imported
gc.disable()  # until the first frame: what the start makes stays, so collecting is wasted

from typing import TYPE_CHECKING, Any

from textual._callback import invoke
from textual.app import App
from textual.binding import Binding

from kvtui.language import tr
from kvtui.ui.look.themes import (
    DEFAULT_THEME,
    load_theme,
    one_notice,
    shipped_names,
    suggest,
    theme_folder,
    user_files,
    user_themes,
)
from kvtui.ui.remembered import Remembered
from kvtui.ui.screens.main.screen import MainScreen
from kvtui.ui.terminal.keys_in_turn import KeysInTurn
from kvtui.ui.terminal.leaving import LEAVE_S, Leaving, keep_writing
from kvtui.ui.terminal.outlet import Outlet
from kvtui.ui.terminal.paste import guard_pastes
from kvtui.ui.terminal.signals import resume_once
from kvtui.ui.widgets.bars import FooterBar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from textual.driver import Driver
    from textual.events import DescendantFocus, Event
    from textual.filter import LineFilter

    from kvtui.ui.look.veil import LineVeil, Veil
    from kvtui.ui.stream.conductor import Conductor


TWICE_S = 3.0
"""Within that, a second Ctrl+C leaves."""


class KvtuiApp(App[int]):
    """One screen: how fast it streams, what its cache costs, why it failed."""

    TITLE = "kvtui"
    usual_theme = DEFAULT_THEME
    CSS_PATH = "kvtui.tcss"
    BINDINGS = [  # noqa: RUF012
        # With priority, so that it counts on every screen and over every dialog.
        Binding("ctrl+z", "suspend_process", "Back to the shell", show=False, priority=True),
        Binding("f1", "help_here", "Help", show=False, priority=True),
    ]
    _themed = False

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        opener: Callable[[KvtuiApp], None] | None = None,
    ) -> None:
        """Set up; nothing is contacted and nothing heavy imported before the first frame.

        Args:
            options: the command line's options, by their names.
            opener: called after the first frame to open memory and session (tests give a fake).
        """
        super().__init__()
        guard_pastes()
        keep_writing()
        self.leaving: Leaving | None = None
        self.options = dict(options or {})
        self.conductor: Conductor | None = None
        self.remembered = Remembered(self.warn)
        self.main = MainScreen(self, fps=int(self.options.get("fps") or 30))
        self._opener = opener
        self._outlet = Outlet()
        self._asked_to_leave: float | None = None
        self.keys = KeysInTurn(self)
        self._theme_problems: tuple[str, ...] = ()
        self._notices: list[str] = [self.remembered.problem] if self.remembered.problem else []
        self._veil: LineVeil | None = None
        self._first_theme()

    def get_css_variables(self) -> dict[str, str]:
        """The theme's variables; none while Textual sets up one that is not going to be used."""
        return super().get_css_variables() if self._themed else {}

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, and behind them what keeps controls from the terminal: as one."""
        before = (*super().get_line_filters(), *(() if self._veil is None else (self._veil,)))
        if before != self._outlet.before:
            self._outlet = Outlet(before)
        return (self._outlet,)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Ctrl+Z takes back what was typed where something is typed."""
        if action == "suspend_process" and hasattr(self.focused, "action_undo"):
            return False
        return super().check_action(action, parameters)

    def hide_names(self, veil: Veil | None) -> None:
        """Hide these names on every screen from now on; None shows them again."""
        from kvtui.ui.look.veil import LineVeil

        self._veil = None if veil is None else LineVeil(veil)
        for screen in self.screen_stack:
            screen.refresh(repaint=True)
            for widget in screen.query("*"):
                widget.refresh()

    def get_default_screen(self) -> MainScreen:
        """The main screen is the first: no other is laid out before it."""
        return self.main

    async def on_event(self, event: Event) -> None:
        """A key waits until what the key before it did is done."""
        if self.keys.is_turn(event):
            await super().on_event(event)

    def notify(self, message: str, **options: Any) -> None:
        """Show a notice, unless it is shown already: a key pressed twice says nothing new."""
        if not any(shown.message == message for shown in self._notifications):
            super().notify(message, **options)

    # --- start ----------------------------------------------------------------------------------

    def _build_driver(self, *args: Any, **options: Any) -> Driver:
        """From here on the terminal is ours: a signal leaves it as it was."""
        driver = super()._build_driver(*args, **options)
        resume_once(self, self._resumed)
        if self.leaving is not None:
            self.leaving.screen_begins()
        return driver

    def on_mount(self) -> None:
        """Everything else comes after the first frame."""
        self.app_resume_signal.subscribe(self, self._resumed)
        self.call_after_refresh(self._after_first_frame)

    def _resumed(self, _app: object = None) -> None:
        """The terminal was another program's meanwhile: nothing of ours is on it any more."""
        self.screen.refresh(layout=True)
        for widget in self.screen.query("*"):
            widget.refresh()

    def _after_first_frame(self) -> None:
        if self.leaving is not None:
            soon = get_running_loop().call_soon_threadsafe
            self.leaving.screen_stands(partial(soon, self.exit))
            self.leaving.watch_terminal()
        gc.freeze()  # what the start made stays: later collections need not walk it
        gc.enable()
        for notice in self._notices:
            self.notify(notice, severity="warning", markup=False, timeout=8)
        self._register_themes()
        if self._opener is not None:
            self._opener(self)
        else:
            from threading import Thread

            Thread(target=self._open, name="kvtui-opening", daemon=True).start()

    def _open(self) -> None:
        from kvtui.ui.opening.start import (
            open_all,
        )  # imports everything that the first frame does not

        open_all(self)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """No cursor blinks in any field: nothing wakes up, or is sent, while nobody types."""
        widget: Any = event.widget
        if field := hasattr(widget, "cursor_blink"):
            widget.cursor_blink = False
        for footer in self.screen.query(FooterBar):
            footer.typing = field

    async def action_help_here(self) -> None:
        """F1: the help of the screen on top, else of the main one; again closes it."""
        screen = self.screen
        if getattr(screen, "is_help", False):
            self.pop_screen()
        elif hasattr(screen, "action_help"):
            await invoke(screen.action_help)
        else:
            await self.run_action("help", self.main)

    def action_command_palette(self) -> None:
        """Ctrl+P: the screen's commands, found by typing."""
        palette = getattr(self.screen, "action_palette", None)
        if palette is not None:
            palette()

    def action_help_quit(self) -> None:
        """Ctrl+C where no text is marked: what the screen runs is stopped; twice, kvtui is left."""
        interrupt = getattr(self.screen, "interrupt", None)
        if interrupt is not None and interrupt():
            self._asked_to_leave = None
            return
        now = monotonic()
        if self._asked_to_leave is not None and now - self._asked_to_leave < TWICE_S:
            self.exit(0)
            return
        self._asked_to_leave = now
        self.notify(tr("Ctrl+C once more leaves kvtui."), markup=False, timeout=TWICE_S)

    async def action_quit(self) -> None:
        """Ctrl+Q and q: the stream is stopped and the child ended by ``on_unmount``."""
        self.exit(0)

    def exit(self, result: int | None = None, *args: Any, **options: Any) -> None:
        """Leave in an orderly way, which has its time."""
        if self.leaving is not None:
            self.leaving.within(LEAVE_S, result or 0)
        super().exit(result, *args, **options)

    def open_tour(self) -> None:
        """The tour, over the screen as it is."""
        from kvtui.ui.screens.tour.begin import tour_over

        self.push_screen(tour_over(self.main))

    def on_unmount(self) -> None:
        """Whatever ends the app ends the stream, the experiment and the engine's process."""
        self.remembered.write()
        if self.main.opened.lab is not None:
            self.main.opened.lab.close()
        if self.conductor is not None:
            self.conductor.close()

    # --- themes ---------------------------------------------------------------------------------

    def _first_theme(self) -> None:
        wanted = str(
            self.options.get("theme") or self.remembered.get("theme", str) or DEFAULT_THEME
        )
        folder = theme_folder()
        if wanted != DEFAULT_THEME and wanted not in self.available_themes and user_files():
            self._take_user_themes()  # it may be one of the user's own
        for name in dict.fromkeys((wanted, DEFAULT_THEME)):
            if name in self.available_themes or self._take_theme_file(folder / f"{name}.toml"):
                # Without the watcher: the style sheet is not parsed yet, so it need not be again.
                self.set_reactive(App.theme, name)
                self._themed = True
                self.stylesheet.set_variables(self.get_css_variables())
                return
            self._notices.append(suggest(name, [*shipped_names(folder), *self.available_themes]))

    def _register_themes(self) -> None:
        for name in shipped_names():
            if name not in self.available_themes:
                self._take_theme_file(theme_folder() / f"{name}.toml", say=True)
        self._take_user_themes()
        if self._theme_problems:
            said = one_notice(self._theme_problems)
            self.notify(said, severity="warning", markup=False, timeout=15)

    def _take_theme_file(self, path: Path, *, say: bool = False) -> bool:
        try:
            loaded = load_theme(path)
        except OSError:
            return False
        self.register_theme(loaded.theme)
        if loaded.problems:
            text = "; ".join(loaded.problems)
            if say:
                self.notify(text, severity="warning", markup=False)
            else:
                self._notices.append(text)
        return True

    def _take_user_themes(self) -> None:
        """Register the user's own; one of a name of ours takes its place."""
        found, self._theme_problems = user_themes()
        for theme, _ in found:
            self.register_theme(theme)

    def choose_theme(self, name: str) -> None:
        """Take a theme and remember it."""
        self.theme = name
        self.remembered.put("theme", name)

    def warn(self, sentence: str) -> None:
        """A notice; from any thread."""
        self.call_later(self.notify, sentence, severity="warning", markup=False, timeout=8)


def run(options: Mapping[str, Any]) -> int:
    """Open the screen; the process ends with it."""
    leaving = Leaving()
    leaving.take_signals()
    app = KvtuiApp(options)
    app.leaving = leaving
    status = app.run()
    leaving.done(int(status or app.return_code or 0))
