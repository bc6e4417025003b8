"""The decision order: the first rule that names a class and subcode decides.

Each rule looks at one kind of evidence and returns ``class.subcode`` or None. The order is the
taxonomy's; where two rules could both speak, the comment says why this one comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kvtui.failure.case import Case
from kvtui.failure.codes import by_code
from kvtui.failure.finish import by_finish_reason
from kvtui.failure.keyform import LOGIN_TOKEN, PLACEHOLDER
from kvtui.failure.urlform import url_problem

Rule: TypeAlias = Callable[[Case], str | None]


# --- before anything was sent ---------------------------------------------------------------------


def proxy_settings(case: Case) -> str | None:
    """A proxy URL that no client can use (an exception at construction, before any request)."""
    scheme = (case.evidence.proxy or "").partition("://")[0].lower()
    settings = case.evidence.phase == "settings" and not case.evidence.key.problem
    if case.kind == "proxy_settings" or (settings and not case.kind and scheme.startswith("socks")):
        return "network.proxy_misconfigured"
    return None


def key_form(case: Case) -> str | None:
    """A key that was not sent, or could not be: missing, a placeholder, with a bad character."""
    key = case.evidence.key
    if case.kind == "key_encoding":
        return "auth.key_malformed"
    if case.kind == "key_missing":
        return "auth.key_missing"
    if case.evidence.phase != "settings" or case.kind == "base_url":
        return None
    if key.kind == PLACEHOLDER:
        return "auth.key_placeholder"
    if key.problem and key.kind != LOGIN_TOKEN:
        return "auth.key_malformed"
    if key.kind == LOGIN_TOKEN:
        return "auth.invalid_key"
    return None


def base_url_form(case: Case) -> str | None:
    """A base URL that is none."""
    evidence = case.evidence
    if case.kind == "base_url" and case.before_headers:
        return "parameter.base_url_invalid"
    if evidence.phase == "settings" and evidence.base_url and url_problem(evidence.base_url):
        return "parameter.base_url_invalid"
    return None


def not_sent(case: Case) -> str | None:
    """Stopped before sending, key and URL in form: there is no key, or a reason unknown."""
    evidence = case.evidence
    if evidence.phase != "settings":
        return None
    if case.broke:
        return "parameter.invalid_request"  # a client that cannot be built, for a reason unknown
    return "auth.key_missing" if evidence.key.origin is None else None


# --- the connection -------------------------------------------------------------------------------

_UNCONNECTED = ("refused", "connect_timeout", "dns", "proxy")

_BEFORE_HEADERS = {
    "dns": "network.dns",
    "connect_timeout": "network.connect_timeout",
    "refused": "network.connection_refused",
    "read_timeout": "network.read_timeout",
    "disconnected": "network.server_disconnected",
    "cut": "network.server_disconnected",
    "reset": "network.connection_reset",
}


def tls(case: Case) -> str | None:
    """TLS failed. Before the proxy rule: behind a proxy, TLS means that it let us through."""
    if not case.before_headers or case.kind is None or not case.kind.startswith("tls_"):
        return None
    return f"network.{case.kind}"


def proxy(case: Case) -> str | None:
    """The proxy refused, cannot be found, or wants a login: the target was never contacted."""
    if not case.before_headers:
        return None
    if case.kind == "proxy_auth":
        return "network.proxy_auth"
    if case.kind == "proxy" or (case.evidence.proxy and case.kind in _UNCONNECTED):
        return "network.proxy_unreachable"
    return None


def no_answer(case: Case) -> str | None:
    """The connection was not made, or ended before a status line."""
    evidence = case.evidence
    if not case.before_headers or not case.broke or case.kind == "no_api":
        return None
    if case.kind in (None, "read_timeout") and evidence.waiting_for == "connect":
        return "network.proxy_unreachable" if evidence.proxy else "network.connect_timeout"
    if case.timed_out:
        return "network.read_timeout"
    if case.kind in _BEFORE_HEADERS:
        return _BEFORE_HEADERS[case.kind]
    connected = evidence.phase in ("send", "headers", "stream", "done")
    return "network.server_disconnected" if connected else "network.connection_refused"


def broken_stream(case: Case) -> str | None:
    """The connection broke, or fell silent, after the headers of a good answer."""
    evidence = case.evidence
    if evidence.status is None or not 200 <= evidence.status < 300 or not case.broke:
        return None
    if case.error.is_error or evidence.done_seen:
        return None  # the server said why; or all had come
    if case.kind == "undecodable":
        return "truncated.bad_chunk"
    return "network.read_timeout" if case.timed_out else "network.stream_interrupted"


# --- what the answer says -------------------------------------------------------------------------


def redirect(case: Case) -> str | None:
    """A redirect: following it would turn the POST into a GET."""
    status = case.evidence.status
    return "parameter.base_url_redirect" if status is not None and 300 <= status < 400 else None


def provider_code(case: Case) -> str | None:
    """A code of the provider's own tables."""
    name = by_code(case.host, case.error)
    return _blocked(case) if name == "filter.prompt_blocked" else name


def content_filter(case: Case) -> str | None:
    """Filter words or codes, on any status."""
    if case.error.code == "invalid_prompt":
        return "filter.prompt_blocked" if case.worded("safety") else None
    return _blocked(case) if case.said("filter") else None


def _blocked(case: Case) -> str:
    """Whether the prompt or the answer was blocked."""
    roles = case.error.data.get("contentfilter")
    if isinstance(roles, list) and any(
        isinstance(entry, dict) and entry.get("role") == "assistant" for entry in roles
    ):
        return "filter.output_blocked"
    output, prompt = case.said("filter_output"), case.said("filter_input")
    if output != prompt:
        return "filter.output_blocked" if output else "filter.prompt_blocked"
    midway = case.evidence.sse_error is not None and case.evidence.content_chars > 0
    return "filter.output_blocked" if midway else "filter.prompt_blocked"


def proxy_login_407(case: Case) -> str | None:
    """407 from a plain-HTTP proxy."""
    return "network.proxy_auth" if case.status == 407 else None


def region(case: Case) -> str | None:
    """The egress address is in a region the provider does not serve."""
    return "network.region_blocked" if case.said("region") else None


def tunnel(case: Case) -> str | None:
    """A tunnel's own error page: the server behind it is not there."""
    if case.evidence.headers.get("ngrok-error-code") or case.coded("tunnel"):
        return "server.tunnel_down"
    failed = case.status is not None and case.status >= 400
    return "server.tunnel_down" if failed and case.page_worded("tunnel") else None


def waf(case: Case) -> str | None:
    """403 from a firewall at the edge: the key was never looked at."""
    if case.status != 403 or case.error.is_error:
        return None
    headers = case.evidence.headers
    edge = "cf-ray" in headers or "cloudflare" in headers.get("server", "").lower()
    marked = edge or "cf-mitigated" in headers or "x-amzn-waf-action" in headers
    if (case.page and marked) or case.page_worded("waf"):
        return "network.blocked_by_waf"
    return None


def proxy_before_local(case: Case) -> str | None:
    """A proxy from the environment answered for a host that only this machine can reach."""
    if not case.evidence.proxy or not case.local or case.error.is_error or case.status is None:
        return None
    if case.status == 403 or 500 <= case.status < 600:
        return "network.proxy_intercepts_local"
    return None


def plain_http(case: Case) -> str | None:
    """The server answered that it speaks only TLS."""
    failed = case.status is not None and case.status >= 400
    return "network.tls_protocol" if failed and case.page_worded("tls_plain") else None


def capacity(case: Case) -> str | None:
    """The server's own limits. Before quota: a 429 can be capacity (Kimi, TGI)."""
    if case.said("oom"):
        return "server.oom"
    if case.said("loading"):
        return "server.loading"
    return "server.overloaded" if case.said("overloaded") else None


def quota(case: Case) -> str | None:
    """Money, on any status but 413 (a request larger than the budget of a minute)."""
    if case.status == 413:
        return None
    if case.status == 402 or case.said("quota"):
        return "rate_or_quota.quota"
    weak = case.worded("quota_weak") and not case.said("rate_limit")
    return "rate_or_quota.quota" if weak and case.status in (400, 403, 429) else None


def too_large(case: Case) -> str | None:
    """413, from a proxy or for a budget."""
    return "parameter.request_too_large" if case.status == 413 or case.said("too_large") else None


def context_length(case: Case) -> str | None:
    """The prompt, with the answer asked for, exceeds the context."""
    if case.coded("context") or case.error.param == "input_tokens":
        return "parameter.context_length"
    if case.status in (401, 404, 405, 429):
        return None  # "40,000 input tokens per minute" is a rate
    return "parameter.context_length" if case.worded("context") else None


def unauthorized(case: Case) -> str | None:
    """401, by what stands with it."""
    if case.status != 401:
        return None
    if case.page and "www-authenticate" in case.evidence.headers:
        return "auth.proxy_login"
    key = case.evidence.key
    if key.origin is None:
        return "auth.key_missing"
    if key.kind == PLACEHOLDER:
        return "auth.key_placeholder"
    if key.problem and key.kind != LOGIN_TOKEN:
        return "auth.key_malformed"
    return "auth.key_disabled" if case.said("key_disabled") else "auth.invalid_key"


def key_by_words(case: Case) -> str | None:
    """A bad key on another status (Gemini 400, LiteLLM 400 ``No connected db.``)."""
    if case.said("key_disabled_named"):
        return "auth.key_disabled"
    return "auth.invalid_key" if case.said("invalid_key") else None


def forbidden(case: Case) -> str | None:
    """What is left of 403, even with the code ``model_not_found``."""
    coded = case.coded("permission") and case.status != 404
    return "auth.permission" if case.status == 403 or coded else None


def model(case: Case) -> str | None:
    """The model is unknown here, also where a gateway answers 503 for it."""
    if case.said("model_not_pulled"):
        return "parameter.model_not_pulled"
    named = case.status == 404 and (case.error.param or "").lower() == "model"
    if not named and not case.said("model_not_found"):
        return None
    if case.provider is not None and case.provider.name == "ollama":
        return "parameter.model_not_pulled"
    return "parameter.model_not_found"


def parameter(case: Case) -> str | None:
    """One parameter that this endpoint refuses."""
    if case.worded("stream_options"):
        return "parameter.stream_options_unsupported"
    if case.said("unsupported_value"):
        return "parameter.unsupported_value"
    return "parameter.unsupported_parameter" if case.said("unsupported_parameter") else None


def path(case: Case) -> str | None:
    """Nothing at this path: the base URL is wrong."""
    status = case.evidence.status
    if case.status in (404, 405) or case.worded("path") or case.kind == "no_api":
        return "parameter.base_url_path"
    if status is not None and 200 <= status < 300 and case.page and not case.answered:
        return "parameter.base_url_path"
    return None


_BY_STATUS = {
    501: "parameter.unsupported_feature",
    400: "parameter.invalid_request",
    409: "parameter.invalid_request",
    415: "parameter.invalid_request",
    422: "parameter.invalid_request",
    429: "rate_or_quota.rate_limit",
    408: "server.timeout",
    504: "network.gateway_timeout",
    522: "network.gateway_timeout",
    524: "network.gateway_timeout",
    529: "server.overloaded",
}


def status(case: Case) -> str | None:
    """The statuses that speak for themselves, wherever they stand."""
    unnamed = case.status is None or case.status < 400  # an error inside a 200, without a status
    if case.coded("rate_limit") or (unnamed and case.worded("rate_limit")):
        return "rate_or_quota.rate_limit"
    if case.coded("unsupported_feature"):
        return "parameter.unsupported_feature"
    return _BY_STATUS.get(case.status or 0)


def server_error(case: Case) -> str | None:
    """Errors of the server that nothing above explains."""
    evidence = case.evidence
    if evidence.sse_error is not None and evidence.sse_error != "":
        return "server.stream_error"
    if evidence.status is None or 200 <= evidence.status < 300:
        return "server.error_in_200" if case.error.is_error else None
    if case.said("engine_dead"):
        return "server.engine_dead"
    if evidence.status == 502:
        return "server.bad_gateway"
    if evidence.status == 503:
        return "server.unavailable"
    if evidence.status >= 500:
        return "server.engine_dead" if _vllm_died(case) else "server.internal"
    return None


def _vllm_died(case: Case) -> bool:
    """What vLLM answers when its engine is dead; OpenAI says the same and adds that it is sorry."""
    kind = (case.error.type or "").lower()
    return kind in ("internalservererror", "") and case.worded("engine_dead_vllm")


def other_client_error(case: Case) -> str | None:
    """Any other 4xx: the server did not take the request. Below 200 or above 599: a bad server."""
    if case.evidence.status is None or 200 <= case.evidence.status < 300:
        return None
    known = 400 <= case.evidence.status < 500
    return "parameter.invalid_request" if known else "server.internal"


# --- what the stream was --------------------------------------------------------------------------


def nothing_came(case: Case) -> str | None:
    """A good status and not one data event."""
    return None if case.answered else "network.empty_stream"


def refusal(case: Case) -> str | None:
    """The model declined in the field made for it."""
    return "filter.model_refusal" if case.evidence.refusal.strip() else None


def bad_chunk(case: Case) -> str | None:
    """Events that could not be decoded: the text may have a hole."""
    return "truncated.bad_chunk" if case.evidence.bad_events > 0 else None


def no_terminator(case: Case) -> str | None:
    """Neither a finish_reason nor [DONE]: the stream was cut without saying so."""
    evidence = case.evidence
    ended = (evidence.finish_reason or "").strip() or evidence.done_seen or not evidence.streamed
    return None if ended else "truncated.no_terminator"


def finish(case: Case) -> str | None:
    """The finish_reason, and what the counts say of it."""
    evidence = case.evidence
    name = by_finish_reason(evidence.finish_reason) or "ok.unknown_finish_reason"
    if name in ("truncated.max_tokens", "truncated.context_full"):
        if _only_reasoned(case):
            return "truncated.reasoning_exhausted"
        return "truncated.context_full" if _context_full(case) else name
    return None if name == "ok.complete" else name


def _only_reasoned(case: Case) -> bool:
    evidence = case.evidence
    reasoned = evidence.reasoning_chars > 0 or (evidence.reasoning_tokens or 0) > 0
    return reasoned and evidence.content_chars == 0 and evidence.tool_calls == 0


def _context_full(case: Case) -> bool:
    """``length`` before max_tokens was reached, with prompt and answer filling a context."""
    evidence = case.evidence
    prompt, answer, asked = evidence.prompt_tokens, evidence.completion_tokens, evidence.max_tokens
    if prompt is None or answer is None:
        return False
    total = prompt + answer
    if evidence.context_length is not None:
        return total >= evidence.context_length - 1 and (asked is None or answer < asked)
    # The size is not known: contexts are multiples of 512, and servers stop at one or just below.
    return asked is not None and answer < asked and total >= 512 and total % 512 in (0, 511)


# --- good answers, by what is odd about them ------------------------------------------------------


def good_answer(case: Case) -> str | None:
    """The ``ok`` subcodes; the oddest thing first."""
    return f"ok.{next(iter(oddities(case)), 'complete')}"


def oddities(case: Case) -> tuple[str, ...]:
    """Everything odd about a good answer, the oddest first."""
    evidence = case.evidence
    checks = (
        ("tool_calls", evidence.tool_calls > 0),
        ("reasoning_only", evidence.content_chars == 0 and evidence.reasoning_chars > 0),
        ("empty_answer", evidence.content_chars == 0 and evidence.reasoning_chars == 0),
        ("not_streamed", not evidence.streamed and evidence.stream_asked),
        ("cumulative_deltas", evidence.cumulative),
        ("buffered_transport", evidence.buffered),
        ("suspect_cap", _suspect_cap(case)),
        ("single_chunk", _single_chunk(case)),
    )
    tools = evidence.tool_calls > 0
    return tuple(
        name
        for name, holds in checks
        if holds and not (tools and name in ("reasoning_only", "empty_answer"))
    )


_FEW_TOKENS = 16
_FEW_CHARS = 40


def _single_chunk(case: Case) -> bool:
    """More than a few tokens in one piece: the gateway only pretends to stream."""
    evidence = case.evidence
    if not evidence.streamed or evidence.text_chunks != 1:
        return False
    if evidence.completion_tokens is not None:
        return evidence.completion_tokens - (evidence.reasoning_tokens or 0) >= _FEW_TOKENS
    return evidence.content_chars >= _FEW_CHARS and " " in evidence.content_tail.strip()


_LEAST_CAP = 256


def _suspect_cap(case: Case) -> bool:
    """``stop``, at a round number of tokens, in the middle of a sentence."""
    evidence = case.evidence
    tokens, tail = evidence.completion_tokens, evidence.content_tail.rstrip()
    if tokens is None or not tail or not (tail[-1].isalnum() or tail[-1] in ",;:-(，、；："):
        return False
    if tokens == evidence.max_tokens:
        return True
    return tokens >= _LEAST_CAP and (tokens % 500 == 0 or tokens % 256 == 0)


RULES: tuple[Rule, ...] = (
    # before anything was sent
    proxy_settings,
    key_form,
    base_url_form,
    not_sent,
    # the connection
    tls,
    proxy,
    no_answer,
    broken_stream,
    # what the answer says
    redirect,
    provider_code,
    content_filter,
    proxy_login_407,
    region,
    tunnel,
    waf,
    proxy_before_local,
    plain_http,
    capacity,
    quota,
    too_large,
    context_length,
    unauthorized,
    key_by_words,
    forbidden,
    model,
    parameter,
    path,
    status,
    server_error,
    other_client_error,
    # what the stream was
    nothing_came,
    refusal,
    bad_chunk,
    no_terminator,
    finish,
    good_answer,
)


def decide(case: Case) -> str:
    """``class.subcode`` of a case: the first rule that has something to say."""
    for rule in RULES:
        name = rule(case)
        if name is not None:
            return name
    return "ok.complete"
