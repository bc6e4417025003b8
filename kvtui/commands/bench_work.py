"""What ``kvtui bench`` has to run: a preset or a file under the flags, or a record's rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.commands.errors import BadInput
from kvtui.language import tr
from kvtui.text import did_you_mean

if TYPE_CHECKING:
    from kvtui.bench.records.record import Record
    from kvtui.bench.requests.prepared import Prepared
    from kvtui.bench.requests.targets import Target
    from kvtui.bench.work.workload import Workload


@dataclass(frozen=True)
class Work:
    """What there is to run: new, or the rest of a record."""

    preset: str
    build: Any
    record: Record | None = None


def work_of(preset: str | None, flags: dict[str, Any]) -> Work:
    """What was asked for.

    Raises:
        BadInput: It is unknown, or a file is wrong.
    """
    from kvtui.bench.records.lock import is_locked
    from kvtui.bench.records.record import RecordError, read_record
    from kvtui.bench.running.presets import PRESETS
    from kvtui.bench.work.workload import WorkloadError, read_spec

    if flags["resume"] is not None:
        if preset is not None or flags["output"] is not None:
            raise click.UsageError(
                tr("--resume goes on with its record: give no preset and no -o.")
            )
        if is_locked(flags["resume"]):
            raise BadInput(
                tr("{path} is being written: a run is under way in it.", path=flags["resume"])
            )
        try:
            record = read_record(flags["resume"])
        except RecordError as error:
            raise BadInput(str(error)) from None
        workload = record.workload
        return Work(workload.preset, lambda _: workload, record)
    if preset is None:
        raise click.UsageError(tr("Name a preset or a TOML file; kvtui bench --list shows them."))
    given = _given(flags)
    known = PRESETS.get(preset)
    if known is not None:
        return Work(preset, lambda embedded: known.build(given, embedded))
    if not preset.endswith(".toml"):
        raise click.UsageError(
            tr(
                "{preset!r} is no preset{hint}; there are {names}, or a file that ends in .toml.",
                preset=preset,
                hint=did_you_mean(preset, PRESETS),
                names=", ".join(PRESETS),
            )
        )
    try:
        spec = read_spec(Path(preset))
    except WorkloadError as error:
        raise BadInput(str(error)) from None
    return Work(spec.name, lambda _: _own(spec, given))


def _own(spec: Any, given: dict[str, Any]) -> Workload:
    """A workload file with the flags over it."""
    import msgspec

    from kvtui.bench.work.workload import Spec, expand

    names = {n: v for n, v in given.items() if n in Spec.__struct_fields__ and v is not None}
    spec = msgspec.structs.replace(spec, **names)
    workload = expand(spec, spec.name)
    most = given.get("most_s") or spec.most_seconds
    return msgspec.structs.replace(workload, most_s=most)


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags under the names of a workload; those not given are None."""
    from kvtui.commands.prompts import read_prompt

    names = (
        "concurrency", "rate", "arrival", "requests", "duration", "prompt_tokens", "max_tokens",
        "repeat", "warmup", "slo", "ignore_eos", "certainty", "seed", "temperature",
    )  # fmt: skip
    given = {name: flags.get(name) for name in names}
    given["most_s"] = flags.get("max_time")
    given["targets"] = _targets(flags) or None
    for name in ("same_prompt", "no_kv_cache", "search"):
        given[name] = flags.get(name) or None
    if flags.get("prompt") is not None or flags.get("prompt_file"):
        given["prompts"] = (read_prompt(flags, None),)
    return {name: value for name, value in given.items() if value is not None}


def _targets(flags: dict[str, Any]) -> tuple[Target, ...]:
    """The endpoints that were named: the usual way first, then each ``--endpoint``."""
    from kvtui.bench.requests.targets import Target, TargetError, parse_target
    from kvtui.text import redact

    named = flags.get("endpoints") or ()
    if not named:
        return ()
    base_url, profile, model = (flags.get(name) for name in ("base_url", "profile", "model"))
    profiles = flags["settings"].profiles
    targets = []
    if base_url or profile:
        name = profile or redact(base_url or "", None)
        targets.append(Target(name=name, base_url=base_url, profile=profile, model=model))
    try:
        targets += [parse_target(text, profiles) for text in named]
    except TargetError as error:
        raise BadInput(f"--endpoint: {error}") from None
    return tuple(targets)


def check(work: Work, *, embedded: bool) -> Workload:
    """Wrong numbers are told before anything is started; the workload, unless it is changed yet."""
    from kvtui.bench.work.workload import WorkloadError

    try:
        workload: Workload = work.build(embedded)
        return workload.check()
    except WorkloadError as error:
        raise BadInput(str(error)) from None


def as_before(record: Record, flags: dict[str, Any]) -> dict[str, Any]:
    """The endpoint of a record, where the flags name none."""
    endpoint = record.header.get("endpoint") or {}
    request = record.header.get("request") or {}
    before = {"base_url": endpoint.get("base_url"), "model": endpoint.get("model")}
    if endpoint.get("profile"):
        before = {"profile": endpoint["profile"], "model": endpoint.get("model")}
    if endpoint.get("embedded"):
        before = {"model": None}
    merged = {**flags, **{n: v for n, v in before.items() if not flags.get(n)}}
    for name in ("system", "top_p", "extra_body"):
        if merged.get(name) is None:
            merged[name] = request.get(name)
    if not merged.get("stop"):
        merged["stop"] = tuple(request.get("stop") or ())
    levels = [stage.concurrency for stage in record.workload.stages]
    return {**merged, "concurrency": tuple(levels)}


def with_rooms(workload: Workload, prepared: Prepared, flags: dict[str, Any]) -> Workload:
    """The workload with what the memory model says fits, where model and card are known.

    Raises:
        BadInput: A flag names a model, a card or an engine that is not known.
    """
    import msgspec

    endpoint, settings = prepared.endpoint, flags["settings"]
    wanted = {name: flags.get(name) for name in ("arch", "config_json", "gguf")}
    asked = any(wanted.values())
    if not asked:
        wanted["arch"] = endpoint.architecture
    wanted["gpu"] = flags.get("gpu") or endpoint.gpu or settings.defaults.gpu
    if not asked and (endpoint.architecture is None or wanted["gpu"] is None):
        if flags.get("gpu"):
            raise BadInput(
                tr("--gpu says which card, not which model: add --arch, --gguf or --config-json.")
            )
        return workload
    if wanted["gpu"] is None:
        raise BadInput(tr("The model alone does not say what fits: name the card with --gpu."))
    wanted |= {name: flags.get(name) for name in ("engine", "kv_dtype")}
    from kvtui.bench.work.room import rooms_of
    from kvtui.commands.own_cards import own_cards
    from kvtui.memory.errors import PlanError

    given = {name: value for name, value in wanted.items() if value is not None}
    try:
        rooms = rooms_of((stage.tokens for stage in workload.stages), given, own_cards())
    except PlanError as error:
        if not asked:  # the profile's, which a run does not fail for
            return workload
        raise BadInput(str(error)) from None
    return msgspec.structs.replace(workload, rooms=rooms)
