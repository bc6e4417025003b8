"""What the Stream pane says before the first token."""

from __future__ import annotations

from collections.abc import Iterable

from kvtui.language import later, tr
from kvtui.ui.look.rows import BLANK, Row, left, row, wrap
from kvtui.ui.state import EndpointView, is_demo

_FIRST = (
    ("⏎", later("send the prompt below, and measure it")),
    ("e", later("edit it first")),
)
_EMBEDDED = (
    ("k", later("KV cache off: send again, it slows down")),
    ("w", later("as if on a large model, for many users")),
    ("M", later("a demo of each failure")),
)
_DEMO = (
    ("⏎", later("send the prompt: this demo goes wrong, on purpose")),
    ("M", later("back to the model, or another demo")),
    ("o", later("everything known of the failure")),
    ("?", later("every key")),
)
_PROBLEM = (
    ("D", later("the doctor: the endpoint, step by step")),
    ("E", later("another endpoint: a profile, a URL, the embedded engine")),
    ("?", later("every key")),
)
_FAILED = (
    ("r", later("send it again")),
    ("o", later("everything known of the failure")),
    ("D", later("the doctor: the endpoint, step by step")),
    ("?", later("every key")),
)
_WAITING = {
    "connecting": later("The connection is being made."),
    "sending": later("The request is being sent."),
    "prefill": later("The prompt is being read: prefill ends with the first token."),
}
_REMOTE = (
    ("M", later("choose among the models served")),
    ("m", later("choose the model whose memory is shown")),
)
_LAST = (
    ("g", later("choose the card")),
    ("F2", later("the tour: all of it live, step by step")),
    ("?", later("every key")),
)
_KEY = 3
"""Cells of the keys."""


def welcome_rows(view: EndpointView, width: int) -> list[Row]:
    """The problem that keeps it from starting, or what to press first."""
    if view.problem:
        lines = wrap(view.problem, width)
        return [BLANK, *[row((line, "warn")) for line in lines], BLANK, *_keys(_PROBLEM, width)]
    rows: list[Row] = [BLANK]
    if not view.ready:
        what = (
            later("The embedded engine is starting: a real model, on this machine, no key.")
            if view.embedded
            else later("The endpoint is still being prepared.")
        )
        rows += [row((line, "muted")) for line in wrap(tr(what), width)]
        if view.waiting:
            rows += [row((line, "accent")) for line in wrap(tr("The run begins then."), width)]
        rows.append(BLANK)
    elif view.embedded and view.note and not is_demo(view.model):
        # Without a blank line, so that every key has its own at 80x24.
        rows = [row((line, "muted")) for line in wrap(tr(view.note), width)]
    if view.embedded and is_demo(view.model):
        return [*rows, *_keys(_DEMO, width)]
    return rows + _keys((*_FIRST, *(_EMBEDDED if view.embedded else _REMOTE), *_LAST), width)


def empty_rows(view: EndpointView, phase: str, width: int) -> list[Row]:
    """What stands where no token of this request is, as far as the request has come."""
    if phase in _WAITING:
        lines = wrap(tr(_WAITING[phase]), width)
        return [BLANK, *[row((line, "muted")) for line in lines]]
    if phase == "failed" and not view.problem and not (view.embedded and is_demo(view.model)):
        lines = wrap(tr("No token came: pane 3 says why, and what to do first."), width)
        return [BLANK, *[row((line, "text")) for line in lines], BLANK, *_keys(_FAILED, width)]
    return welcome_rows(view, width)


def _keys(table: Iterable[tuple[str, str]], width: int) -> list[Row]:
    rows: list[Row] = []
    for key, text in table:
        for index, line in enumerate(wrap(tr(text), width - _KEY)):
            rows.append(row((left("" if index else key, _KEY), "key"), (line, "muted")))
    return rows
