"""The decision order: the first rule that names a class and subcode decides.

Each rule looks at one kind of evidence and returns ``class.subcode`` or None. The order is the
taxonomy's; where two rules could both speak, the rule's own words say why it comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kvtui.failure import rules_answer as answer
from kvtui.failure import rules_sending as sending
from kvtui.failure import rules_stream as stream
from kvtui.failure.case import Case

Rule: TypeAlias = Callable[[Case], str | None]

RULES: tuple[Rule, ...] = (
    # before anything was sent
    sending.unsendable,
    sending.proxy_settings,
    sending.key_form,
    sending.base_url_form,
    sending.not_sent,
    # the connection
    sending.tls,
    sending.proxy,
    sending.no_answer,
    sending.broken_stream,
    # what the answer says
    answer.redirect,
    answer.provider_code,
    answer.content_filter,
    answer.proxy_login_407,
    answer.region,
    answer.tunnel,
    answer.waf,
    answer.proxy_before_local,
    answer.plain_http,
    answer.capacity,
    answer.quota,
    answer.too_large,
    answer.context_length,
    answer.unauthorized,
    answer.key_by_words,
    answer.forbidden,
    answer.model,
    answer.parameter,
    answer.path,
    answer.status,
    answer.server_error,
    answer.other_client_error,
    # what the stream was
    stream.nothing_came,
    stream.refusal,
    stream.bad_chunk,
    stream.no_terminator,
    stream.finish,
    stream.good_answer,
)


def decide(case: Case) -> str:
    """``class.subcode`` of a case: the first rule that has something to say."""
    for rule in RULES:
        name = rule(case)
        if name is not None:
            return name
    return "ok.complete"
