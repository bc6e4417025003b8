"""The models that are known by name (`models.toml`).

A name is found exactly or not at all; what differs only in case, separators, organisation or a
suffix such as -Instruct counts as the same name. An endpoint's model id is matched the same way,
and the match says what it rests on; where it is not sure there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kvtui.language import tr

from .catalogue_rows import to_model
from .errors import AmbiguousNameError, PlanError, UnknownNameError
from .model import Model
from .names import tokens
from .tables import read_table

# Words that name a publisher, a tuning or a packaging, never a geometry.
_MAKERS = ("meta", "nvidia", "c4ai")
_TUNINGS = ("instruct", "chat")  # wherever they stand
# fmt: off
_TAILS = (
    "it", "hf", "base", "pt", "thinking", "latest", "preview", "gguf", "awq", "gptq",
    "autoround", "mlx", "dynamic", "exl2", "exl3", "bnb", "unsloth", "quantized", "tensorrt",
    "onnx", "fp16", "bf16", "fp8", "int8", "int4", "4bit", "8bit", "w8a8", "w4a16", "nvfp4",
    "mxfp4", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_0", "q5_1", "q4_k_m", "q4_k_s", "q4_0",
    "q4_1", "iq4_xs", "iq4_nl", "q3_k_m", "q2_k",
)
# fmt: on
_WEIGHTS = {
    "4bit": "int4",
    "8bit": "int8",
    "q8_0": "q8_0",
    "q4_0": "q4_0",
    "q4_1": "q4_1",
    "q5_0": "q5_0",
    "q5_1": "q5_1",
    "fp16": "fp16",
    "bf16": "bf16",
    "fp8": "fp8",
    "int8": "int8",
    "w8a8": "int8",
    "int4": "int4",
    "w4a16": "int4",
    "awq": "int4",
    "gptq": "int4",
    "nvfp4": "nvfp4",
    "mxfp4": "mxfp4",
}


@dataclass(frozen=True, slots=True)
class Match:
    """An endpoint's model id, recognised.

    Attributes:
        model: the catalogue's row.
        endpoint_id: the id as the endpoint gave it.
        how: what the match rests on, for display.
        weights_dtype: precision of the weights that the id names ("-AWQ", "-FP8"), or None.
    """

    model: Model
    endpoint_id: str
    how: str
    weights_dtype: str | None = None


@cache
def catalogue() -> tuple[Model, ...]:
    """All rows of `models.toml`, in its order.

    Raises:
        PlanError: the file is not what it should be (names row and key).
    """
    return tuple(to_model(row) for row in read_table("models.toml", "model"))


def find(name: str) -> Model:
    """The model of that name.

    Raises:
        AmbiguousNameError: the name fits several rows ("Qwen3").
        UnknownNameError: no row has it; with suggestions.
    """
    exact, stripped = _index()
    wanted = tokens(_last_part(name))
    key, _ = _strip(wanted)
    found = exact.get(wanted) or stripped.get(key)
    if found is None:
        found = next((model for model in catalogue() if key in map(tokens, model.asked_as)), None)
        found = found or _without_active(key)
        if found is None and key:
            fitting = _alike(key)
            if len(fitting) > 1:
                raise AmbiguousNameError("model", name, fitting)
            if fitting:
                raise UnknownNameError(
                    "model", name, fitting, listing=tr("kvtui models lists them")
                )
    if found is None:
        known = [
            known for model in catalogue() for known in (model.id, *model.aliases, *model.asked_as)
        ]
        raise UnknownNameError("model", name, known, listing=tr("kvtui models lists them"))
    return found


def _alike(key: tuple[str, ...]) -> list[str]:
    """Models whose names hold the words in a row, else those that hold them all from the first."""
    named = [(model.id, tokens(model.id)) for model in catalogue()]
    size = len(key)
    in_a_row = [
        name
        for name, words in named
        if any(words[start : start + size] == key for start in range(len(words) - size + 1))
    ]
    return in_a_row or [
        name for name, words in named if words[:1] == key[:1] and set(key) <= set(words)
    ]


def _without_active(key: tuple[str, ...]) -> Model | None:
    """A mixture of experts asked for without its active size: Qwen3-Next-80B for …-80B-A3B."""
    fitting = []
    for model in catalogue():
        words = tokens(model.id)
        rest = words[len(key) :]
        if words[: len(key)] == key and len(rest) == 3 and rest[0] == "a" and rest[2] == "b":
            fitting.append(model)
    return fitting[0] if key and len(fitting) == 1 else None


def match(endpoint_model_id: str) -> Match | None:
    """The row that an endpoint's model id means, or None where that is not sure.

    The id's last path part must be a name of the catalogue, but for case, separators, a maker's
    name before it and tuning or packaging suffixes behind it; nothing else is passed over.
    """
    exact, stripped = _index()
    part = _last_part(endpoint_model_id)
    wanted = tokens(part)
    if not wanted:
        return None
    key, dropped = _strip(wanted)
    found = exact.get(wanted)
    if found is not None:
        dropped = ()
    else:
        found = stripped.get(key)
    if found is None:
        return None
    how = f"{part} is {found.id}" if wanted != tokens(found.id) else f"name {found.id}"
    if dropped:
        how += f" (without {', '.join(dropped)})"
    weights = next((_WEIGHTS[word] for word in dropped if word in _WEIGHTS), None)
    return Match(found, endpoint_model_id, how, weights)


def search(query: str = "") -> tuple[Model, ...]:
    """The models whose names hold all words of the query; all of them without one."""
    words = query.casefold().split()
    return tuple(
        model
        for model in catalogue()
        if all(
            any(
                word in known.casefold()
                for known in (model.id, model.name, *model.aliases, *model.asked_as)
            )
            for word in words
        )
    )


def _last_part(name: str) -> str:
    return name.strip().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def _strip(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words without maker, tuning and packaging, and what was dropped (joined, lower case)."""
    rest = list(words)
    dropped: list[str] = []
    while rest and rest[0] in _MAKERS:
        dropped.append(rest.pop(0))
    for word in _TUNINGS:
        if word in rest[1:]:
            rest.remove(word)
            dropped.append(word)
    while True:
        for packaging in _TAILS:
            tail = list(tokens(packaging))
            if len(rest) > len(tail) and rest[-len(tail) :] == tail:
                del rest[-len(tail) :]
                dropped.append(packaging)
                break
        else:
            break
    return tuple(rest), tuple(dropped)


@cache
def _index() -> tuple[dict[tuple[str, ...], Model], dict[tuple[str, ...], Model]]:
    exact: dict[tuple[str, ...], Model] = {}
    stripped: dict[tuple[str, ...], Model] = {}
    for model in catalogue():
        for name in (model.id, *model.aliases):
            words = tokens(name)
            if exact.setdefault(words, model) is not model:
                raise PlanError(f"models.toml: {name!r} names {model.id} and {exact[words].id}")
    for words, model in exact.items():
        stripped.setdefault(_strip(words)[0], model)
    return exact, stripped
