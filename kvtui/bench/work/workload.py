"""What a benchmark asks: stages of requests, validated, from a preset, flags or a TOML file."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from kvtui.bench.requests.targets import Target
from kvtui.bench.work.room import Room
from kvtui.bench.work.slo import SloError, parse_slo
from kvtui.language import tr
from kvtui.reading import read_at_most
from kvtui.text import did_you_mean, one_line

Arrival = Literal["constant", "poisson"]
MOST_CONCURRENCY = 4096
MOST_REQUESTS = 1_000_000
MOST_TOKENS = 4_000_000
_MOST_STAGES = 1000
_MOST_FILE = 16 << 20
_CHARACTERS = 4
"""Characters of English a token, for prompts whose tokens nobody has counted yet."""


class WorkloadError(ValueError):
    """A workload that cannot be run; the message names the place and what it should be."""


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Requests of one kind at one level of load: what one row of the results stands for."""

    label: str
    texts: tuple[str, ...] = ()
    """Prompts, taken in turn; empty: synthetic ones of ``prompt_tokens``."""
    prompt_tokens: int | None = None
    max_tokens: int = 128
    concurrency: int = 1
    """Requests in flight; with a rate, the most of them (0: no limit)."""
    rate: float | None = None
    """Requests a second, sent whether or not earlier ones have ended."""
    arrival: Arrival = "constant"
    requests: int | None = 10
    duration_s: float | None = None
    warmup: int = 1
    """Requests before the measured ones, left out of every figure."""
    series: str = ""
    """Stages of one series send the same prompts; unique within it unless ``same_prompt``."""
    same_prompt: bool = False
    kv_cache: bool | None = None
    keep_reads: bool = False
    """Keep when each read came, for figures over the position in the answer."""
    target: int = 0
    """Which of the workload's targets answers it."""

    @property
    def tokens(self) -> int:
        """Tokens of one sequence; of a prompt that is no synthetic one by its characters."""
        longest = max((len(text) for text in self.texts), default=0)
        return (self.prompt_tokens or longest // _CHARACTERS) + self.max_tokens


class Goal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a search for the highest level of load looks for."""

    share: float = 0.95
    """Part of the requests that must keep them."""
    batches: int = 5
    """Stages of each level, one after the other: as many are run as it takes to decide."""


class Workload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole run: its stages in order, and what holds for all of them."""

    preset: str
    stages: tuple[Stage, ...]
    seed: int = 0
    temperature: float = 0.0
    ignore_eos: bool | None = None
    """None: where the server is known to have it."""
    slo: str = ""
    certainty: float | None = None
    """End a stage once the median TTFT and TPOT are known to this fraction (95 %)."""
    most_s: float | None = None
    """End the run after this time, keeping what is done."""
    interleave: bool = False
    """Take the stages in turn, one request of each, so that drift touches all alike."""
    targets: tuple[Target, ...] = ()
    """The endpoints in their order, where there are several."""
    search: Goal | None = None
    """Look for the highest level that keeps the limits: most stages are never run."""
    rooms: tuple[Room, ...] = ()
    """What the memory model says fits, where the model and the card are known."""
    unfit: str = ""
    """Why it cannot be run: what it wants is not there."""

    def check(self) -> Workload:
        """Itself, where it can be run.

        Raises:
            WorkloadError: It cannot.
        """
        if self.unfit:
            raise WorkloadError(self.unfit)
        if not self.stages:
            raise WorkloadError(tr("There is nothing to run."))
        if len(self.stages) > _MOST_STAGES:
            raise WorkloadError(
                tr(
                    "{n} levels are too many; {most} at most.",
                    n=len(self.stages),
                    most=_MOST_STAGES,
                )
            )
        for stage in self.stages:
            _check(stage)
        _between("temperature", self.temperature, 0, 2)
        if self.certainty is not None and not 0.001 <= self.certainty <= 0.5:
            raise WorkloadError(
                tr("certainty is a fraction from 0.001 to 0.5 (0.05 is five percent).")
            )
        try:
            parse_slo(self.slo)
        except SloError as error:
            raise WorkloadError(str(error)) from None
        return self


def _check(stage: Stage) -> None:
    _between("concurrency", stage.concurrency, 0 if stage.rate else 1, MOST_CONCURRENCY)
    _between("max_tokens", stage.max_tokens, 1, MOST_TOKENS)
    _between("warmup", stage.warmup, 0, MOST_REQUESTS)
    if stage.requests is None and stage.duration_s is None:
        raise WorkloadError(
            tr("{label}: neither requests nor a duration ends it.", label=stage.label)
        )
    if stage.requests is not None:
        _between("requests", stage.requests, 1, MOST_REQUESTS)
    if stage.duration_s is not None:
        _between("duration", stage.duration_s, 0.01, 1e6)
    if stage.rate is not None:
        _between("rate", stage.rate, 1e-4, 1e5)
    if not stage.texts:
        if stage.prompt_tokens is None:
            raise WorkloadError(tr("{label}: there is no prompt.", label=stage.label))
        _between("prompt_tokens", stage.prompt_tokens, 1, MOST_TOKENS)
    elif not all(text.strip() for text in stage.texts):
        raise WorkloadError(tr("{label}: a prompt is empty.", label=stage.label))


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise WorkloadError(
            tr(
                "{name} must lie between {low:g} and {high:g}, not {value:g}.",
                name=name,
                low=low,
                high=high,
                value=value,
            )
        )


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workload as a person writes it: lists whose combinations become stages."""

    name: str = "own"
    prompts: tuple[str, ...] = ()
    prompt_file: str | None = None
    """One prompt, the whole file; relative to the TOML file."""
    prompt_list: str | None = None
    """A file with a prompt a line."""
    template: str | None = None
    """A text with ``{name}`` for each of ``values``; every combination is a prompt."""
    values: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    prompt_tokens: tuple[int, ...] = ()
    """Synthetic prompts of these lengths."""
    max_tokens: tuple[int, ...] = (128,)
    concurrency: tuple[int, ...] = (1,)
    rate: tuple[float, ...] = ()
    arrival: Arrival = "constant"
    requests: int | None = None
    duration: float | None = None
    repeat: int = 1
    """Times the whole list of levels is run; the results of equal levels are pooled."""
    warmup: int = 1
    same_prompt: bool = False
    no_kv_cache: bool = False
    seed: int = 0
    temperature: float = 0.0
    ignore_eos: bool | None = None
    slo: str = ""
    certainty: float | None = None
    most_seconds: float | None = None


def read_spec(path: Path) -> Spec:
    """A workload file.

    Raises:
        WorkloadError: It cannot be read, or something in it is unknown or of the wrong kind.
    """
    try:
        table = tomllib.loads(_read(path))
    except tomllib.TOMLDecodeError as error:
        raise WorkloadError(
            tr("{path} is not valid TOML: {error}.", path=path, error=one_line(str(error)))
        ) from None
    names = Spec.__struct_fields__
    for key in table:
        if key not in names:
            raise WorkloadError(
                tr(
                    "{path}: {key!r} is no key of a workload{hint}.",
                    path=path,
                    key=key,
                    hint=did_you_mean(key, names),
                )
            )
    for key in ("max_tokens", "concurrency", "prompt_tokens", "rate", "prompts"):
        if key in table and not isinstance(table[key], list):
            table[key] = [table[key]]
    try:
        spec = msgspec.convert(table, Spec)
    except msgspec.ValidationError as error:
        raise WorkloadError(f"{path}: {one_line(str(error))}.") from None
    if sum(map(bool, (spec.prompts, spec.prompt_file, spec.prompt_list, spec.template))) > 1:
        raise WorkloadError(
            tr("{path}: prompts, prompt_file, prompt_list and template: use one.", path=path)
        )
    return msgspec.structs.replace(spec, prompts=_prompts(spec, path))


def _prompts(spec: Spec, path: Path) -> tuple[str, ...]:
    if spec.prompt_file:
        return (_read(path.parent / spec.prompt_file).strip(),)
    if spec.prompt_list:
        lines = _read(path.parent / spec.prompt_list).splitlines()
        return tuple(line for line in lines if line.strip())
    if spec.template is None:
        return spec.prompts
    names = list(spec.values)
    texts = []
    for combination in itertools.product(*spec.values.values()):
        text = spec.template
        for name, value in zip(names, combination, strict=True):
            text = text.replace(f"{{{name}}}", value)
        texts.append(text)
    return tuple(texts)


def _read(path: Path) -> str:
    try:
        data = read_at_most(path, _MOST_FILE)
        if len(data) > _MOST_FILE:
            raise WorkloadError(
                tr("{path} is larger than {most} MiB.", path=path, most=_MOST_FILE >> 20)
            )
        return data.decode("utf-8-sig")
    except OSError as error:
        raise WorkloadError(
            tr("{path} cannot be read: {error}.", path=path, error=error.strerror or error)
        ) from None
    except UnicodeDecodeError as error:
        raise WorkloadError(
            tr("{path} is not UTF-8 text (byte {start}).", path=path, start=error.start)
        ) from None


def expand(spec: Spec, preset: str, usual_prompt: str = "") -> Workload:
    """The stages of a spec: prompt length × output length × level, ``repeat`` times.

    Raises:
        WorkloadError: It cannot be run.
    """
    prompts: Sequence[int | None] = spec.prompt_tokens or (None,)
    texts = () if spec.prompt_tokens else spec.prompts or ((usual_prompt,) if usual_prompt else ())
    levels: list[tuple[int, float | None]] = [(c, None) for c in spec.concurrency]
    if spec.rate:
        most = 0 if spec.concurrency == (1,) else max(spec.concurrency)
        levels = [(most, rate) for rate in spec.rate]
    stages = []
    for prompt, output, (concurrency, rate) in itertools.product(prompts, spec.max_tokens, levels):
        stages.append(
            Stage(
                label=_label(prompt, output, concurrency, rate),
                texts=tuple(texts),
                prompt_tokens=prompt,
                max_tokens=output,
                concurrency=concurrency,
                rate=rate,
                arrival=spec.arrival,
                requests=_requests(spec, concurrency, rate),
                duration_s=spec.duration,
                warmup=spec.warmup,
                series=f"{prompt or 'own'}/{output}/{concurrency}/{rate or ''}",
                same_prompt=spec.same_prompt,
                kv_cache=False if spec.no_kv_cache else None,
            )
        )
    repeated = [
        msgspec.structs.replace(stage, series=f"{stage.series}/{turn}")
        for turn in range(max(1, spec.repeat))
        for stage in stages
    ]
    return Workload(
        preset=preset,
        stages=tuple(repeated),
        seed=spec.seed,
        temperature=spec.temperature,
        ignore_eos=spec.ignore_eos,
        slo=spec.slo,
        certainty=spec.certainty,
        most_s=spec.most_seconds,
    ).check()


def _requests(spec: Spec, concurrency: int, rate: float | None) -> int | None:
    """How many: as said, else enough that the level runs steadily for a while."""
    if spec.requests is not None or spec.duration is not None:
        return spec.requests
    return 20 if rate else max(10, 4 * concurrency)


def _label(prompt: int | None, output: int, concurrency: int, rate: float | None) -> str:
    load = f"{rate:g}/s" if rate else f"c={concurrency}"
    return f"{f'{prompt}→' if prompt else ''}{output} tokens, {load}"


def as_table(workload: Workload) -> dict[str, Any]:
    """A workload as plain values, for a record."""
    table = msgspec.to_builtins(workload)
    assert isinstance(table, dict)
    return table


def from_table(table: Any) -> Workload:
    """A workload from a record.

    Raises:
        WorkloadError: It is none.
    """
    try:
        return msgspec.convert(table, Workload).check()
    except msgspec.ValidationError as error:
        raise WorkloadError(
            tr("The record's workload cannot be read: {error}.", error=error)
        ) from None
