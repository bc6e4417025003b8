"""The options that commands share, in four groups, under the same names everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kvtui.commands import completion
from kvtui.language import tr
from kvtui.prompt import json_fault

_Command = TypeVar("_Command", bound=Callable[..., Any])


class JsonObject(click.ParamType[dict[str, Any]]):
    """A JSON object given on the command line."""

    name = "JSON"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, Any]:
        """Parse it; anything but an object is refused."""
        if isinstance(value, dict):
            return value
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError) as error:
            self.fail(f"is not valid JSON: {json_fault(error)}", param, ctx)
        if not isinstance(parsed, dict):
            self.fail(f'must be a JSON object such as {{"top_k": 20}}, not {value!r}', param, ctx)
        return parsed


class Number(click.FloatRange):
    """A number in a range; unlike click's own, neither nan nor infinity passes."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert it; what is not finite is refused."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class Header(click.ParamType[tuple[str, str]]):
    """A request header given as ``Name: value``."""

    name = "NAME: VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split it at the first colon; a header that HTTP cannot carry is refused."""
        if isinstance(value, tuple):
            return value
        name, colon, content = value.partition(":")
        name, content = name.strip(), content.strip()
        token = (
            bool(name)
            and name.isascii()
            and all(c.isalnum() or c in "!#$%&'*+-.^_`|~" for c in name)
        )
        if not colon or not token:
            self.fail("must read 'Name: value'", param, ctx)
        if any(ord(c) < 32 or ord(c) == 127 for c in content):
            self.fail(f"the value of {name} holds a control character", param, ctx)
        return name, content


def _group(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class NonEmpty(click.ParamType[str]):
    """A text with something in it: an empty one is mostly a variable that was not set."""

    name = "TEXT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it; an empty one is refused."""
        if not str(value).strip():
            self.fail("is empty (is the variable in it set?)", param, ctx)
        return str(value)


class VariableName(click.ParamType[str]):
    """The name of the variable that holds a key; what may be the key itself is not repeated."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it; what is no variable's name is refused."""
        from kvtui.config.variables import variable_problem

        problem = variable_problem(str(value))
        if problem:
            self.fail(f"{problem}{tr('.')}", param, ctx)
        return str(value)


_seconds = Number(min=0, min_open=True)
_file = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)

endpoint_options = _group(
    click.option(
        "--base-url", type=NonEmpty(), metavar="URL", help="Endpoint, up to and with /v1."
    ),
    click.option(
        "--model",
        type=NonEmpty(),
        metavar="ID",
        help="Model to ask for; without it the server is asked.",
    ),
    click.option(
        "--api-key-env",
        type=VariableName(),
        metavar="NAME",
        help="Variable that holds the key for this endpoint.",
    ),
    click.option(
        "--profile", type=NonEmpty(), metavar="NAME", help="Profile of config.toml to use."
    ),
    click.option(
        "--header",
        "headers",
        multiple=True,
        type=Header(),
        help="Further request header; repeatable.",
    ),
)

request_options = _group(
    click.option("--prompt", metavar="TEXT", help="What to ask."),
    click.option("--prompt-file", type=_file, help="File that holds the prompt."),
    click.option("--system", metavar="TEXT", help="System text."),
    click.option("--messages", "messages_file", type=_file, help="JSON file of chat messages."),
    click.option("--extra-body", type=JsonObject(), help="JSON object merged into the request."),
    click.option("--max-tokens", type=click.IntRange(1), help="Most tokens of the answer [512]."),
    click.option("--temperature", type=Number(0, 2), help="Sampling temperature."),
    click.option("--top-p", type=Number(0, 1), help="Nucleus sampling."),
    click.option("--seed", type=int, help="Seed of the sampling."),
    click.option("--stop", multiple=True, metavar="TEXT", help="Stop sequence; repeatable."),
    click.option(
        "--repeat", type=click.IntRange(1, 10_000), default=1, help="Times to run it [1]."
    ),
    click.option(
        "--same-prompt", is_flag=True, help="Repeat without a unique prefix (prefix caches answer)."
    ),
    click.option(
        "--no-kv-cache", is_flag=True, help="Embedded engine: recompute the prefix at every step."
    ),
    click.option("--timeout", type=_seconds, help="Cap on the whole request, in seconds [none]."),
    click.option("--timeout-connect", type=_seconds, help="Seconds to connect [10]."),
    click.option("--timeout-headers", type=_seconds, help="Seconds to the headers [300]."),
    click.option("--timeout-first-token", type=_seconds, help="Seconds to the first token [300]."),
    click.option("--timeout-idle", type=_seconds, help="Seconds between two data events [60]."),
    click.option(
        "--threads", type=click.IntRange(1, 64), help="Embedded engine: BLAS threads [1]."
    ),
)

memory_options = _group(
    click.option(
        "--gpu",
        metavar="NAME",
        shell_complete=completion.cards,
        help="Card: 24GB, 40GB, 80GB or a real one [24GB].",
    ),
    click.option(
        "--arch",
        metavar="NAME",
        shell_complete=completion.models,
        help="Catalogue model whose memory is shown.",
    ),
    click.option("--config-json", type=_file, help="config.json of the model."),
    click.option("--gguf", type=_file, help="GGUF file of the model; only its header is read."),
    click.option("--kv-dtype", metavar="NAME", help="Precision of the KV cache [the model's]."),
    click.option("--context", type=click.IntRange(1), help="Tokens reserved per sequence."),
    click.option("--concurrency", type=click.IntRange(1), help="Sequences at once [1]."),
)

screen_options = _group(
    click.option("--theme", metavar="NAME", help="Theme of the screen."),
    click.option(
        "--fps", type=click.IntRange(1, 120), help="Frames per second [30]; 10 for slow links."
    ),
    click.option("--tour", is_flag=True, help="Begin with the tour (key F2)."),
    click.option(
        "--presenter", is_flag=True, help="Larger figures; hosts and key names hidden (key P)."
    ),
    click.option(
        "--web", is_flag=True, help="Serve the screen to a browser on this machine (extra web)."
    ),
    click.option(
        "--port", type=click.IntRange(1, 65_535), default=8000, help="Port of --web [8000]."
    ),
    click.option("--lang", metavar="CODE", help="Language of the texts: en, zh [the locale's]."),
)
