"""``kvtui bench``: experiments and sweeps, without a screen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.commands.bench_options import bench_options, shared_request_options
from kvtui.commands.bench_watch import Teller, say
from kvtui.commands.bench_work import (
    Work,
    as_before,
    check,
    work_of,
)
from kvtui.commands.errors import BadInput, prepared_or_refused
from kvtui.commands.export import print_record
from kvtui.commands.interrupts import Interrupts, interrupts_noted
from kvtui.commands.options import endpoint_options
from kvtui.commands.output import print_json
from kvtui.config import ConfigError, load_settings
from kvtui.text import one_line

if TYPE_CHECKING:
    from kvtui.bench.prepared import Prepared
    from kvtui.bench.recorder import Recorder
    from kvtui.bench.runner import Outcome, Runner
    from kvtui.bench.session import Session


@click.command()
@click.argument("preset", required=False)
@endpoint_options
@shared_request_options
@bench_options
def bench(
    preset: str | None,
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
    if listed:
        _list(as_json=shape == "json")
        return
    if opened is not None:
        sys.exit(_show(opened, shape))
    sys.exit(_bench(preset, shape, flags))


def _list(*, as_json: bool) -> None:
    from kvtui.bench.presets import PRESETS

    if as_json:
        print_json([{"name": p.name, "about": p.about} for p in PRESETS.values()], indent=None)
        return
    width = max(map(len, PRESETS))
    for preset in PRESETS.values():
        click.echo(f"{preset.name:{width}}  {preset.about}")
    click.echo(f"{'FILE.toml':{width}}  Your own: prompts, lengths, levels, repeats, limits.")


def _show(path: Path, shape: str) -> int:
    """Print the results of a record."""
    from kvtui.bench.record import RecordError, read_record

    try:
        record = read_record(path)
    except RecordError as error:
        raise BadInput(str(error)) from None
    return print_record(record, shape)


def _bench(preset: str | None, shape: str, flags: dict[str, Any]) -> int:
    try:
        settings = load_settings()
    except ConfigError as error:
        raise BadInput(str(error)) from None
    work = work_of(preset, flags)
    check(work)
    if work.record is not None:
        flags = as_before(work.record, flags)
    most = max(flags["concurrency"] or (4,))
    flags = {**flags, "settings": settings, "max_num_seqs": min(max(4, most), 64)}
    from kvtui.bench.session import Session

    with interrupts_noted() as stop, Session(flags) as session:
        prepared = prepared_or_refused(session, stop)
        if prepared is None:
            if shape == "json":
                from kvtui.bench.results import unsent

                base_url, model = flags.get("base_url"), flags.get("model")
                print_json(unsent(work.preset, base_url, model, None, interrupted=True))
            return stop.status
        return _measure(session, prepared, work, shape, flags, stop)


def _measure(
    session: Session,
    prepared: Prepared,
    work: Work,
    shape: str,
    flags: dict[str, Any],
    stop: Interrupts,
) -> int:
    from kvtui.bench.begin import begin, request_of
    from kvtui.bench.document import failure_object
    from kvtui.bench.models import model_missing
    from kvtui.bench.presets import fitted
    from kvtui.bench.record import RecordError
    from kvtui.bench.results import unsent
    from kvtui.bench.workload import WorkloadError

    endpoint = prepared.endpoint
    where = "the embedded engine" if endpoint.embedded else endpoint.base_url
    say(f"{one_line(prepared.model or 'no model')} at {one_line(where)}")
    for note in prepared.notes:
        say(note)
    verdict, evidence = prepared.verdict, prepared.evidence
    if verdict is None and prepared.model is None:
        verdict, evidence = model_missing(prepared)
    if verdict is not None and evidence is not None:
        say(f"{verdict.cls}.{verdict.subcode}: {verdict.message}")
        for number, fix in enumerate(verdict.fixes, 1):
            say(f"  {number}. {fix}")
        if shape == "json":
            failure = failure_object(verdict, evidence)
            print_json(unsent(work.preset, endpoint.base_url or None, prepared.model, failure))
        return 1
    try:
        plan = fitted(work.build(endpoint.embedded), prepared.context)
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
            work.record or plan.workload,
            flags["output"],
            text=not flags["no_text"],
        )
    except RecordError as error:
        raise BadInput(str(error)) from None
    recorder = begun.recorder
    say(f"record: {recorder.path}")
    stop.then(begun.runner.stop)
    outcome = _watch(begun.runner, recorder)
    stopped = outcome.stopped
    whole = begun.conclude(outcome)
    if recorder.error:
        say(f"the record is not whole: {recorder.path} cannot be written: {recorder.error}")
    if stopped:
        say(f"interrupted; go on with: kvtui bench --resume {recorder.path}")
    status = print_record(whole, shape, interrupted=stopped)
    return stop.status if stopped else status


def _watch(runner: Runner, recorder: Recorder) -> Outcome:
    """Run it, telling where it stands."""
    teller = Teller(runner, recorder)
    runner.listen(teller.take)
    return runner.run()
