"""The one timer: it ticks while something runs, and each tick is a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer

    from kvtui.ui.screens.main.opened import Opened
    from kvtui.ui.screens.main.server_figures import ServerFigures
    from kvtui.ui.stream.frame import Frame


class Frames:
    """Takes frames from the conductor, so many a second, and has them shown."""

    def __init__(
        self,
        opened: Opened,
        server: ServerFigures,
        *,
        fps: int,
        every: Callable[[float, Callable[[], None]], Timer],
        show: Callable[[Frame], None],
    ) -> None:
        """Nothing ticks yet.

        Args:
            opened: Holds the conductor.
            server: Looks at the server more often while something runs.
            fps: Frames a second.
            every: Makes a timer that rests, of so many seconds.
            show: Hands a frame to the panes.
        """
        self._opened = opened
        self._server = server
        self._every = every
        self._show = show
        self.fps = fps
        self.timer: Timer | None = None

    def mount(self) -> None:
        """The screen is there: timers can be made."""
        self.timer = self._every(1 / self.fps, self.tick)

    def set_fps(self, fps: int) -> None:
        """Another number of frames a second, from now on."""
        self.fps = fps
        if self.timer is not None:
            self.timer.stop()
        self.mount()
        if self._opened.running:
            self._resume()

    def tick(self) -> None:
        """One frame."""
        conductor = self._opened.conductor
        if conductor is None:
            return
        frame = conductor.frame()
        self._show(frame)
        if frame.running:
            self._server.wake()
        if not (frame.running or frame.counting) and self.timer is not None:
            self.timer.pause()

    def begin(self) -> None:
        """Let the timer run, and show the first frame at once."""
        if self._opened.running:
            self._server.watch()
        self._resume()
        self.tick()

    def _resume(self) -> None:
        if self.timer is not None:
            self.timer.resume()
