"""The prompt form's fields, parsed: what is wrong is one sentence, what is right is kept."""

from __future__ import annotations

import math
from dataclasses import replace

from kvtui.language import tr
from kvtui.ui.state import PromptForm

MAX_REPEATS = 10_000
MAX_TOKENS = 10_000_000


class FormError(ValueError):
    """A field that makes no sense; ``kept`` is the form with the other fields as edited."""

    def __init__(self, field: str, sentence: str, kept: PromptForm) -> None:
        super().__init__(sentence)
        self.field = field
        self.kept = kept


def parse_form(
    form: PromptForm, *, prompt: str, system: str, max_tokens: str, temperature: str, repeats: str
) -> PromptForm:
    """The form with the fields' texts; empty numbers leave the choice to the server.

    Raises:
        FormError: the first field that is wrong.
    """
    kept = replace(form, prompt=prompt, system=system.strip())
    problem: tuple[str, str] | None = None
    try:
        kept = replace(kept, max_tokens=_whole(max_tokens, 1, MAX_TOKENS))
    except ValueError as error:
        problem = ("field-max", tr("max tokens {error}", error=error))
    try:
        kept = replace(kept, temperature=_real(temperature, 0.0, 2.0))
    except ValueError as error:
        problem = problem or ("field-temperature", tr("temperature {error}", error=error))
    try:
        kept = replace(kept, repeats=_whole(repeats, 1, MAX_REPEATS) or 1)
    except ValueError as error:
        problem = problem or ("field-repeats", tr("repeats {error}", error=error))
    if problem is not None:
        raise FormError(*problem, kept)
    return kept


def _whole(text: str, least: int, most: int) -> int | None:
    text = text.strip().replace(",", "").replace("_", "")
    if not text:
        return None
    if not (text.isascii() and text.lstrip("-").isdigit()):
        raise ValueError(tr("must be a whole number, not {text!r}", text=text[:20]))
    if len(text) > 12 or not least <= int(text) <= most:
        raise ValueError(tr("must be from {least:,} to {most:,}", least=least, most=most))
    return int(text)


def _real(text: str, least: float, most: float) -> float | None:
    text = text.strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise ValueError(tr("must be a number, not {text!r}", text=text[:20])) from None
    if not math.isfinite(value) or not least <= value <= most:
        raise ValueError(tr("must be from {least:g} to {most:g}", least=least, most=most))
    return value
