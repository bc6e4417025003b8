"""``kvtui bench``: experiments and sweeps, without a screen."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.bench.requests.options import RunOptions
from kvtui.commands import completion
from kvtui.commands.bench_options import bench_options, shared_request_options
from kvtui.commands.bench_watch import Teller, say
from kvtui.commands.bench_work import (
    Work,
    as_before,
    check,
    with_rooms,
    work_of,
)
from kvtui.commands.errors import BadInput, prepared_or_refused
from kvtui.commands.export import print_record
from kvtui.commands.interrupts import Interrupts, interrupts_noted
from kvtui.commands.options import endpoint_options
from kvtui.commands.output import print_json, put
from kvtui.commands.speech import lang_option, speak_as_configured
from kvtui.config import ConfigError, load_settings
from kvtui.language import tr
from kvtui.text import one_line

if TYPE_CHECKING:
    from kvtui.bench.records.recorder import Recorder
    from kvtui.bench.requests.prepared import Prepared
    from kvtui.bench.requests.session import Session
    from kvtui.bench.running.runner import Outcome, Runner


@click.command()
@click.argument("preset", required=False, shell_complete=completion.presets)
@endpoint_options
@shared_request_options
@bench_options
@lang_option
def bench(
    preset: str | None,
    lang: str | None,
    as_json: bool,
    shape: str | None,
    listed: bool,
    opened: Path | None,
    **flags: Any,
) -> None:
    """Run an experiment: PRESET (see --list), or a TOML file of your own.

    Results go to stdout, progress to stderr, every request into a record (JSON Lines) as it ends:
    a run that was interrupted goes on with --resume. With no endpoint configured the embedded
    engine answers. Exit status: 0 done, 1 requests failed, 2 wrong flags or files, 130 interrupted,
    143 terminated.
    """
    shape = "json" if as_json else shape or "text"
    if shape in ("text", "markdown"):  # what machines read is English
        speak_as_configured(lang)
    if listed:
        _list(as_json=shape == "json")
        return
    if opened is not None:
        sys.exit(_show(opened, shape, flags["plot"]))
    sys.exit(_bench(preset, shape, flags))


def _list(*, as_json: bool) -> None:
    from kvtui.bench.running.presets import PRESETS

    if as_json:
        print_json([{"name": p.name, "about": p.about} for p in PRESETS.values()], indent=None)
        return
    width = max(map(len, PRESETS))
    for preset in PRESETS.values():
        put(f"{preset.name:{width}}  {tr(preset.about)}")
    put(f"{'FILE.toml':{width}}  Your own: prompts, lengths, levels, repeats, limits.")


def _show(path: Path, shape: str, plot: str | None) -> int:
    """Print the results of a record."""
    from kvtui.bench.records.record import RecordError, read_record

    try:
        record = read_record(path)
    except RecordError as error:
        raise BadInput(str(error)) from None
    return print_record(record, shape, plot=plot)


def _bench(preset: str | None, shape: str, flags: dict[str, Any]) -> int:
    try:
        settings = load_settings()
    except ConfigError as error:
        raise BadInput(str(error)) from None
    flags = {**flags, "settings": settings}
    work = work_of(preset, flags)
    if work.record is not None:
        flags = as_before(work.record, flags)
    usual = RunOptions.from_flags(flags)
    named = bool(flags["base_url"] or flags["profile"])
    workload = check(work, embedded=not named)
    targets = (work.record and work.record.targets) or workload.targets
    most = max(stage.concurrency for stage in workload.stages)
    options = replace(usual, max_num_seqs=min(max(4, most), 64))
    if targets and not named:
        options = options.at(targets[0])
    from kvtui.bench.requests.session import Session

    with interrupts_noted() as stop, Session(options) as session:
        ready: list[Prepared] = []
        for target in (None, *targets[1:]):
            prepared = prepared_or_refused(session, stop, target)
            if prepared is None:
                if shape == "json":
                    from kvtui.bench.evaluation.results import unsent

                    base_url, model = flags.get("base_url"), flags.get("model")
                    print_json(unsent(work.preset, base_url, model, None, interrupted=True))
                return stop.status
            name = f"{targets[len(ready)].name}: " if targets else ""
            if (refused := _refused(name, prepared, work.preset, shape)) is not None:
                return refused
            ready.append(prepared)
        return _measure(session, ready, work, shape, flags, stop)


def _refused(name: str, prepared: Prepared, preset: str, shape: str) -> int | None:
    """Say what there is to talk to; the exit status where it cannot be used."""
    from kvtui.bench.evaluation.results import unsent
    from kvtui.bench.requests.document import failure_object
    from kvtui.bench.requests.models import model_missing

    endpoint = prepared.endpoint
    where = tr("the embedded engine") if endpoint.embedded else endpoint.base_url
    say(f"{name}{one_line(prepared.model or 'no model')} at {one_line(where)}")
    for note in prepared.notes:
        say(note)
    verdict, evidence = prepared.verdict, prepared.evidence
    if verdict is None and prepared.model is None:
        verdict, evidence = model_missing(prepared)
    if verdict is None or evidence is None:
        return None
    say(f"{verdict.cls}.{verdict.subcode}: {verdict.message}")
    for number, fix in enumerate(verdict.fixes, 1):
        say(f"  {number}. {fix}")
    if shape == "json":
        failure = failure_object(verdict, evidence)
        print_json(unsent(preset, endpoint.base_url or None, prepared.model, failure))
    return 1


def _measure(
    session: Session,
    ready: Sequence[Prepared],
    work: Work,
    shape: str,
    flags: dict[str, Any],
    stop: Interrupts,
) -> int:
    from kvtui.bench.records.begin import begin, request_of
    from kvtui.bench.records.record import RecordError
    from kvtui.bench.running.presets import fitted
    from kvtui.bench.work.workload import WorkloadError

    prepared = ready[0]
    contexts = [one.context for one in ready if one.context is not None]
    try:
        plan = fitted(work.build(prepared.endpoint.embedded), min(contexts, default=None))
    except WorkloadError as error:
        raise BadInput(str(error)) from None
    for note in plan.notes:
        say(note)
    request = request_of(prepared, prepared.model, flags)
    try:
        begun = begin(
            session,
            prepared,
            request,
            work.record or with_rooms(plan.workload, prepared, flags),
            flags["output"],
            text=not flags["no_text"],
        )
    except RecordError as error:
        raise BadInput(str(error)) from None
    recorder = begun.recorder
    say(tr("record: {path}", path=recorder.path))
    stop.then(begun.runner.stop)
    outcome = _watch(begun.runner, recorder)
    stopped = outcome.stopped
    whole = begun.conclude(outcome)
    if recorder.error:
        say(f"the record is not whole: {recorder.path} cannot be written: {recorder.error}")
    if stopped:
        say(tr("interrupted; go on with: kvtui bench --resume {path}", path=recorder.path))
    status = print_record(whole, shape, interrupted=stopped, plot=flags["plot"])
    return stop.status if stopped else status


def _watch(runner: Runner, recorder: Recorder) -> Outcome:
    """Run it, telling where it stands."""
    teller = Teller(runner, recorder)
    runner.listen(teller.take)
    return runner.run()
