"""``kvtui run``: one request or several, measured, without a screen."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kvtui.commands import output
from kvtui.commands.errors import BadInput, prepared_or_refused
from kvtui.commands.interrupts import Interrupts, interrupts_noted
from kvtui.commands.options import endpoint_options, request_options
from kvtui.commands.output import put
from kvtui.commands.prompts import read_messages, read_prompt
from kvtui.commands.run_record import write_run, writer_of
from kvtui.commands.speech import lang_option, speak
from kvtui.config import ConfigError, load_settings
from kvtui.text import one_line, redact

if TYPE_CHECKING:
    from kvtui.bench.records.history import RunWriter
    from kvtui.bench.requests.prepared import Prepared
    from kvtui.bench.requests.run import Run
    from kvtui.bench.requests.session import Session
    from kvtui.config import Endpoint
    from kvtui.measure.figures import RunFigures
    from kvtui.stream.request import Request

_LOOK_S = 0.05
_STOP_S = 3.0


@click.command()
@endpoint_options
@request_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Record the runs in this file, for kvtui replay, runs and compare.",
)
@click.option("--no-text", is_flag=True, help="Record no answer's text, only its stamps.")
@lang_option
@click.option("--formula", is_flag=True, help="Each figure's formula with its numbers.")
def run(as_json: bool, formula: bool, **flags: Any) -> None:
    """Send a request, stream the answer, print what was measured.

    The answer and the figures go to stdout, all else to stderr. With no endpoint configured the
    embedded engine answers. Exit status: 0 done, 1 a request failed, 2 wrong flags or files,
    130 interrupted, 143 terminated.
    """
    sys.exit(_run(as_json, formula, flags))


def _run(as_json: bool, formula: bool, flags: dict[str, Any]) -> int:
    try:
        settings = load_settings()
    except ConfigError as error:
        raise BadInput(str(error)) from None
    writer = writer_of(flags)
    if not as_json:  # what machines read is English
        speak(flags.get("lang"), settings.defaults.lang)
    messages = read_messages(flags["messages_file"]) if flags.get("messages_file") else None
    prompt = read_prompt(flags, settings.defaults.prompt) if messages is None else ""
    with interrupts_noted() as stop:
        asked = _Asked(prompt, messages, {**flags, "settings": settings}, writer)
        runs, endpoint, base_url, model = _measured(asked, stop, show=not as_json)
        interrupted = stop.came
        if as_json:
            from kvtui.bench.requests.document import document

            output.print_json(document(endpoint, base_url, model, runs))
        elif runs:
            from kvtui.commands.run_text import print_table

            print_table(runs, formula=formula)
        if interrupted:
            return stop.status
        return 1 if any(figures.verdict.is_failure for figures in runs) else 0


class _Asked(NamedTuple):
    prompt: str
    messages: tuple[dict[str, Any], ...] | None
    flags: dict[str, Any]
    writer: RunWriter | None


def _measured(
    asked: _Asked, stop: Interrupts, *, show: bool
) -> tuple[list[RunFigures], Endpoint | None, str, str | None]:
    """What came of it: the runs there are, the endpoint with the base URL in use, the model."""
    from kvtui.bench.requests.document import unsent
    from kvtui.bench.requests.session import Session

    flags = asked.flags
    runs: list[RunFigures] = []
    with Session(flags) as session:
        prepared = prepared_or_refused(session, stop)
        if prepared is None:
            return runs, None, flags.get("base_url") or "", flags.get("model")
        base_url = prepared.endpoint.base_url
        _narrate(prepared)
        prepared = _usable(prepared)
        if prepared.verdict is not None and prepared.evidence is not None:
            runs.append(unsent(prepared.verdict, prepared.evidence))
        else:
            request = _request(prepared, asked)
            base_url = _repeat(session, request, flags, runs, stop, show=show, writer=asked.writer)
    return runs, prepared.endpoint, base_url, prepared.model


def _request(prepared: Prepared, asked: _Asked) -> Request:
    from kvtui.bench.requests.options import request_from

    flags, defaults = asked.flags, asked.flags["settings"].defaults
    temperature = flags.get("temperature")
    return request_from(
        flags,
        prepared.endpoint,
        prepared.model,
        prompt=asked.prompt,
        messages=asked.messages,
        max_tokens=flags.get("max_tokens") or defaults.max_tokens,
        temperature=defaults.temperature if temperature is None else temperature,
        seed=flags.get("seed"),
        kv_cache=_kv_cache(prepared, flags),
    )


def _usable(prepared: Prepared) -> Prepared:
    """A verdict where no model can be asked: a command cannot offer a choice."""
    if prepared.verdict is not None or prepared.model is not None:
        return prepared
    from kvtui.bench.requests.models import model_missing

    verdict, evidence = model_missing(prepared)
    return replace(prepared, verdict=verdict, evidence=evidence)


def _kv_cache(prepared: Prepared, flags: dict[str, Any]) -> bool | None:
    if not flags.get("no_kv_cache"):
        return None
    if not prepared.endpoint.embedded:
        _say("--no-kv-cache is for the embedded engine; it is sent as kv_cache: false.")
    return False


def _repeat(
    session: Session,
    request: Request,
    flags: dict[str, Any],
    runs: list[RunFigures],
    stop: Interrupts,
    *,
    show: bool,
    writer: RunWriter | None,
) -> str:
    """Run it as often as asked, or until stopped, into ``runs``; the base URL in use."""
    repeats = int(flags.get("repeat") or 1)
    vary = repeats > 1 and not flags.get("same_prompt")
    base_url = request.endpoint.base_url
    for index in range(repeats):
        if stop.came:
            break
        if repeats > 1:
            _say(f"run {index + 1} of {repeats}")
        one = session.start(
            request, index, unique_prefix=vary, keep_pieces=show, keep_events=writer is not None
        )
        _follow(one, stop, show)
        figures = one.result(_STOP_S)
        base_url = one.base_url or base_url
        runs.append(figures)
        if writer is not None and (trouble := write_run(writer, one, figures, index, repeats)):
            _say(trouble)
        for note in one.notes:
            _say(note)
        if figures.verdict.is_failure and not figures.verdict.retryable:
            break  # it would fail the same way again
    return base_url


def _follow(one: Run, stop: Interrupts, show: bool) -> None:
    """Print the text as it comes, until the run is done or stopped."""
    last: bool | None = None
    while not one.done.wait(_LOOK_S):
        if show:
            last = _print_pieces(one, last)
        if stop.came:
            one.stop()
            one.done.wait(_STOP_S)
            break
    if show and (last := _print_pieces(one, last)) is not None:
        put(err=last)


def _print_pieces(one: Run, last: bool | None) -> bool | None:
    """Print the text since the last call.

    Args:
        one: The run.
        last: Where its last text went: to stderr (True), to stdout, nowhere yet (None).

    Returns:
        The same, afterwards. What goes to another place than before begins on a line of its own.
    """
    pieces = one.drain()
    for piece in pieces:
        aside = piece.kind in ("reasoning", "tool_call")
        if last is not None and aside is not last:
            put(err=last)
        put(piece.text, nl=False, err=aside, dim=aside)
        last = aside
    if pieces:
        sys.stdout.flush()
    return last


def _narrate(prepared: Prepared) -> None:
    endpoint = prepared.endpoint
    if endpoint.embedded:
        where = "the embedded engine"
    else:
        url = one_line(redact(endpoint.base_url, endpoint.api_key))
        where = f"{url} (chosen by {endpoint.chosen_by})"
    key = f", key from {endpoint.key_from}" if endpoint.key_from else ", no key"
    if endpoint.key_wanted_from and not endpoint.key_from:
        key += f" ({endpoint.key_wanted_from} gave none)"
    model = f"{one_line(prepared.model)} at " if prepared.model else ""
    _say(f"{model}{where}{'' if endpoint.embedded else key}")
    for note in prepared.notes:
        _say(note)


def _say(text: str) -> None:
    put(f"kvtui: {one_line(text, 500)}", err=True)
