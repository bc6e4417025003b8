"""``kvtui doctor`` on the screen: a checklist that fills in while the endpoint is examined."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen

from kvtui.language import later, tr
from kvtui.text import one_line
from kvtui.ui.draw.doctor import doctor_rows, doctor_text, failed_rows
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from textual.app import ComposeResult
    from textual.geometry import Size

    from kvtui.doctor.steps import Step
    from kvtui.ui.look.rows import Row

KEYS = later("esc leave · y copy · ↑ ↓ scroll")


class Examination:
    """Runs a check-up on a thread with a loop of its own; ``cancel`` may come at any time."""

    def __init__(
        self, begin: Callable[[], AsyncIterator[Step]], tell: Callable[[Step | None], object]
    ) -> None:
        """Remember what to run.

        Args:
            begin: Gives the steps; called on the thread, so its imports are not the screen's.
            tell: Called on the thread with each step, and with None at the end.
        """
        self._begin = begin
        self._tell = tell
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self.cancelled = False
        self.thread = threading.Thread(target=self._run, name="kvtui-doctor", daemon=True)

    def start(self) -> None:
        """Begin."""
        self.thread.start()

    def cancel(self) -> None:
        """End it, in the middle of a request if need be; returns at once."""
        with self._lock:
            self.cancelled = True
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(self._main())

    async def _main(self) -> None:
        with self._lock:
            if self.cancelled:
                return
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            async for step in self._begin():
                self._tell(step)
            self._tell(None)
        finally:
            with self._lock:
                self._loop = self._task = None


class DoctorScreen(ModalScreen[None]):
    """The checklist."""

    CSS_PATH = "../dialogs.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape,q,D", "leave", "Close", show=False),
        Binding("y,Y", "copy", "Copy", show=False),
    ]

    class Told(Message):
        """A step is done; None: all are."""

        def __init__(self, step: Step | None) -> None:
            super().__init__()
            self.step = step

    def __init__(self, endpoint: str, begin: Callable[[], AsyncIterator[Step]]) -> None:
        """Show an examination of ``endpoint`` (its name on the screen, free of secrets)."""
        super().__init__()
        self._endpoint = one_line(endpoint, 120)
        self.steps: list[Step] = []
        self.over = False
        self._own_scrolls = {0}
        """Where this screen itself has scrolled to; elsewhere it was the user."""
        self.list = DoctorList(self.steps)
        self.examination = Examination(begin, lambda step: self.post_message(self.Told(step)))

    def compose(self) -> ComposeResult:
        """The list, scrolled where it is longer than the screen."""
        with VerticalScroll(id="doctor") as box:
            box.border_title = tr("Doctor · {endpoint}", endpoint=self._endpoint)
            box.border_subtitle = tr(KEYS)
            yield self.list

    def on_mount(self) -> None:
        """Keys scroll; the check-up begins."""
        box = self.query_one("#doctor")
        box.focus()
        self.watch(box, "virtual_size", self._grown, init=False)
        self.examination.start()

    def on_unmount(self) -> None:
        """Leaving ends it."""
        self.examination.cancel()

    def on_doctor_screen_told(self, message: Told) -> None:
        """Show the step."""
        if message.step is not None:
            self.steps.append(message.step)
        else:
            self.over = True
            failed = sum(step.state == "failed" for step in self.steps)
            said = (
                tr("all well")
                if not failed
                else tr("{failed} of {steps} failed", failed=failed, steps=len(self.steps))
            )
            self.query_one("#doctor").border_subtitle = f"{said} · {tr(KEYS)}"
        self.list.measure_again()
        self.list.redraw()
        self.call_after_refresh(self._follow)

    def _grown(self) -> None:
        """Only now there is room to scroll to; a list that shrinks scrolls back to its end."""
        self._own_scrolls.add(self.query_one("#doctor").max_scroll_y)
        self.call_after_refresh(self._follow)

    def _follow(self) -> None:
        """Keep the first failure and its fixes in sight; until there is one, the step under way.

        Whoever has scrolled is left where they are.
        """
        box = self.query_one("#doctor", VerticalScroll)
        if round(box.scroll_target_y) not in self._own_scrolls:
            return
        width, height = self.list.size.width, box.size.height
        failed = failed_rows(self.steps, width)
        if failed is None:
            first = end = len(doctor_rows(self.steps, width, coming=False)) + 1
        else:
            first, end = failed
        box.scroll_to(y=max(0, min(first, end - height)), animate=False, force=True)
        self._own_scrolls.add(round(box.scroll_target_y))

    def action_leave(self) -> None:
        """End the check-up and close."""
        self.examination.cancel()
        self.dismiss()

    def action_copy(self) -> None:
        """Copy what has been found so far."""
        self.app.copy_to_clipboard(doctor_text(self._endpoint, self.steps))
        self.notify(tr("The checklist is copied."), markup=False)


class DoctorList(LinesWidget):
    """The steps as rows."""

    def __init__(self, steps: list[Step]) -> None:
        super().__init__()
        self.steps = steps

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """As many rows as the steps take at this width."""
        return len(self.draw(width, 0))

    def draw(self, width: int, height: int) -> list[Row]:  # noqa: ARG002
        """The rows."""
        return doctor_rows(self.steps, width)
