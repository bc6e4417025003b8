"""The options of ``kvtui bench`` beside the shared ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kvtui.bench.export import PLOTS, SHAPES
from kvtui.commands import completion
from kvtui.commands.options import Number, request_options
from kvtui.commands.runs import RunFile

_Command = TypeVar("_Command", bound=Callable[..., Any])
_OURS = {"--max-tokens", "--repeat", "--messages"}
"""Shared options that a benchmark takes in another form, or not at all."""


class NumberList(click.ParamType[tuple[float, ...]]):
    """Numbers separated by commas."""

    def __init__(self, low: float, *, whole: bool) -> None:
        self.name = "N,N,…"
        self._low = low
        self._whole = whole

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Parse them; what is no number or too small is refused."""
        if isinstance(value, tuple):
            return value
        numbers = []
        for part in str(value).split(","):
            try:
                number = int(part) if self._whole else float(part)
            except ValueError:
                kind = "whole numbers" if self._whole else "numbers"
                self.fail(f"{value!r}: give {kind} separated by commas, such as 1,2,4", param, ctx)
            if not self._low <= number < 1e9:
                self.fail(f"{part.strip()} is out of range (at least {self._low:g})", param, ctx)
            numbers.append(number)
        return tuple(dict.fromkeys(numbers))


def shared_request_options(command: _Command) -> _Command:
    """The shared request options but those that a benchmark has in its own form."""
    already = len(getattr(command, "__click_params__", ()))
    command = request_options(command)
    params: list[click.Parameter] = getattr(command, "__click_params__", [])
    params[already:] = [p for p in params[already:] if not _OURS & set(p.opts)]
    return command


_counts = NumberList(1, whole=True)
_OPTIONS = (
    click.option(
        "--endpoint",
        "endpoints",
        multiple=True,
        metavar="[MODEL@]PLACE",
        help="compare-endpoints: a profile, a URL or embedded; repeatable.",
    ),
    click.option("--concurrency", type=_counts, help="Streams at once, one level each: 1,2,4."),
    click.option(
        "--rate", type=NumberList(0.001, whole=False), help="Requests a second, one level each."
    ),
    click.option(
        "--arrival",
        type=click.Choice(["constant", "poisson"]),
        help="How requests come at a rate [constant].",
    ),
    click.option("--requests", type=click.IntRange(1, 1_000_000), help="Requests of a level."),
    click.option("--duration", type=Number(0.1, 1e6), help="Seconds of a level, for --requests."),
    click.option("--prompt-tokens", type=_counts, help="Synthetic prompts of these lengths."),
    click.option("--max-tokens", type=_counts, help="Tokens of the answers, one level each."),
    click.option("--repeat", type=click.IntRange(1, 10_000), help="Times each level is run."),
    click.option("--warmup", type=click.IntRange(0, 10_000), help="Requests before a level [1]."),
    click.option("--slo", metavar="LIMITS", help="For the goodput: 'ttft_ms<500,tpot_ms<50'."),
    click.option(
        "--search",
        is_flag=True,
        help="sweep: find the highest --concurrency, or --rate from the least to the largest, that"
        " keeps --slo.",
    ),
    click.option(
        "--ignore-eos/--no-ignore-eos",
        default=None,
        help="Go on past the model's end [where the server has it].",
    ),
    click.option(
        "--certainty",
        type=Number(0.001, 0.5),
        help="End a level once its medians are known to this fraction (0.05: 5 %).",
    ),
    click.option("--max-time", type=Number(0.1, 1e7), help="End the run after these seconds."),
    click.option(
        "--arch",
        metavar="NAME",
        shell_complete=completion.models,
        help="Model behind the endpoint, for what fits.",
    ),
    click.option("--config-json", metavar="FILE", help="The same from a Hugging Face config.json."),
    click.option("--gguf", metavar="FILE", help="The same from a GGUF file."),
    click.option(
        "--gpu",
        metavar="NAME",
        shell_complete=completion.cards,
        help="The card behind it [the profile's].",
    ),
    click.option("--engine", metavar="NAME", help="Whose rules: vllm, llamacpp, sglang [none]."),
    click.option("--kv-dtype", metavar="NAME", help="Precision of its cache [the model's]."),
    click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File of the record [in the data folder].",
    ),
    click.option("--no-text", is_flag=True, help="Record no answer's text, only its stamps."),
    click.option(
        "--resume",
        type=RunFile(),
        help="Go on with a half-done run (a file, or a name of kvtui runs).",
    ),
    click.option(
        "--open",
        "opened",
        type=RunFile(),
        help="Print a run's results again; nothing is sent.",
    ),
    click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
    click.option(
        "--format",
        "shape",
        type=click.Choice(SHAPES),
        help="Form of the results [text]; csv has a line a request.",
    ),
    click.option("--plot", type=click.Choice(PLOTS), help="Which plot with --format svg."),
    click.option("--list", "listed", is_flag=True, help="The presets and what each shows."),
)


def bench_options(command: _Command) -> _Command:
    """All of them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
