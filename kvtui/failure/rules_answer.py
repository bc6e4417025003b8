"""Rules for an answer that says what is wrong: by its words, its codes and its status."""

from __future__ import annotations

from kvtui.failure.case import Case
from kvtui.failure.codes import by_code
from kvtui.failure.keyform import LOGIN_TOKEN, PLACEHOLDER


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
    if output != prompt and not case.worded("filter_either"):
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


_EDGE_HEADERS = frozenset(
    (
        "cf-mitigated",
        "x-amzn-waf-action",
        "x-datadome",
        "x-iinfo",
        "x-sucuri-id",
        "x-vercel-mitigated",
    )
)
"""Headers that only a firewall at the edge adds."""


def waf(case: Case) -> str | None:
    """403 from a firewall at the edge: the key was never looked at."""
    if case.status == 405 and case.page and case.page_worded("waf_405"):
        return "network.blocked_by_waf"
    if case.status != 403 or case.error.is_error:
        return None
    headers = case.evidence.headers
    edge = "cf-ray" in headers or "cloudflare" in headers.get("server", "").lower()
    marked = edge or not _EDGE_HEADERS.isdisjoint(headers)
    if (case.page and marked) or case.page_worded("waf"):
        return "network.blocked_by_waf"
    return None


def proxy_before_local(case: Case) -> str | None:
    """A proxy from the environment answered for a host that only this machine can reach."""
    if not case.local or case.error.is_error or case.status is None:
        return None
    if case.status != 403 and not 500 <= case.status < 600:
        return None
    if case.evidence.proxy or case.page_worded("forward_proxy") or _nameless(case):
        return "network.proxy_intercepts_local"
    return None


_SERVERS = frozenset(("server", "x-powered-by", "via", "cf-ray"))


def _nameless(case: Case) -> bool:
    """What a proxy program answers that takes all connections of this machine (TUN mode).

    None is used here for local hosts, but one is set: a gateway's status from nobody, without a
    word of an API, is more likely its own than a server's.
    """
    if case.evidence.proxy_unused is None or case.status not in (403, 502, 503, 504):
        return False
    return _SERVERS.isdisjoint(case.evidence.headers) and not case.page_worded("web_server")


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
    if case.said("throttled") and case.status != 402:
        return "rate_or_quota.rate_limit"
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
    named = case.coded("key_disabled_named") or (
        case.status != 403 and case.worded("key_disabled_named")
    )
    if named:
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
    named = case.status == 404 and (
        (case.error.param or "").lower() == "model" or case.worded("names_model")
    )
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
