"""What a preset can be told, one knob a flag of ``kvtui bench``: texts read into its values.

Presets are data: which knobs one takes, and what it takes without them, is found out by asking it
to build, so that a new preset needs no list here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvtui.bench.requests.targets import Target, TargetError, parse_target
from kvtui.bench.work.workload import Workload, WorkloadError
from kvtui.language import tr

if TYPE_CHECKING:
    from kvtui.bench.running.presets import Preset

_MOST_VALUES = 64


@dataclass(frozen=True, slots=True)
class Knob:
    """One field of the form."""

    name: str
    """Of the flag, and of the value that a preset's ``build`` is given."""
    label: str
    hint: str
    read: Callable[[str], Any]
    """Raises ``ValueError`` with the rest of a sentence that begins with the label."""
    embedded_only: bool = False


def _number(text: str, *, whole: bool) -> float:
    try:
        return int(text.replace(",", "")) if whole else float(text)
    except ValueError:
        kind = tr("a whole number") if whole else tr("a number")
        raise ValueError(tr("must be {kind}, not {text!r}", kind=kind, text=text)) from None


def _one(*, whole: bool) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = _number(text.strip(), whole=whole)
        if not 0 <= value < 1e12:
            raise ValueError(tr("is out of range"))
        return value

    return read


def _many(*, whole: bool) -> Callable[[str], tuple[float, ...]]:
    def read(text: str) -> tuple[float, ...]:
        parts = [part.strip() for part in text.replace(",", " ").split()]
        if len(parts) > _MOST_VALUES:
            raise ValueError(tr("has more than {most} values", most=_MOST_VALUES))
        try:
            values = [_number(part, whole=whole) for part in parts]
        except ValueError:
            kind = tr("whole numbers, as 1,2,4") if whole else tr("numbers, as 1,2,4")
            raise ValueError(tr("must be {kind}, not {text!r}", kind=kind, text=text)) from None
        if not all(0 < value < 1e12 for value in values):
            raise ValueError(tr("must be above 0"))
        return tuple(dict.fromkeys(values))

    return read


def _choice(table: Mapping[str, Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return table[text.strip().casefold()]
        except KeyError:
            raise ValueError(tr("is one of {words}", words=", ".join(table))) from None

    return read


def _fraction(text: str) -> float:
    percent = text.strip().removesuffix("%")
    value = _number(percent.strip(), whole=False)
    return value / 100 if percent != text.strip() else value


def _endpoints(text: str) -> tuple[Target, ...]:
    parts = [part for part in text.replace(",", " ").split() if part]
    return tuple(parse_target(part, None) for part in parts)


def _targets(text: str) -> tuple[Target, ...]:
    from kvtui.config import ConfigError, load_settings

    try:
        profiles = list(load_settings().profiles)
    except ConfigError:
        profiles = None
    parts = [part for part in text.replace(",", " ").split() if part]
    try:
        return tuple(parse_target(part, profiles) for part in parts[:_MOST_VALUES])
    except TargetError as error:
        raise ValueError(tr("has a wrong one: {error}", error=str(error).rstrip("."))) from None


KNOBS: tuple[Knob, ...] = (
    Knob("targets", "endpoints",
         "Two or more, separated by spaces: a profile, a URL or embedded; model@place names its"
         " model.", _targets),
    Knob("concurrency", "streams", "Streams at once, a level each: 1,2,4.", _many(whole=True)),
    Knob("rate", "rate", "Requests a second, a level each, in place of streams: 0.5,1,2.",
         _many(whole=False)),
    Knob("arrival", "arrival", "How requests come at a rate: constant or poisson.",
         _choice({"constant": "constant", "poisson": "poisson"})),
    Knob("prompt_tokens", "prompt", "Tokens of synthetic prompts, a level each: 256,1024.",
         _many(whole=True)),
    Knob("max_tokens", "answer", "Tokens of the answers (max_tokens), a level each: 64,512.",
         _many(whole=True)),
    Knob("requests", "requests", "Measured requests of each level.", _one(whole=True)),
    Knob("duration", "seconds", "Seconds of each level, in place of a number of requests.",
         _one(whole=False)),
    Knob("repeat", "repeat", "Times that each level is run.", _one(whole=True)),
    Knob("warmup", "warm-up", "Requests before each level that no figure counts.",
         _one(whole=True)),
    Knob("slo", "limits", "For the goodput: ttft_ms<500,tpot_ms<50.", str.strip),
    Knob("search", "search", "yes: look for the highest level that keeps the limits.",
         _choice({"no": False, "yes": True})),
    Knob("certainty", "certainty",
         "End a level once its medians are known to this part: 5% or 0.05.", _fraction),
    Knob("most_s", "time limit", "End the run after these seconds, keeping what is done.",
         _one(whole=False)),
    Knob("same_prompt", "prompts", "unique, against prefix caches, or the same on purpose.",
         _choice({"unique": False, "same": True})),
    Knob("no_kv_cache", "KV cache", "on, or off: every step works the whole text out anew.",
         _choice({"on": False, "off": True}), embedded_only=True),
    Knob("targets", "endpoints", "Two or more: profiles, URLs or embedded, [MODEL@]PLACE each.",
         _endpoints),
)  # fmt: skip
BY_NAME = {knob.name: knob for knob in KNOBS}
NONE = "none"
_ANY = {
    "arrival": "constant",
    **dict.fromkeys(("targets", "slo", "certainty", "most_s", "duration", "rate"), NONE),
}
_WORDS = {"same_prompt": "unique", "no_kv_cache": "on", "search": "no"}


class _Watched(dict[str, Any]):
    """Values that remember which of them were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)


def knobs_of(preset: Preset, *, embedded: bool) -> tuple[Knob, ...]:
    """The knobs that a preset takes, in the order of the table."""
    watched = _Watched()
    preset.build(watched, embedded)
    taken = [
        knob
        for knob in KNOBS
        if knob.name in watched.asked and (embedded or not knob.embedded_only)
    ]
    if {"repeat", "requests"} <= watched.asked and _same(
        preset, {"repeat": 7}, {"requests": 7}, embedded
    ):
        taken = [knob for knob in taken if knob.name != "requests"]
    return tuple(taken)


def _same(preset: Preset, one: dict[str, Any], other: dict[str, Any], embedded: bool) -> bool:
    return _built(preset, one, embedded) == _built(preset, other, embedded) is not None


def _built(preset: Preset, given: dict[str, Any], embedded: bool) -> Workload | None:
    try:
        return preset.build(given, embedded)
    except WorkloadError:
        return None


def default_of(preset: Preset, knob: Knob, *, embedded: bool) -> str:
    """What a preset takes where the field is empty: the value that, given, changes nothing."""
    usual = preset.build({}, embedded)
    name = knob.name
    if name in _WORDS:
        return _WORDS[name]
    if name in _ANY:
        return _ANY[name]
    many = name in ("concurrency", "prompt_tokens", "max_tokens")
    for value in _candidates(usual, name):
        given = value if many else value[0]
        if (many or len(value) == 1) and _built(preset, {name: given}, embedded) == usual:
            return ",".join(f"{number:g}" for number in value)
    return tr("by load") if name == "requests" else ""


def _candidates(workload: Workload, name: str) -> list[tuple[float, ...]]:
    if name == "repeat":
        counts = {stage.requests for stage in workload.stages if stage.requests}
        return [(float(n),) for n in sorted({1, *counts})]
    values = [getattr(stage, name, None) for stage in workload.stages]
    known = list(dict.fromkeys(value for value in values if value is not None))
    runs = [
        tuple(known[low:high]) for low, high in itertools.combinations(range(len(known) + 1), 2)
    ]
    return sorted(runs, key=len, reverse=True)
