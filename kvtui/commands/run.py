"""``kvtui run``: one request or several, measured, without a screen."""

from __future__ import annotations

import sys
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from kvtui.commands import output
from kvtui.commands.errors import BadInput, prepared_or_refused
from kvtui.commands.options import endpoint_options, request_options
from kvtui.commands.prompts import read_messages, read_prompt
from kvtui.config import ConfigError, load_settings
from kvtui.text import one_line, redact, sanitise

if TYPE_CHECKING:
    from kvtui.bench.prepared import Prepared
    from kvtui.bench.run import Run
    from kvtui.bench.session import Session
    from kvtui.measure.figures import RunFigures
    from kvtui.stream.request import Request

_LOOK_S = 0.05
_STOP_S = 3.0


@click.command()
@endpoint_options
@request_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("--formula", is_flag=True, help="Each figure's formula with its numbers.")
def run(as_json: bool, formula: bool, **flags: Any) -> None:
    """Send a request, stream the answer, print what was measured.

    The answer and the figures go to stdout, all else to stderr. With no endpoint configured the
    embedded engine answers. Exit status: 0 done, 1 a request failed, 2 wrong flags or files,
    130 interrupted.
    """
    sys.exit(_run(as_json, formula, flags))


def _run(as_json: bool, formula: bool, flags: dict[str, Any]) -> int:
    try:
        settings = load_settings()
    except ConfigError as error:
        raise BadInput(str(error)) from None
    messages = read_messages(flags["messages_file"]) if flags.get("messages_file") else None
    prompt = read_prompt(flags, settings.defaults.prompt) if messages is None else ""
    flags = {**flags, "settings": settings}
    from kvtui.bench.document import document, unsent
    from kvtui.bench.options import timeouts_from_flags
    from kvtui.bench.session import Session
    from kvtui.commands.run_text import print_table
    from kvtui.stream.request import Request

    runs: list[RunFigures] = []
    base_url = ""
    interrupted = False
    with Session(flags) as session:
        try:
            prepared = prepared_or_refused(session)
        except KeyboardInterrupt:
            return output.interrupted()
        base_url = prepared.endpoint.base_url
        _narrate(prepared)
        prepared = _usable(prepared)
        if prepared.verdict is not None and prepared.evidence is not None:
            runs.append(unsent(prepared.verdict, prepared.evidence))
        else:
            defaults = settings.defaults
            temperature = flags.get("temperature")
            request = Request(
                endpoint=prepared.endpoint,
                model=prepared.model or "",
                prompt=prompt,
                system=flags.get("system"),
                messages=messages,
                max_tokens=flags.get("max_tokens") or defaults.max_tokens,
                temperature=defaults.temperature if temperature is None else temperature,
                top_p=flags.get("top_p"),
                seed=flags.get("seed"),
                stop=tuple(flags.get("stop") or ()),
                kv_cache=_kv_cache(prepared, flags),
                extra_body=flags.get("extra_body") or {},
                timeouts=timeouts_from_flags(flags),
            )
            with output.interrupts_noted() as stop:
                base_url = _repeat(session, request, flags, runs, stop, show=not as_json)
            interrupted = stop.is_set()
    if as_json:
        table = document(prepared.endpoint, base_url, prepared.model, runs)
        output.print_json(table)
    else:
        print_table(runs, formula=formula)
    if interrupted:
        return 130
    return 1 if any(figures.verdict.is_failure for figures in runs) else 0


def _usable(prepared: Prepared) -> Prepared:
    """A verdict where no model can be asked: a command cannot offer a choice."""
    if prepared.verdict is not None or prepared.model is not None:
        return prepared
    from kvtui.bench.models import model_missing

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
    stop: Event,
    *,
    show: bool,
) -> str:
    """Run it as often as asked, or until stopped, into ``runs``; the base URL in use."""
    repeats = int(flags.get("repeat") or 1)
    vary = repeats > 1 and not flags.get("same_prompt")
    base_url = request.endpoint.base_url
    for index in range(repeats):
        if repeats > 1:
            _say(f"run {index + 1} of {repeats}")
        one = session.start(request, index, unique_prefix=vary, keep_pieces=show)
        _follow(one, stop, show)
        figures = one.result(_STOP_S)
        base_url = one.base_url or base_url
        runs.append(figures)
        for note in one.notes:
            _say(note)
        if stop.is_set():
            break
        if figures.verdict.is_failure and not figures.verdict.retryable:
            break  # it would fail the same way again
    return base_url


def _follow(one: Run, stop: Event, show: bool) -> None:
    """Print the text as it comes, until the run is done or stopped."""
    printed = False
    while not one.done.wait(_LOOK_S):
        if show:
            printed = _print_pieces(one) or printed
        if stop.is_set():
            one.stop()
            one.done.wait(_STOP_S)
            break
    if show and (_print_pieces(one) or printed):
        click.echo()


def _print_pieces(one: Run) -> bool:
    """Print the text since the last call; whether there was any."""
    pieces = one.drain()
    for piece in pieces:
        if piece.kind in ("reasoning", "tool_call"):
            click.echo(click.style(sanitise(piece.text), dim=True), nl=False, err=True)
        else:
            click.echo(sanitise(piece.text), nl=False)
    if pieces:
        sys.stdout.flush()
    return bool(pieces)


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
    click.echo(f"kvtui: {one_line(text, 500)}", err=True)
