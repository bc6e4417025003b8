"""What an audience must not read: hosts and the names of keys, hidden while one presents.

Two steps. Texts of failures and of the endpoint are hidden before they are wrapped or cut, so that
no piece of a name is left at an edge; and every line on its way to the terminal passes
``LineVeil``, whichever screen it comes from.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.filter import LineFilter

from kvtui.language import tr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.color import Color

    from kvtui.failure import Evidence
    from kvtui.ui.ports import PreparedLike
    from kvtui.ui.state import EndpointView, ErrorsState, Failure

HIDDEN = "•••"
_SHORTEST = 3
"""Shorter names are left alone: hiding every ``a`` of a text ruins it."""


class Veil:
    """Hides a set of names."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(name for name in names if len(name) >= _SHORTEST)
        longest_first = sorted(self.names, key=len, reverse=True)
        self._pattern = re.compile(
            "|".join(map(re.escape, longest_first)) or r"(?!)", re.IGNORECASE
        )

    def text(self, text: str) -> str:
        """``text`` with dots in the place of each name."""
        return self._pattern.sub(HIDDEN, text)

    def hidden(self, text: str) -> set[int]:
        """The places of ``text`` whose characters belong to a name."""
        return {at for found in self._pattern.finditer(text) for at in range(*found.span())}

    def endpoint(self, view: EndpointView) -> EndpointView:
        """The endpoint without its host and its key's name."""
        if view.embedded:
            return view
        return replace(
            view,
            label=HIDDEN,
            key=tr("key from {key_from}", key_from=HIDDEN)
            if view.key.startswith(tr("key from {key_from}").partition("{")[0])
            else self.text(view.key),
            note=self.text(view.note),
            problem=self.text(view.problem),
        )

    def errors(self, state: ErrorsState) -> ErrorsState:
        """The failures with every name hidden."""
        return replace(
            state,
            failures=tuple(map(self.failure, state.failures)),
            hints=tuple(replace(hint, message=self.text(hint.message)) for hint in state.hints),
        )

    def failure(self, failure: Failure) -> Failure:
        """One failure with every name hidden."""
        verdict, evidence = failure.verdict, failure.evidence
        return replace(
            failure,
            verdict=replace(
                verdict,
                message=self.text(verdict.message),
                fixes=tuple(map(self.text, verdict.fixes)),
            ),
            evidence=None if evidence is None else self._evidence(evidence),
        )

    def _evidence(self, evidence: Evidence) -> Evidence:
        origin, body = evidence.key.origin, evidence.body
        return replace(
            evidence,
            url=self.text(evidence.url),
            host=self.text(evidence.host),
            proxy=evidence.proxy and self.text(evidence.proxy),
            proxy_from=evidence.proxy_from and self.text(evidence.proxy_from),
            key=replace(evidence.key, origin=origin and self.text(origin)),
            body=body and self.text(body),
            sse_error=evidence.sse_error and self.text(str(evidence.sse_error)),
            headers={name: self.text(value) for name, value in evidence.headers.items()},
            exceptions=tuple(
                replace(fact, text=self.text(fact.text)) for fact in evidence.exceptions
            ),
        )


class LineVeil(LineFilter):
    """Hides the names in every line that goes to the terminal; no width changes."""

    def __init__(self, veil: Veil) -> None:
        super().__init__()
        self._veil = veil

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """The segments without the names; the same list where none is in them."""
        hidden = self._veil.hidden("".join(each.text for each in segments if not each.control))
        if not hidden:
            return segments
        made: list[Segment] = []
        at = 0
        for segment in segments:
            if segment.control:
                made.append(segment)
                continue
            text = "".join(
                "•" * cell_len(char) if place in hidden else char
                for place, char in enumerate(segment.text, at)
            )
            at += len(segment.text)
            made.append(Segment(set_cell_size(text, segment.cell_length), segment.style))
        return made


def names_of(prepared: PreparedLike | None, failures: Iterable[Failure]) -> set[str]:
    """The hosts and key names that the screen could show; none of the embedded engine."""
    names: set[str] = set()
    if prepared is not None and not prepared.endpoint.embedded:
        endpoint = prepared.endpoint
        names |= _hosts(endpoint.base_url)
        keys = (endpoint.key_from, endpoint.key_wanted_from, *endpoint.other_key_variables)
        names |= {name for name in keys if name}
    for failure in failures:
        evidence = failure.evidence
        if evidence is None or evidence.embedded:
            continue
        names |= {evidence.host} | _hosts(evidence.url) | _hosts(evidence.base_url)
        names |= _hosts(evidence.proxy or "")
        key = evidence.key
        names |= {name for name in (key.origin, key.wanted_variable, *key.other_variables) if name}
    return {name for name in names if name}


def _hosts(url: str) -> set[str]:
    """Host, and host with port, of a URL that may be no good one."""
    from urllib.parse import urlsplit

    if not url:
        return set()
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        return {name for name in (parts.netloc.rpartition("@")[2], parts.hostname or "") if name}
    except ValueError:
        return set()
