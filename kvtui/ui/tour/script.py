"""The tour's steps, read from ``steps.toml`` and validated."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kvtui.language import tr
from kvtui.ui.tour.facts import CONDITIONS, FIGURES, LABELS, Facts


class TourError(ValueError):
    """``steps.toml`` is wrong: which step and why."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to the embedded engine."""

    label: str
    prompt: str
    max_tokens: int
    times: int = 1
    cache: bool = True
    model: str = ""
    """Empty: the engine's own."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the Memory pane shows."""

    model: str
    card: str
    context: int
    users: int
    weights: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence or two, with what must hold for it to be said."""

    template: str
    conditions: tuple[str, ...] = ()

    def names(self) -> frozenset[str]:
        """The figures it needs."""
        parsed = string.Formatter().parse(self.template)
        return frozenset(name for _, name, _, _ in parsed if name)

    def render(self, facts: Facts) -> str | None:
        """The text with its figures; None where it does not hold or a figure is not known."""
        known = facts.figures()
        if not all(map(facts.holds, self.conditions)) or not self.names() <= known.keys():
            return None
        return tr(self.template, **known)


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    title: str
    say: tuple[Text, ...]
    watch: str = ""
    run: Ask | None = None
    memory: Shown | None = None

    def said(self, facts: Facts) -> str:
        """What is said when it is over."""
        return next((text for each in self.say if (text := each.render(facts)) is not None), "")


@cache
def steps() -> tuple[Step, ...]:
    """All steps, in order.

    Raises:
        TourError: The file is wrong.
    """
    import tomllib

    path = Path(__file__).with_name("steps.toml")
    return parse_steps(tomllib.loads(path.read_text(encoding="utf-8")))


def parse_steps(data: Mapping[str, Any]) -> tuple[Step, ...]:
    """Validate the file's content: keys, figures and conditions known, a last text that holds.

    Raises:
        TourError: Names the step and what is wrong with it.
    """
    return tuple(_step(row) for row in data.get("step", ()))


def _step(row: Mapping[str, Any]) -> Step:
    title = row.get("title")
    if not isinstance(title, str) or row.keys() - {"title", "run", "memory", "watch", "say"}:
        raise TourError(f"steps.toml: {title or row!r}: a step has title, run, memory, watch, say")
    texts = tuple(_text(title, entry) for entry in row.get("say", ()))
    if not texts or texts[-1].conditions or (len(texts) > 1 and texts[-1].names()):
        raise TourError(f"steps.toml: {title}: say must end in a text that always holds")
    try:
        ask = Ask(**row["run"]) if "run" in row else None
        shown = Shown(**row["memory"]) if "memory" in row else None
    except TypeError as error:
        raise TourError(f"steps.toml: {title}: {error}") from None
    if ask is not None and ask.label not in LABELS:
        raise TourError(f"steps.toml: {title}: unknown label {ask.label}")
    return Step(title, texts, str(row.get("watch", "")), ask, shown)


def _text(title: str, entry: Any) -> Text:
    if isinstance(entry, str):
        entry = {"text": entry}
    if not isinstance(entry.get("text"), str) or entry.keys() - {"text", "if"}:
        raise TourError(f"steps.toml: {title}: {entry!r} is no text")
    text = Text(entry["text"], tuple(entry.get("if", ())))
    wrong = {name for name in text.names() if name not in FIGURES}
    wrong |= {name for name in text.conditions if name.split("=")[0] not in CONDITIONS}
    if wrong:
        raise TourError(f"steps.toml: {title}: unknown {', '.join(sorted(wrong))}")
    return text
