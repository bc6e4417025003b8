"""``kvtui doctor``: an endpoint examined step by step."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from kvtui.commands.errors import BadInput
from kvtui.commands.interrupts import Interrupts, interrupts_noted
from kvtui.commands.options import Number, endpoint_options
from kvtui.commands.output import print_json, put
from kvtui.commands.speech import lang_option, speak
from kvtui.config import ConfigError, Endpoint, load_settings, resolve_endpoint
from kvtui.language import tr
from kvtui.text import milliseconds, one_line, padded, redact

if TYPE_CHECKING:
    from kvtui.doctor.case import Case
    from kvtui.doctor.steps import Step

SCHEMA = "kvtui.doctor/1"

_COLOURS = {"ok": "green", "failed": "red", "unknown": "bright_black"}
_file = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@click.command()
@endpoint_options
@click.option(
    "--env-file", type=_file, help="Take base URL, key and model from this .env; it is only read."
)
@click.option(
    "--settings",
    "settings_file",
    type=_file,
    help="Take them from a coding assistant's settings.json; it is only read.",
)
@click.option("--prompt", metavar="TEXT", help="What the streamed request asks.")
@click.option("--max-tokens", type=click.IntRange(1), default=32, help="Most tokens of it [32].")
@click.option("--timeout", type=Number(min=0, min_open=True), help="Cap on the streamed request.")
@click.option(
    "--timeout-connect", type=Number(min=0, min_open=True), help="Seconds for each network step."
)
@click.option(
    "--timeout-first-token", type=Number(min=0, min_open=True), help="Seconds to the first token."
)
@lang_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def doctor(as_json: bool, **flags: Any) -> None:
    """Check settings, URL, network, base path, key, models and a streamed request.

    Each step is ✓, ✗ or – (does not apply, or could not be told), with its time; a failure comes
    with one sentence and the fixes to try. One short request is streamed at the end. Exit status:
    0 nothing failed, 1 something did, 2 wrong flags or files, 130 interrupted, 143 terminated.
    """
    with interrupts_noted() as stop:
        status = _doctor(stop, as_json, flags)
    sys.exit(status)


def _doctor(stop: Interrupts, as_json: bool, flags: dict[str, Any]) -> int:
    steps: list[Step] = []
    try:
        if not as_json:  # what machines read is English
            speak(flags.get("lang"), load_settings().defaults.lang)
        endpoint, notes = _endpoint(flags)
        with ExitStack() as stack:
            started = _started(stack, stop, flags) if endpoint.embedded else endpoint
            if started is not None:
                endpoint = started
                stop.run(_examine(_case(endpoint, notes, flags), steps, as_json=as_json))
    except ConfigError as error:
        raise BadInput(str(error)) from None
    interrupted = stop.came
    if as_json:
        print_json(document(endpoint, steps, interrupted=interrupted))
    if interrupted:
        return stop.status
    return 1 if any(step.state == "failed" for step in steps) else 0


def _endpoint(flags: dict[str, Any]) -> tuple[Endpoint, tuple[str, ...]]:
    """The endpoint that flags, a file or the settings name, and what was odd about the file."""
    from kvtui.doctor.env_file import read_env_file
    from kvtui.doctor.sources import read_settings_file

    env_file, settings_file = flags["env_file"], flags["settings_file"]
    if env_file and settings_file:
        raise BadInput("Give either --env-file or --settings, not both.")
    headers = dict(flags["headers"])
    if not env_file and not settings_file:
        endpoint = resolve_endpoint(
            load_settings(),
            base_url=flags["base_url"],
            profile=flags["profile"],
            api_key_env=flags["api_key_env"],
            model=flags["model"],
        )
        return _with_headers(endpoint, headers), ()
    for flag in ("profile", "api_key_env"):
        if flags[flag]:
            name = flag.replace("_", "-")
            raise BadInput(f"--{name} cannot be given with a file that holds the endpoint.")
    base_url = flags["base_url"]
    if env_file:
        found = read_env_file(env_file, base_url=base_url)
    else:
        found = read_settings_file(settings_file, base_url=base_url)
    endpoint = replace(found.endpoint, model=flags["model"] or found.endpoint.model)
    return _with_headers(endpoint, headers), found.notes


def _with_headers(endpoint: Endpoint, headers: dict[str, str]) -> Endpoint:
    merged = MappingProxyType({**endpoint.headers, **headers})
    return replace(endpoint, headers=merged) if headers else endpoint


def _started(stack: ExitStack, stop: Interrupts, flags: dict[str, Any]) -> Endpoint | None:
    """The embedded engine, started for the length of the check-up; None where a signal came."""
    from kvtui.bench.requests.session import Session

    session = stack.enter_context(Session(flags))
    prepared = stop.result_of(session.prepare())
    if prepared is None:
        return None
    if prepared.verdict is not None:
        put(f"kvtui: {prepared.verdict.message}", err=True)
        sys.exit(1)
    return replace(prepared.endpoint, model=prepared.model)


def _case(endpoint: Endpoint, notes: tuple[str, ...], flags: dict[str, Any]) -> Case:
    from kvtui.bench.requests.options import timeouts_from_flags
    from kvtui.doctor.case import PROMPT, Case

    return Case(
        endpoint=endpoint,
        timeouts=timeouts_from_flags(flags),
        prompt=flags["prompt"] or PROMPT,
        max_tokens=flags["max_tokens"],
        notes=notes,
    )


async def _examine(case: Case, steps: list[Step], *, as_json: bool) -> None:
    """Fill ``steps``; each is printed as it comes unless one JSON object is wanted at the end."""
    from kvtui.doctor.checkup import examine

    async for step in examine(case):
        steps.append(step)
        if not as_json:
            first = step.state == "failed" and sum(s.state == "failed" for s in steps) == 1
            _print(step, advise=first)


# --- text -----------------------------------------------------------------------------------------


def _print(step: Step, *, advise: bool) -> None:
    took = milliseconds(step.ms) if step.ms is not None else ""
    put(step.glyph, nl=False, fg=_COLOURS[step.state])
    put(f" {padded(tr(step.title), 12)} {took:>8}  {step.detail}".rstrip())
    for note in step.notes:
        put(f"{'':<25}{one_line(note, 300)}")
    verdict = step.verdict
    if verdict is None or not advise:
        return
    badge = verdict.cls.replace("rate_or_quota", "rate/quota").upper()
    put("\n  ", nl=False)
    put(badge, nl=False, fg="red", bold=True)
    put(f" {verdict.subcode}: {verdict.message}")
    for number, fix in enumerate(verdict.fixes, 1):
        put(f"  {number}. {fix}")
    put()


# --- JSON -----------------------------------------------------------------------------------------


def document(endpoint: Endpoint, steps: list[Step], *, interrupted: bool) -> dict[str, Any]:
    """The object of ``--json``; the first failure stands at the top as well as in its step.

    The steps that an interrupted check-up did not come to are in it as unknown.
    """
    from kvtui.bench.requests.document import failure_object
    from kvtui.doctor.steps import not_reached

    def failure(step: Step) -> dict[str, Any] | None:
        if step.verdict is None or step.evidence is None:
            return None
        return failure_object(step.verdict, step.evidence)

    failures = [found for step in steps if (found := failure(step)) is not None]
    return {
        "schema": SCHEMA,
        "endpoint": {
            "base_url": redact(endpoint.base_url, endpoint.api_key) or None,
            "chosen_by": endpoint.chosen_by,
            "model": endpoint.model,
            "key_from": endpoint.key_from,
        },
        "ok": not failures and not interrupted,
        "interrupted": interrupted,
        "steps": [
            {
                "name": step.name,
                "state": step.state,
                "ms": None if step.ms is None else round(step.ms, 3),
                "detail": step.detail,
                "notes": list(step.notes),
                "failure": failure(step),
            }
            for step in (*steps, *not_reached(steps))
        ],
        "failure": failures[0] if failures else None,
    }
