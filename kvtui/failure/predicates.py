"""The conditions that a text in ``advice.toml`` can have, by name.

A condition is written ``name`` or ``name=argument``; ``!`` in front turns it around. All conditions
of a text must hold. Placeholders need no condition of their own: a text whose facts are unknown is
passed over anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kvtui.failure.case import Case
from kvtui.failure.facts import context_numbers, largest_allowed
from kvtui.failure.keyform import LOGIN_TOKEN

Predicate = Callable[[Case, str], bool]

_LIVELY_S = 2.0
"""A stream whose last event is no older is not silent."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IN_PROMPT = re.compile(
    r"(\d[\d,_]{0,11})(?: tokens)? (?:in|from|of) (?:the |your )?(?:messages?|prompt|input)"
)


def _provider(case: Case, names: str) -> bool:
    return case.provider is not None and case.provider.name in names.split("|")


def _says(case: Case, pattern: str) -> bool:
    return re.search(pattern, case.error.words) is not None


def _cause(case: Case, pattern: str) -> bool:
    return any(re.search(pattern, link.text[:2_000].lower()) for link in case.evidence.exceptions)


def _other_owner(case: Case, _: str) -> bool:
    """The key has the form of another provider's."""
    owner = case.evidence.key.belongs_to
    if owner is None or case.provider is None or not case.provider.hosts:
        return False
    return owner != case.provider.label


def _prompt_alone(case: Case) -> bool:
    """The prompt fills the context without any answer: a smaller answer cannot help."""
    need, limit = context_numbers(case)
    if need is None or limit is None:
        return False
    stated = _IN_PROMPT.search(case.error.message.lower()[:1_000])
    if stated is not None:
        return int(re.sub(r"[,_]", "", stated[1])) >= limit
    asked = case.evidence.max_tokens
    return asked is not None and need - asked >= limit


def _over_upper(case: Case) -> bool:
    """The max_tokens that was asked for is more than the most that the message names."""
    asked, upper = case.evidence.max_tokens, largest_allowed(case)
    return asked is not None and upper is not None and asked > upper


PREDICATES: dict[str, Predicate] = {
    "local": lambda case, _: case.local,
    "page": lambda case, _: case.page,
    "json": lambda case, _: case.error.is_error,
    "embedded": lambda case, _: case.evidence.embedded,
    "key_sent": lambda case, _: case.evidence.key.origin is not None,
    "key_variable": lambda case, _: _VARIABLE.fullmatch(case.evidence.key.origin or "") is not None,
    "login_token": lambda case, _: case.evidence.key.kind == LOGIN_TOKEN,
    "key_of_other": _other_owner,
    "partial": lambda case, _: case.evidence.content_chars + case.evidence.reasoning_chars > 0,
    "https": lambda case, _: (case.evidence.url or case.evidence.base_url).startswith("https:"),
    "capped": lambda case, _: case.evidence.capped,
    "lively": lambda case, _: (
        case.evidence.capped
        and case.evidence.waiting_for in ("data", "end")
        and (case.evidence.quiet_s or 0.0) < _LIVELY_S
    ),
    "odd_status": lambda case, _: (
        not 200 <= (case.evidence.status or 200) < 600 or case.evidence.status == 0
    ),
    "cut_json": lambda case, _: case.evidence.bad_tail and not case.evidence.streamed,
    "one_bad": lambda case, _: case.evidence.bad_events == 1,
    "key_command": lambda case, _: (case.evidence.key.wanted_variable or "").startswith(
        "api_key_command"
    ),
    "in_stream": lambda case, _: case.evidence.sse_error is not None,
    "hidden_reasoning": lambda case, _: case.evidence.reasoning_chars == 0,
    "empty": lambda case, _: case.evidence.content_chars == 0,
    "prompt_alone": lambda case, _: _prompt_alone(case),
    "over_upper": lambda case, _: _over_upper(case),
    "before_limit": lambda case, _: (
        case.evidence.max_tokens is not None
        and case.evidence.completion_tokens is not None
        and case.evidence.completion_tokens < case.evidence.max_tokens
    ),
    "max_tokens_at": lambda case, _: (
        case.evidence.max_tokens is not None
        and case.evidence.max_tokens == case.evidence.completion_tokens
    ),
    "provider": _provider,
    "status": lambda case, numbers: str(case.status) in numbers.split("|"),
    "phase": lambda case, phases: case.evidence.phase in phases.split("|"),
    "waiting": lambda case, names: (case.evidence.waiting_for or "") in names.split("|"),
    "kind": lambda case, kinds: (case.kind or "") in kinds.split("|"),
    "port": lambda case, port: str(case.url.port or "") == port,
    "finish": lambda case, names: (case.evidence.finish_reason or "").lower() in names.split("|"),
    "param": lambda case, names: (case.error.param or "").lower() in names.split("|"),
    "says": _says,
    "cause": _cause,
    "group": lambda case, name: case.said(name),
}

_NEEDS_ARGUMENT = frozenset(
    (
        "provider",
        "status",
        "phase",
        "waiting",
        "kind",
        "port",
        "finish",
        "param",
        "says",
        "cause",
        "group",
    )
)


def parse_condition(text: str) -> Callable[[Case], bool]:
    """A condition as a function of the case.

    Raises:
        ValueError: There is no such predicate, or its argument is missing or not wanted.
    """
    wanted = not text.startswith("!")
    name, equals, argument = text.lstrip("!").partition("=")
    if name not in PREDICATES:
        raise ValueError(f"unknown condition {text!r}")
    if bool(equals) != (name in _NEEDS_ARGUMENT):
        raise ValueError(f"condition {text!r} {'needs an' if not equals else 'takes no'} argument")
    predicate = PREDICATES[name]
    return lambda case: predicate(case, argument) is wanted
