"""What the interpreter does beside reading is put off while requests are under way."""

from __future__ import annotations

import gc
import sys

_SWITCH_S = 0.0005
"""How long another thread may hold the interpreter while a stream is read and stamped."""
_COLLECT = 2_000, 5, 1_000
"""Objects from which the collector looks at the young ones, and how many looks at the next older.

A look at all of them stops every thread for 20 ms of CPU: that long, no read is stamped.
"""


class Undisturbed:
    """Settings of the whole process, made and undone together."""

    def __init__(self) -> None:
        self._switch: float | None = None
        self._collect = gc.get_threshold()

    def begin(self) -> None:
        """Something is measured from now on; harmless where something is already."""
        if self._switch is None:
            self._switch, self._collect = sys.getswitchinterval(), gc.get_threshold()
            sys.setswitchinterval(min(self._switch, _SWITCH_S))
            gc.set_threshold(*_COLLECT)

    def end(self) -> None:
        """Nothing is measured any more: all as it was."""
        if self._switch is not None:
            sys.setswitchinterval(self._switch)
            gc.set_threshold(*self._collect)
            self._switch = None
