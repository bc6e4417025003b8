"""The Experiments screen's fields: texts become a workload, and each wrong one its own sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kvtui.bench.running.presets import fitted
from kvtui.bench.work.extent import Extent, extent_of
from kvtui.bench.work.workload import Workload, WorkloadError
from kvtui.language import counted, later, tr
from kvtui.text import count
from kvtui.ui.experiments.knobs import BY_NAME, Knob, default_of, knobs_of

if TYPE_CHECKING:
    from kvtui.bench.running.presets import Preset

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Fields:
    """The form of one preset."""

    preset: Preset
    knobs: tuple[Knob, ...]
    defaults: Mapping[str, str]
    """Knob → what an empty field means."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the fields amount to."""

    fields: Fields
    texts: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    workload: Workload | None = None
    """None where a field is wrong."""
    extent: Extent | None = None
    notes: tuple[str, ...] = ()
    """What had to be changed for this endpoint."""
    problems: tuple[tuple[str, str], ...] = ()
    """(knob, sentence); the knob is empty where it is about all of them."""

    def problem(self, name: str) -> str:
        """What is wrong with a field; empty where nothing is."""
        return next((text for knob, text in self.problems if knob == name), "")


def fields_of(preset: Preset, *, embedded: bool) -> Fields:
    """The fields that a preset has, each with its default."""
    knobs = knobs_of(preset, embedded=embedded)
    defaults = {knob.name: default_of(preset, knob, embedded=embedded) for knob in knobs}
    return Fields(preset, knobs, MappingProxyType(defaults))


def ask(
    fields: Fields, texts: Mapping[str, str], *, embedded: bool, context: int | None, seats: int = 0
) -> Asked:
    """Read the fields.

    Args:
        fields: The preset's.
        texts: Knob → as typed; an empty one takes the default.
        embedded: The engine is our own.
        context: The model's, where it is known: what it cannot hold is left out and said.
        seats: Sequences that the embedded engine decodes at once; 0: not known.
    """
    given: dict[str, Any] = {}
    problems: list[tuple[str, str]] = []
    for knob in fields.knobs:
        text = texts.get(knob.name, "")
        if text.strip() in ("", fields.defaults.get(knob.name)):
            continue
        try:
            given[knob.name] = knob.read(text)
        except ValueError as error:
            problems.append((knob.name, tr("{label} {error}.", label=tr(knob.label), error=error)))
    texts = MappingProxyType(dict(texts))
    if problems:
        return Asked(fields, texts, problems=tuple(problems))
    try:
        plan = fitted(fields.preset.build(given, embedded).check(), context)
    except WorkloadError as error:
        return Asked(fields, texts, problems=(_placed(str(error), fields),))
    notes = [*plan.notes, *_queue(plan.workload, seats if embedded else 0)]
    return Asked(fields, texts, plan.workload, extent_of(plan.workload), tuple(notes))


_FLAGS = {
    "with --endpoint": later("in the field endpoints"),
    "--slo 'ttft_ms<500'": later("ttft_ms<500 in the field limits"),
    "Leave --base-url and --profile out.": later("E on the main screen chooses it."),
}
"""A flag's part of a sentence → the same on the screen."""


def _placed(sentence: str, fields: Fields) -> tuple[str, str]:
    """A workload's complaint at the field it is about, under the name that the field has."""
    for flag, words in _FLAGS.items():
        sentence = sentence.replace(flag, words)
    for name in sorted((knob.name for knob in fields.knobs), key=len, reverse=True):
        if sentence.startswith(name):
            return name, tr(BY_NAME[name].label) + sentence[len(name) :]
    limits = any(knob.name == "slo" for knob in fields.knobs)
    return ("slo" if limits and ("limit" in sentence or "figure" in sentence) else ""), sentence


def _queue(workload: Workload, seats: int) -> list[str]:
    most = max(stage.concurrency for stage in workload.stages)
    if not seats or most <= seats:
        return []
    return [
        tr(
            "The embedded engine decodes {seats} sequences at once: of {most}"
            " streams the others wait for their turn.",
            seats=seats,
            most=most,
        )
    ]


def sends(extent: Extent) -> str:
    """What will be sent, in words."""
    levels = counted(extent.levels, later("{n} level"), later("{n} levels"))
    if not extent.bounded:
        return tr(
            "{levels}, {seconds:g} s of requests, as many as are answered",
            levels=levels,
            seconds=extent.seconds,
        )
    most = tr("at most ") if extent.at_most else ""
    return tr(
        "{most}{requests} in {levels} ({warmup} to warm up): about"
        " {prompt_tokens} prompt tokens, at most {output_tokens} tokens of answers",
        most=most,
        requests=counted(extent.requests, later("{n} request"), later("{n} requests")),
        levels=levels,
        warmup=count(extent.warmup),
        prompt_tokens=count(extent.prompt_tokens),
        output_tokens=count(extent.output_tokens),
    )
