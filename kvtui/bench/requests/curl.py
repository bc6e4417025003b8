"""A request as a curl command for a POSIX shell: every secret a variable, all else quoted."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from kvtui.config import Endpoint
from kvtui.failure import Evidence
from kvtui.stream.body import fields_of
from kvtui.stream.gather import Redactor, is_secret_header
from kvtui.stream.quirks import Quirks
from kvtui.stream.request import Request
from kvtui.text import redact

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY")
_WHOLE = 1 << 40
_OPENAI_HEADERS = (
    ("OpenAI-Organization", "OPENAI_ORG_ID"),
    ("OpenAI-Project", "OPENAI_PROJECT_ID"),
)
"""What the SDK sends to OpenAI's own host where the environment has them."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it went out in the end. It holds the key: it is never shown or written."""

    endpoint: Endpoint = field(repr=False)
    base_url: str = field(repr=False)
    """The one in use, which may be a corrected one."""
    request: Request | None = field(default=None, repr=False)
    """None where the server was asked for its models."""
    quirks: Quirks = field(default_factory=Quirks)


@dataclass(frozen=True, slots=True)
class Curl:
    """A command, and the variables that it reads."""

    command: str
    variables: tuple[str, ...]


def curl_of(sent: Sent, evidence: Evidence | None = None) -> Curl:
    """The command that sends the same request; what has the shape of a key is in no part of it.

    Args:
        sent: What was asked.
        evidence: What is known of the attempt: which proxy was in effect.
    """
    endpoint, request = sent.endpoint, sent.request
    extra = request.extra_headers if request is not None else {}
    redactor = Redactor(endpoint, extra, ())
    headers, variables = _headers(endpoint, sent.base_url, extra)
    path = "/models" if request is None else "/chat/completions"
    url = redactor.text(_without_login(sent.base_url) + path)
    parts = ["curl", "-sS", "-N"]
    if "[" in url:
        parts.append("--globoff")
    lines = [" ".join([*parts, _quoted(url)])]
    lines += _proxy(evidence)
    lines += [f"-H {header}" for header in headers]
    if request is not None:
        lines.append("-H 'Content-Type: application/json'")
        named, more = fields_of(request, sent.quirks)
        lines.append(f"--data-binary {_quoted(_json(_hidden({**named, **more}, redactor)))}")
    return Curl(" \\\n  ".join(lines), tuple(dict.fromkeys(variables)))


def _headers(
    endpoint: Endpoint, base_url: str, extra: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Quoted headers, and the variables that stand for the secret ones."""
    given = {**endpoint.headers, **extra}
    headers: list[str] = []
    variables: list[str] = []
    if "authorization" not in {name.lower() for name in given}:
        variable = _key_variable(endpoint)
        if variable is not None:
            headers.append(f'"Authorization: Bearer ${variable}"')
            variables.append(variable)
    for name, value in given.items():
        if is_secret_header(name) or redact(f"{name}: {value}", endpoint.api_key) != (
            f"{name}: {value}"
        ):
            variable = re.sub(r"\W", "_", name, flags=re.ASCII).upper()
            variables.append(variable)
            headers.append(f'"{name}: ${variable}"')
        else:
            headers.append(_quoted(f"{name}: {value}"))
    if (urlsplit(base_url).hostname or "").endswith("api.openai.com"):
        for name, variable in _OPENAI_HEADERS:
            if os.environ.get(variable):
                headers.append(f'"{name}: ${variable}"')
    return headers, variables


def _key_variable(endpoint: Endpoint) -> str | None:
    """The variable that holds the key, or one to put it in; None where no key is sent or wanted."""
    if not endpoint.api_key and not endpoint.key_wanted_from:
        return None
    origin = (endpoint.key_from if endpoint.api_key else endpoint.key_wanted_from) or ""
    return origin if _VARIABLE.fullmatch(origin) else "API_KEY"


def _proxy(evidence: Evidence | None) -> list[str]:
    """The proxy in effect, or that there is none: curl reads the variables otherwise."""
    if evidence is None:
        return []
    if evidence.proxy is not None:
        name = evidence.proxy_from or ""
        known = _VARIABLE.fullmatch(name) and os.environ.get(name)
        return [f'--proxy "${name}"' if known else f"--proxy {_quoted(evidence.proxy)}"]
    return ["--noproxy '*'"] if any(os.environ.get(name) for name in _PROXIES) else []


def _without_login(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


def _hidden(value: Any, redactor: Redactor) -> Any:
    """A JSON value with every secret in its texts taken out, and nothing cut."""
    if isinstance(value, str):
        return redactor.text(value, _WHOLE)
    if isinstance(value, Mapping):
        return {redactor.text(str(key)): _hidden(item, redactor) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(item, redactor) for item in value]
    return value


def _json(value: Any) -> str:
    """One line; characters that a terminal would obey are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def _quoted(text: str) -> str:
    return shlex.quote(text) if text.isprintable() else shlex.quote(repr(text)[1:-1])
