"""Every class and subcode there is. Nothing else may come out of the classifier."""

from __future__ import annotations

from types import MappingProxyType
from typing import cast

from kvtui.failure.verdict import FailureClass

TAXONOMY = MappingProxyType(
    {
        "auth": (
            "invalid_key",
            "key_disabled",
            "key_malformed",
            "key_missing",
            "key_placeholder",
            "permission",
            "proxy_login",
        ),
        "network": (
            "blocked_by_waf",
            "connect_timeout",
            "connection_refused",
            "connection_reset",
            "dns",
            "empty_stream",
            "gateway_timeout",
            "proxy_auth",
            "proxy_intercepts_local",
            "proxy_misconfigured",
            "proxy_unreachable",
            "read_timeout",
            "region_blocked",
            "server_disconnected",
            "stream_interrupted",
            "tls_hostname",
            "tls_protocol",
            "tls_untrusted",
        ),
        "parameter": (
            "base_url_invalid",
            "base_url_path",
            "base_url_redirect",
            "context_length",
            "invalid_request",
            "model_not_found",
            "model_not_pulled",
            "request_too_large",
            "stream_options_unsupported",
            "unsupported_feature",
            "unsupported_parameter",
            "unsupported_value",
        ),
        "filter": ("model_refusal", "output_blocked", "output_filtered", "prompt_blocked"),
        "rate_or_quota": ("quota", "rate_limit"),
        "server": (
            "aborted",
            "bad_gateway",
            "engine_dead",
            "error_in_200",
            "internal",
            "interrupted",
            "loading",
            "oom",
            "overloaded",
            "stream_error",
            "timeout",
            "tunnel_down",
            "unavailable",
        ),
        "truncated": (
            "bad_chunk",
            "context_full",
            "max_tokens",
            "no_terminator",
            "reasoning_exhausted",
            "repetition",
        ),
        "ok": (
            "buffered_transport",
            "complete",
            "cumulative_deltas",
            "empty_answer",
            "no_finish_reason",
            "not_streamed",
            "reasoning_only",
            "single_chunk",
            "suspect_cap",
            "tool_calls",
            "unknown_finish_reason",
        ),
    }
)

NAMES = frozenset(f"{cls}.{subcode}" for cls, codes in TAXONOMY.items() for subcode in codes)
"""``auth.invalid_key`` and so on."""


def split(name: str) -> tuple[FailureClass, str]:
    """``auth.invalid_key`` as its class and its subcode.

    Raises:
        ValueError: The taxonomy has no such name.
    """
    if name not in NAMES:
        raise ValueError(f"{name!r} is no class and subcode of the taxonomy")
    cls, _, subcode = name.partition(".")
    return cast("FailureClass", cls), subcode
