"""Rules for what went wrong before an answer came, or below it: settings, connection, breaks."""

from __future__ import annotations

from kvtui.failure.case import Case
from kvtui.failure.keyform import LOGIN_TOKEN, PLACEHOLDER
from kvtui.failure.urlform import url_problem

# --- before anything was sent ---------------------------------------------------------------------


def proxy_settings(case: Case) -> str | None:
    """A proxy URL that no client can use (an exception at construction, before any request)."""
    scheme = (case.evidence.proxy or "").partition("://")[0].lower()
    settings = case.evidence.phase == "settings" and not case.evidence.key.problem
    if case.kind == "proxy_settings" or (settings and not case.kind and scheme.startswith("socks")):
        return "network.proxy_misconfigured"
    return None


def unsendable(case: Case) -> str | None:
    """Part of the request cannot be put on the wire: it is not the key, and no fault of a host."""
    return "parameter.invalid_request" if case.kind == "unsendable" else None


def key_form(case: Case) -> str | None:
    """A key that was not sent, or could not be: missing, a placeholder, with a bad character."""
    key = case.evidence.key
    if case.kind == "key_encoding":  # a placeholder may be in Chinese
        return "auth.key_placeholder" if key.kind == PLACEHOLDER else "auth.key_malformed"
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
    "not_http": "network.server_disconnected",
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
    if case.kind == "proxy":
        return "network.proxy_unreachable"
    if case.evidence.proxy and case.kind in _UNCONNECTED and not case.tunnelled:
        return "network.proxy_unreachable"
    return None


def no_answer(case: Case) -> str | None:
    """The connection was not made, or ended before a status line."""
    evidence = case.evidence
    if not case.before_headers or not case.broke or case.kind == "no_api":
        return None
    if case.kind in (None, "read_timeout") and evidence.waiting_for in ("connect", "tls"):
        before_proxy = evidence.proxy and not case.tunnelled
        return "network.proxy_unreachable" if before_proxy else "network.connect_timeout"
    if case.timed_out:
        return "network.read_timeout"
    if case.tunnelled and case.kind == "refused":
        return "network.server_disconnected"
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
