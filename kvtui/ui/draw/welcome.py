"""What the Stream pane says before the first token."""

from __future__ import annotations

from kvtui.ui.rows import BLANK, Row, row, wrap
from kvtui.ui.state import EndpointView

_FIRST = (("⏎", "send the prompt below and measure the stream"), ("e", "edit it first"))
_EMBEDDED = (
    ("k", "switch the KV cache off, send again, and watch every step slow down"),
    ("w", "the same tokens as if on a large model, for many users (m, b)"),
    ("M", "a demo of each failure"),
)
_REMOTE = (
    ("M", "choose among the models served"),
    ("m", "choose the model whose memory is shown"),
)
_LAST = (("g", "choose the card"), ("?", "every key"))


def welcome_rows(view: EndpointView, width: int) -> list[Row]:
    """The problem that keeps it from starting, or what to press first."""
    if view.problem:
        lines = wrap(view.problem, width)
        return [BLANK, *[row((line, "warn")) for line in lines]]
    rows: list[Row] = [BLANK]
    if not view.ready:
        what = (
            "The embedded engine is starting: a real model, on this machine, no key."
            if view.embedded
            else "The endpoint is being asked which models it serves."
        )
        rows += [row((line, "muted")) for line in wrap(what, width)]
        if view.waiting:
            rows += [row((line, "accent")) for line in wrap("The run begins then.", width)]
        rows.append(BLANK)
    for key, text in (*_FIRST, *(_EMBEDDED if view.embedded else _REMOTE), *_LAST):
        for index, line in enumerate(wrap(text, width - 3)):
            rows.append(row((f"{key}  " if not index else "   ", "key"), (line, "muted")))
    return rows
