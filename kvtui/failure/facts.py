"""The facts that a sentence or a fix can name, by the name of their placeholder.

Each fact is a small function of the case that returns plain text, or None where it is unknown;
a text of ``advice.toml`` that names an unknown fact is passed over for the next one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit, urlunsplit

from kvtui.failure.case import Case
from kvtui.failure.errorobject import page_title, whole
from kvtui.failure.keyform import problem_shown
from kvtui.failure.retry import retry_after
from kvtui.failure.transport import cause_text
from kvtui.failure.urlform import mended, path_candidates, url_problem
from kvtui.language import tr
from kvtui.text import did_you_mean, one_line, redact

_QUOTED = 220
_NAME = 120


def _key_problem(problem: str | None) -> str | None:
    said = _text(problem)
    return None if said is None else problem_shown(said)


def _text(value: str | None, limit: int = _NAME) -> str | None:
    """Outside text on one line, sanitised, without secrets, cut; None for nothing."""
    if not value or not value.strip():
        return None
    return one_line(redact(value[: 8 * limit]), limit)


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _seconds(value: float | None) -> str | None:
    """``0.5 s``, ``20 s``, ``10 min``, ``2 h``."""
    if value is None:
        return None
    if value < 120:
        return f"{value:.3g} s"
    minutes = value / 60
    return f"{minutes:.3g} min" if minutes < 120 else f"{minutes / 60:.3g} h"


def _host(case: Case) -> str:
    """The host with the port where it is named, as one reads it in the URL."""
    return _text(case.url.netloc.rpartition("@")[2] or case.evidence.host) or "the server"


def _proxy(case: Case) -> str | None:
    """The proxy's host and port, without its scheme and credentials."""
    proxy = case.evidence.proxy
    if not proxy:
        return None
    return _text(proxy.partition("://")[2].rpartition("@")[2].rstrip("/") or proxy)


def _answered(case: Case) -> str | None:
    """``404 with a web page``: the status and what the body was."""
    status = case.evidence.status
    if status is None:
        return None
    if case.page:
        return f"{status} with a web page"
    return f"{status} with an empty body" if not (case.evidence.body or "").strip() else str(status)


_N = r"(\d[\d,_]{0,11})"
_LIMITS = tuple(
    re.compile(pattern.replace("N", _N))
    for pattern in (
        r"maximum (?:context|sequence|input|prompt|model) length\D{0,20}N",
        r"N maximum context length",
        r"context (?:length|window|size|limit)\D{0,40}?\+?\D{0,3}N(?: tokens?\)|\s*tokens?\b|\.|$)",
        r"(?:>|<=|exceeds?(?: the)?)\s*(?:limit of\s*)?N",
        r"maximum (?:number of (?:input )?tokens allowed|of|is)\D{0,10}N",
        r"(?:should|must) be \[\s*\d+\s*,\s*N\s*\]",
        r"(?:token )?limit(?: of| is|:)?\s*N",
        r"(?:at most|up to|only|max_model_len\D{0,10})\s*N",
    )
)
_NEEDS = tuple(
    re.compile(pattern.replace("N", _N))
    for pattern in (
        r"total of (?:at least )?N",
        r"resulted in N",
        r"requested (?:a total of )?N tokens",
        r"(?:input|request|prompt|messages?|count) \(N",
        r"(?:contains|has|have|is|was|of)(?: at least)? N (?:input )?tokens",
        r"N (?:input |prompt )?tokens? (?:>|exceeds?|is longer|are longer|were)",
        r"prompt contains N",
        r"too long: N",
        r"too large: N",
        r"given:? N",
        r"length of N",
    )
)
_SUM = re.compile(r"(\d{1,9}) \+ (\d{1,9}) > (\d{1,9})")
_UPPER = re.compile(
    r"(?:<=|at most|up to|maximum(?: of| is)?|\[\s*\d+\s*,|range\D{0,40}\d+\s*[-,~])\s*(\d[\d,_]*)"
)


def _count(text: str) -> int:
    return int(re.sub(r"[,_]", "", text))


def context_numbers(case: Case) -> tuple[int | None, int | None]:
    """Tokens needed and tokens allowed, out of the error object's fields or its text."""
    data = case.error.data
    need, limit = whole(data.get("n_prompt_tokens")), whole(data.get("n_ctx"))
    if need is not None and limit is not None:
        return need, limit
    text = case.error.message.lower()[:1_000]
    added = _SUM.search(text)
    if added:
        return _count(added[1]) + _count(added[2]), _count(added[3])
    limits = (match for pattern in _LIMITS if (match := pattern.search(text)))
    limit = next((_count(match[1]) for match in limits), None)
    needs = (_count(match[1]) for pattern in _NEEDS if (match := pattern.search(text)))
    return next((need for need in needs if limit is None or need > limit), None), limit


def _need(case: Case) -> str | None:
    need, limit = context_numbers(case)
    return _number(need if limit is not None else None)


def _limit(case: Case) -> str | None:
    return _number(context_numbers(case)[1])


def largest_allowed(case: Case) -> int | None:
    """The largest value a parameter may have, where the text says it."""
    match = _UPPER.search(case.error.message.lower()[:1_000])
    return _count(match[1]) if match else None


def _param(case: Case) -> str | None:
    """The parameter that was refused, from ``param`` or the text's quotes."""
    if case.error.param:
        return _text(case.error.param.removeprefix("body."), 60)
    match = re.search(
        r"(?:parameter|argument|value|field|at #/|loc'?: '?body\.|^body\.)\W{0,3}"
        r"([A-Za-z_][\w.]{1,40})",
        case.error.message[:500],
    )
    return _text(match[1], 60) if match else None


def _model(case: Case) -> str | None:
    """The model asked for; else the one the message quotes."""
    if case.evidence.model.strip():
        return _text(case.evidence.model)
    match = re.search(r"model\W{1,3}([\w./:@-]{1,100})", case.error.message[:500])
    return _text(match[1].strip(".:")) if match else None


def _nearest_model(case: Case) -> str | None:
    """The model on offer that is spelt most like the one asked for."""
    hint = did_you_mean(case.evidence.model, case.evidence.models_offered)
    return _text(hint.partition("did you mean ")[2].rpartition("?")[0]) if hint else None


def _models(case: Case) -> str | None:
    offered = case.evidence.models_offered
    named = list(offered[:6]) or re.findall(r"[\w./:@-]{1,100}", _aliases(case.error.message))[:6]
    if not named:
        return None
    more = f" and {len(offered) - 6} more" if len(offered) > 6 else ""
    return _text(", ".join(named) + more, _QUOTED)


def _aliases(message: str) -> str:
    """The list that vLLM gives after ``Valid aliases:``."""
    return message.partition("Valid aliases:")[2][:600].replace(". ", " ").rstrip(". ")


def _categories(case: Case) -> str | None:
    """The filter's categories that were hit, from Azure's results or OpenRouter's reasons."""
    named = list(case.evidence.filter_categories)
    data = case.error.data
    inner = data.get("innererror")
    for holder in (data, inner if isinstance(inner, dict) else {}):
        for key in ("content_filter_result", "content_filter_results"):
            results = holder.get(key)
            if isinstance(results, dict):
                named += [str(name) for name, result in results.items() if _filtered(result)]
    metadata = data.get("metadata")
    reasons = metadata.get("reasons") if isinstance(metadata, dict) else None
    if isinstance(reasons, list):
        named += [reason for reason in reasons if isinstance(reason, str)]
    return _text(", ".join(dict.fromkeys(named[:8])), _QUOTED)


def _filtered(result: object) -> bool:
    return isinstance(result, dict) and (
        result.get("filtered") is True or result.get("detected") is True
    )


def _location(case: Case) -> str | None:
    return _text(case.evidence.headers.get("location"), 200)


def _redirect_base(case: Case) -> str | None:
    """The base URL with the scheme and host of the redirect's target, where they differ."""
    location = case.evidence.headers.get("location", "").strip()
    base = case.evidence.base_url
    try:
        target, own = urlsplit(location), urlsplit(base)
    except ValueError:
        return None
    if not target.netloc or not own.netloc or (target.scheme, target.netloc) == own[:2]:
        return None
    return _text(urlunsplit(own._replace(scheme=target.scheme, netloc=target.netloc)), 200)


def _schemed(scheme: str) -> Callable[[Case], str | None]:
    def fact(case: Case) -> str | None:
        base = case.evidence.base_url or case.evidence.url
        other = {"http": "https://", "https": "http://"}[scheme]
        return _text(scheme + base[len(other) - 3 :], 200) if base.startswith(other) else None

    return fact


def _suggested_base(case: Case) -> str | None:
    """A base URL that may be right, though nobody tried it; None where one is known to be."""
    if case.evidence.base_url_answers:
        return None
    base = case.evidence.base_url or case.evidence.url
    return _text(next(iter(path_candidates(base)), None), 200)


def _afforded(case: Case) -> str | None:
    """OpenRouter's ``can only afford 1234``."""
    match = re.search(r"can only afford (\d{1,9})", case.error.words)
    return match[1] if match else None


def _others(names: Iterable[str]) -> str | None:
    return _text(tr(" and ").join(names))


def _waiting(case: Case) -> str | None:
    names = {
        "connect": "the connection",
        "tls": "the TLS handshake",
        "headers": "response headers",
        "first_token": "the first token",
        "data": "the next data event",
        "end": "the end of the answer",
    }
    return names.get(case.evidence.waiting_for or "")


_BYTES = re.compile(r"\bb(?:'([^']{1,200})'|\"([^\"]{1,200})\")")


def _first_bytes(case: Case) -> str | None:
    """The beginning of an answer that is no HTTP, as the parser quotes it."""
    for link in reversed(case.evidence.exceptions):
        if (match := _BYTES.search(link.text)) is not None:
            return _text(match[1] or match[2], 60)
    return None


def _reasoning_tokens(case: Case) -> str | None:
    """Tokens that went into reasoning when nothing else came: all that were counted."""
    counts = (case.evidence.completion_tokens, case.evidence.reasoning_tokens)
    return _number(max((count for count in counts if count), default=None))


FACTS: dict[str, Callable[[Case], str | None]] = {
    "affordable": _afforded,
    "answered": _answered,
    "answer_body": lambda case: _text(case.evidence.body, _QUOTED),
    "bad_event": lambda case: _text(case.evidence.bad_event, 60),
    "bad_events": lambda case: _number(case.evidence.bad_events or None),
    "base_url": lambda case: _text(case.evidence.base_url or case.evidence.url, 200),
    "base_url_answers": lambda case: _text(case.evidence.base_url_answers, 200),
    "base_url_mended": lambda case: _text(mended(case.evidence.base_url), 200),
    "base_url_problem": lambda case: url_problem(case.evidence.base_url),
    "base_url_suggested": _suggested_base,
    "billing_url": lambda case: case.provider.billing_url if case.provider else None,
    "categories": _categories,
    "cause": lambda case: _text(cause_text(case.evidence.exceptions), _QUOTED),
    "code": lambda case: _text(case.error.code, 60),
    "completion_tokens": lambda case: _number(case.evidence.completion_tokens),
    "content_chars": lambda case: _number(case.evidence.content_chars),
    "context_length": lambda case: _number(case.evidence.context_length),
    "first_bytes": _first_bytes,
    "finish_reason": lambda case: _text(case.evidence.finish_reason, 60),
    "host": _host,
    "hostname": lambda case: _text(case.host) or "the server",
    "http_base_url": _schemed("http"),
    "https_base_url": _schemed("https"),
    "key_belongs_to": lambda case: case.evidence.key.belongs_to,
    "key_length": lambda case: _number(case.evidence.key.length or None),
    "key_origin": lambda case: _text(case.evidence.key.origin),
    "key_problem": lambda case: _key_problem(case.evidence.key.problem),
    "keys_url": lambda case: case.provider.keys_url if case.provider else None,
    "limit": _limit,
    "location": _location,
    "max_tokens": lambda case: _number(case.evidence.max_tokens),
    "method": lambda case: _text(case.evidence.method, 10) or "POST",
    "model": _model,
    "models": _models,
    "nearest_model": _nearest_model,
    "need": _need,
    "other_variables": lambda case: _others(case.evidence.key.other_variables),
    "page_title": lambda case: _text(page_title(case.evidence.body or ""), 80),
    "param": _param,
    "prompt_tokens": lambda case: _number(case.evidence.prompt_tokens),
    "provider": lambda case: case.provider.label if case.provider else None,
    "provider_base_url": lambda case: case.provider.base_url if case.provider else None,
    "proxy": _proxy,
    "proxy_variable": lambda case: f"{case.url.scheme.upper() or 'HTTPS'}_PROXY",
    "proxy_from": lambda case: _text(case.evidence.proxy_from),
    "proxy_unused": lambda case: _text(case.evidence.proxy_unused),
    "proxy_url": lambda case: _text(case.evidence.proxy),
    "reasoning_tokens": _reasoning_tokens,
    "redirect_base": _redirect_base,
    "refusal": lambda case: _text(case.evidence.refusal, _QUOTED),
    "retry_after": lambda case: _seconds(retry_after(case.evidence.headers, case.error)),
    "server_says": lambda case: _text(case.error.message, _QUOTED),
    "status": lambda case: _number(case.status),
    "upper": lambda case: _number(largest_allowed(case)),
    "url": lambda case: _text(case.evidence.url, 300),
    "waited": lambda case: _seconds(case.evidence.waited_s),
    "waiting_for": _waiting,
    "wanted_variable": lambda case: _text(case.evidence.key.wanted_variable),
}

ALWAYS = frozenset({"host", "hostname", "method"})
"""Facts that are never None: the last sentence of each subcode may name only these."""
