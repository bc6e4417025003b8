"""What can be wrong with a memory question.

Every error is a `ValueError` whose text is one sentence for the user: it names what was wrong
and, where there is one, the nearest right spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvtui.language import tr


class PlanError(ValueError):
    """A memory question that cannot be answered, said in one sentence."""


class UnknownNameError(PlanError):
    """A name that is not in a table.

    Attributes:
        kind: what was looked for ("model", "card", "precision", "engine").
        name: the name as given.
        suggestions: the nearest names, best first; may be empty.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, listing: str = "") -> None:
        self.kind = kind
        self.name = name
        self.suggestions = nearest(name, known)
        text = tr("unknown {kind} {name!r}", kind=tr(kind), name=name)
        if self.suggestions:
            text += tr(": did you mean {names}?", names=tr(" or ").join(self.suggestions))
        if listing:
            text += tr(" ({listing})", listing=listing)
        super().__init__(text)


class AmbiguousNameError(PlanError):
    """A name that fits several rows of a table.

    Attributes:
        kind: what was looked for.
        name: the name as given.
        suggestions: all that it fits.
    """

    def __init__(self, kind: str, name: str, candidates: Sequence[str]) -> None:
        self.kind = kind
        self.name = name
        self.suggestions = tuple(candidates)
        shown = ", ".join(candidates[:6]) + (", …" if len(candidates) > 6 else "")
        super().__init__(
            tr(
                "{kind} {name!r} fits {n} rows: choose one of {shown}",
                kind=tr(kind),
                name=name,
                n=len(candidates),
                shown=shown,
            )
        )


class BadValueError(PlanError):
    """A number or option outside what makes sense.

    Attributes:
        field: the option's name.
        problem: what is wrong with it, without the name.
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{tr(field)} {problem}")


def nearest(name: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """The known names most like `name`, best first, compared without case."""
    import difflib  # 8 ms, and only an error needs it

    by_folded: dict[str, str] = {}
    for item in known:
        by_folded.setdefault(item.casefold(), item)
    close = difflib.get_close_matches(name.casefold(), by_folded, n=count, cutoff=0.6)
    if not close:
        folded = name.casefold()
        close = [key for key in by_folded if folded and folded in key][:count]
    return tuple(by_folded[key] for key in close)
