"""The stretches of a record, each with a time axis of its own, told apart as its lines go by."""

from __future__ import annotations


class Axes:
    """Numbers the stretches of a file: two whose times count from different starts never share one.

    A ``segment`` line begins a new axis even where its number was given before: a pause once wrote
    no line, and who went on with the file later gave the number of what came after it again.
    """

    def __init__(self) -> None:
        self._shift = 0
        self.count = 0
        """Stretches so far, and the number that the next one takes."""

    def begin(self, number: int) -> int:
        """A ``segment`` line; the number that it has here."""
        self._shift = max(0, self.count - number)
        return self.of(number)

    def of(self, number: int) -> int:
        """The number here of what a line says that it lies in."""
        here = number + self._shift
        self.count = max(self.count, here + 1)
        return here
