"""What is said of each subcode, from ``advice.toml``: sentence, fixes, whether to retry."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kvtui.failure.case import Case
from kvtui.failure.facts import ALWAYS, FACTS
from kvtui.failure.predicates import parse_condition
from kvtui.failure.taxonomy import NAMES
from kvtui.language import later, retold, tr

_RETRY = ("yes", "no", "depends")
_MOST_FIXES = 5


class AdviceError(ValueError):
    """``advice.toml`` is wrong: which entry and why."""


TYPED = "what was typed"
"""Where a key comes from that was typed on the screen (as `kvtui.config` says it)."""
_FROM = later("the key from {key_origin}")
_TYPED_ONE = later("the key that was typed")


@dataclass(frozen=True, slots=True)
class Text:
    """One sentence or fix: its template, what it names, when it is said."""

    template: str
    names: tuple[str, ...]
    conditions: tuple[Callable[[Case], bool], ...] = ()
    otherwise: bool = False
    """A fix that is named only where no other held."""

    def render(self, case: Case) -> str | None:
        """The text with the facts filled in; None where it does not hold or a fact is unknown."""
        if not all(condition(case) for condition in self.conditions):
            return None
        facts: dict[str, str] = {}
        for name in self.names:
            fact = FACTS[name](case)
            if fact is None:
                return None
            facts[name] = fact
        said = tr(self.template)
        if case.evidence.key.origin == TYPED:
            said = said.replace(tr(_FROM), tr(_TYPED_ONE))
        return said.format_map(facts)


@dataclass(frozen=True, slots=True)
class Advice:
    """Everything that is said of one subcode."""

    say: tuple[Text, ...]
    fix: tuple[Text, ...]
    retry: str

    def message(self, case: Case) -> str:
        """The first sentence that holds."""
        return next((said for text in self.say if (said := text.render(case))), "")

    def fixes(self, case: Case) -> tuple[str, ...]:
        """All fixes that hold, in the order to try."""
        found: list[str] = []
        for text in self.fix:
            said = None if text.otherwise and found else text.render(case)
            if said and said not in found:
                found.append(said)
        return tuple(found[:_MOST_FIXES])


@cache
def advice_table() -> Mapping[str, Advice]:
    """``class.subcode`` → advice, validated.

    Raises:
        AdviceError: The file is wrong.
    """
    path = Path(__file__).with_name("advice.toml")
    return parse_advice(tomllib.loads(path.read_text(encoding="utf-8")))


def advice_shown(name: str, text: str) -> str:
    """A recorded sentence or fix of ``class.subcode``, which is English, in the language in use."""
    advice = advice_table().get(name)
    if advice is None:
        return text
    return retold(text, tuple(each.template for each in (*advice.say, *advice.fix)))


def parse_advice(data: Mapping[str, Any]) -> Mapping[str, Advice]:
    """Validate the file's content: every subcode there, every placeholder and condition known.

    Raises:
        AdviceError: Names the entry and what is wrong with it.
    """
    rows = {f"{cls}.{sub}": row for cls, table in data.items() for sub, row in table.items()}
    for title, names in (("missing", NAMES - rows.keys()), ("unknown", rows.keys() - NAMES)):
        if names:
            raise AdviceError(f"advice.toml: {title}: {', '.join(sorted(names))}")
    return {name: _advice(name, row) for name, row in rows.items()}


def _advice(name: str, row: Mapping[str, Any]) -> Advice:
    unknown = row.keys() - {"say", "fix", "retry"}
    if unknown:
        raise AdviceError(f"advice.toml: {name}: unknown key {', '.join(sorted(unknown))}")
    if row.get("retry", "no") not in _RETRY:
        raise AdviceError(f"advice.toml: {name}.retry must be one of {', '.join(_RETRY)}")
    say = _texts(name, row.get("say", ()))
    fix = _texts(name, row.get("fix", ()))
    if not say or say[-1].conditions or not ALWAYS.issuperset(say[-1].names):
        raise AdviceError(f"advice.toml: {name}.say must end in a sentence that always holds")
    if not name.startswith("ok.") and not any(
        not text.conditions and ALWAYS.issuperset(text.names) for text in fix
    ):
        raise AdviceError(f"advice.toml: {name}.fix needs one fix that always holds")
    return Advice(say, fix, row.get("retry", "no"))


def _texts(name: str, entries: Iterable[Any]) -> tuple[Text, ...]:
    return tuple(_text(name, entry) for entry in entries)


def _text(name: str, entry: Any) -> Text:
    if isinstance(entry, str):
        entry = {"text": entry}
    template = entry.get("text")
    if not isinstance(template, str) or entry.keys() - {"text", "if", "otherwise"}:
        raise AdviceError(f"advice.toml: {name}: {entry!r} is no text")
    try:
        names = tuple(field for _, field, _, _ in string.Formatter().parse(template) if field)
        conditions = tuple(map(parse_condition, entry.get("if", ())))
    except ValueError as error:
        raise AdviceError(f"advice.toml: {name}: {error}") from None
    unknown = set(names) - FACTS.keys()
    if unknown:
        raise AdviceError(f"advice.toml: {name}: unknown placeholder {', '.join(sorted(unknown))}")
    return Text(template, tuple(dict.fromkeys(names)), conditions, bool(entry.get("otherwise")))
