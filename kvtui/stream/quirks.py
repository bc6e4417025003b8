"""What one endpoint takes, refuses and is: learnt on the way, said when it changes a request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kvtui.language import tr


@dataclass(frozen=True, slots=True)
class Quirks:
    """How requests to one endpoint are made. The defaults suit a server nothing is known of."""

    stream_options: bool = True
    max_completion_tokens: bool = False
    continuous_usage: bool = False
    """A server recognised to count tokens on every chunk (vLLM, SGLang, the embedded engine)."""
    llamacpp: bool = False
    base_url: str | None = None
    """The base URL that answers, where the one given does not."""
    contexts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Model -> tokens that one sequence may have, where the server says so."""


REFUSALS: Mapping[str, tuple[bool, str]] = MappingProxyType(
    {
        "stream_options": (False, "stream_options is left out"),
        "continuous_usage": (False, "continuous_usage_stats is left out"),
        "max_completion_tokens": (True, "max_completion_tokens is sent for max_tokens"),
    }
)
"""What a server may refuse: the field's value after that, and what is done then."""


def refused(before: Quirks, after: Quirks) -> tuple[str, ...]:
    """The names in ``REFUSALS`` that a request taught."""
    return tuple(
        name
        for name, (value, _) in REFUSALS.items()
        if getattr(after, name) is value and getattr(before, name) is not value
    )


def settled(quirks: Quirks, refused: Iterable[str]) -> Quirks:
    """``quirks`` once a request with everything in it showed what is refused, and what is not."""
    names = set(refused)
    usual = Quirks()
    values: dict[str, Any] = {
        name: value if name in names else getattr(usual, name)
        for name, (value, _) in REFUSALS.items()
        if name != "continuous_usage"  # sent only to servers that are known to take it
    }
    return replace(quirks, **values)


def with_refusals(quirks: Quirks, names: Iterable[str]) -> tuple[Quirks, str]:
    """``quirks`` with what was refused earlier, and the sentence that says so."""
    known = [name for name in REFUSALS if name in set(names)]
    if not known:
        return quirks, ""
    changes: dict[str, Any] = {name: REFUSALS[name][0] for name in known}
    done = tr(" and ").join(REFUSALS[name][1] for name in known)
    return replace(quirks, **changes), tr("As this endpoint wanted it before: {done}.", done=done)


def recognise(owners: Iterable[str], server: str | None = None) -> Quirks:
    """What the ``owned_by`` of a model list or a ``Server`` header tells."""
    names = {owner.strip().lower() for owner in owners}
    llamacpp = "llamacpp" in names or (server or "").strip().lower().startswith("llama.cpp")
    return Quirks(continuous_usage=bool(names & {"vllm", "sglang", "kvtui"}), llamacpp=llamacpp)


def after_refusal(quirks: Quirks, status: int | None, body: str) -> tuple[Quirks, str] | None:
    """What to leave out or rename after a refusal, and the sentence that says so; None: nothing."""
    if status not in (400, 404, 415, 422):
        return None
    words = body.lower()
    refused = re.search(
        r"unsupported|not supported|unknown|unrecognized|unexpected|not permitted|not allowed"
        r"|extra_forbidden|extra inputs|invalid|not recognized|does not support|additional propert",
        words,
    )
    if quirks.continuous_usage and "continuous_usage_stats" in words:
        return replace(quirks, continuous_usage=False), (
            tr("The server refused continuous_usage_stats: asked again without it.")
        )
    if quirks.llamacpp and re.search("return_progress|timings_per_token", words):
        return replace(quirks, llamacpp=False), (
            tr("The server refused return_progress or timings_per_token: asked again without them.")
        )
    if quirks.stream_options and refused and re.search("stream_options|include_usage", words):
        return replace(quirks, stream_options=False, continuous_usage=False), (
            tr(
                "The server refused stream_options: asked again without it, so it may not count"
                " tokens."
            )
        )
    if not quirks.max_completion_tokens and "max_completion_tokens" in words:
        return replace(quirks, max_completion_tokens=True), (
            tr("The server refused max_tokens: asked again with max_completion_tokens.")
        )
    return None
