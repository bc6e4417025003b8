"""One request as the rules see it: the evidence, with everything that is derived from it once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import SplitResult, urlsplit

from kvtui.failure.errorobject import ErrorObject, find_error, is_page
from kvtui.failure.evidence import Evidence
from kvtui.failure.providers import Provider, identify
from kvtui.failure.transport import Kind, kind_of, network_links
from kvtui.failure.wordings import group
from kvtui.hosts import is_local


@dataclass(frozen=True)
class Case:
    """The evidence and what follows from it; computed when first asked for."""

    evidence: Evidence

    @cached_property
    def error(self) -> ErrorObject:
        """The server's error object (``NO_ERROR`` where it sent none)."""
        return find_error(self.evidence.body, self.evidence.sse_error, self.evidence.status)

    @cached_property
    def status(self) -> int | None:
        """The HTTP status, or the one that an error inside a 200 names."""
        status = self.evidence.status
        if status is None or 200 <= status < 300:
            return self.error.status or status
        return status

    @cached_property
    def kind(self) -> Kind | None:
        """What the exception chain says of the transport."""
        return kind_of(self.evidence.exceptions)

    @cached_property
    def broke(self) -> bool:
        """True where an exception below HTTP, or a watchdog, ended the request."""
        return bool(network_links(self.evidence.exceptions)) or self.timed_out

    @cached_property
    def timed_out(self) -> bool:
        """A watchdog fired: something was awaited, for so long, and nothing else is known."""
        evidence = self.evidence
        if network_links(evidence.exceptions):
            return self.kind == "read_timeout"
        return evidence.waiting_for is not None and evidence.waited_s is not None

    @property
    def tunnelled(self) -> bool:
        """TLS was awaited: the connection stood, and a proxy had let the request through."""
        return self.evidence.waiting_for == "tls"

    @property
    def before_headers(self) -> bool:
        """No status line had come when the request ended."""
        return self.evidence.status is None

    @cached_property
    def answered(self) -> bool:
        """Something of an answer came: an event, some text, or a finish."""
        evidence = self.evidence
        return bool(
            evidence.data_events
            or evidence.content_chars
            or evidence.reasoning_chars
            or evidence.tool_calls
            or evidence.refusal
            or (evidence.finish_reason or "").strip()
        )

    @cached_property
    def page(self) -> bool:
        """The answer is a web page, not an API's."""
        if self.error.is_error or self.evidence.sse_error is not None:
            return False
        if self.error.source == "html":
            return True
        media = self.evidence.headers.get("content-type", "").lower()
        return media.startswith(("text/html", "application/xhtml")) or is_page(
            self.evidence.body or ""
        )

    @cached_property
    def url(self) -> SplitResult:
        """The URL requested, in parts; empty parts where it cannot be read."""
        try:
            parts = urlsplit((self.evidence.url or self.evidence.base_url).strip())
            _ = parts.port, parts.hostname  # both may raise
        except ValueError:
            return SplitResult("", "", "", "", "")
        return parts

    @cached_property
    def host(self) -> str:
        """The host's name, without port."""
        return (self.url.hostname or self.evidence.host.rpartition("@")[2]).lower()

    @cached_property
    def local(self) -> bool:
        """True for this machine's hosts and those of a private network."""
        return is_local(self.host)

    @cached_property
    def provider(self) -> Provider | None:
        """Who answers, where something gives it away."""
        words = self.error.words if self.error.source in ("json", "text") else ""
        return identify(self.host, self.url.port, self.local, self.evidence.headers, words)

    def said(self, *names: str) -> bool:
        """True where the error object has a code or a wording of one of the groups."""
        return any(self.coded(name) or self.worded(name) for name in names)

    def coded(self, *names: str) -> bool:
        """True where the error object's code or type belongs to one of the groups."""
        error = self.error
        inner = error.data.get("innererror")
        deeper = inner.get("code") if isinstance(inner, dict) else None
        more = deeper if isinstance(deeper, str) else None
        return any(group(name).has_code(error.code, error.type, more) for name in names)

    def worded(self, *names: str) -> bool:
        """True where the error object's own words match one of the groups; never on web pages."""
        return any(map(self._is_worded, names))

    def _is_worded(self, name: str) -> bool:
        if self.error.source not in ("json", "text"):
            return False
        if name not in self._searched:
            self._searched[name] = group(name).is_in(self.error.words)
        return self._searched[name]

    @cached_property
    def _searched(self) -> dict[str, bool]:
        """Groups already searched for: several rules and conditions ask for the same ones."""
        return {}

    def page_worded(self, name: str) -> bool:
        """True where any answer, web page included, has a wording of the group."""
        return group(name).is_in(self.error.words)
