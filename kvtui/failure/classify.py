"""Evidence in, verdict out."""

from __future__ import annotations

from kvtui.failure.advice import advice_table
from kvtui.failure.case import Case
from kvtui.failure.evidence import Evidence
from kvtui.failure.retry import retry_after
from kvtui.failure.rules import decide
from kvtui.failure.rules_stream import oddities
from kvtui.failure.taxonomy import split
from kvtui.failure.verdict import Hint, Verdict
from kvtui.text import one_line, redact

_STOPPED = "Stopped by you; what came until then is kept, marked partial."


def classify(evidence: Evidence) -> Verdict:
    """The class and subcode of a request, with the sentence, the fixes and the hints for it.

    Never raises, whatever the evidence holds, and gives the same verdict for the same evidence.
    What nobody has seen before falls to the nearest honest class and shows the server's words.
    """
    if evidence.stopped:
        return Verdict("ok", "complete", _STOPPED)
    case = Case(evidence)
    name = decide(case)
    cls, subcode = split(name)
    advice = advice_table()[name]
    wait = retry_after(evidence.headers, case.error)
    retryable = advice.retry == "yes" or (advice.retry == "depends" and _may_help(name, case, wait))
    return Verdict(
        cls=cls,
        subcode=subcode,
        message=advice.message(case),
        fixes=advice.fixes(case),
        retryable=retryable,
        retry_after_s=wait if retryable else None,
        code=_clean(case.error.code),
        type=_clean(case.error.type),
        hints=_hints(cls, subcode, case),
    )


def hints_for(evidence: Evidence) -> tuple[Hint, ...]:
    """What is worth saying though it is no failure: one hint per oddity, the oddest first."""
    if evidence.stopped:
        return ()
    return _hints("ok", "complete", Case(evidence))


_TRANSPORT = ("not_streamed", "cumulative_deltas", "buffered_transport", "single_chunk")


def _hints(cls: str, subcode: str, case: Case) -> tuple[Hint, ...]:
    """The verdict's own oddity first; beside a failure only those of the transport."""
    names = [subcode] if cls == "ok" and subcode != "complete" else []
    if case.answered:
        names += [name for name in oddities(case) if cls == "ok" or name in _TRANSPORT]
    return tuple(
        Hint(name, advice_table()[f"ok.{name}"].message(case)) for name in dict.fromkeys(names)
    )


def _may_help(name: str, case: Case, wait: float | None) -> bool:
    """Whether to retry where the taxonomy has seen both."""
    if name == "server.oom":
        return not case.said("oom_model")
    return wait is not None


def _clean(text: str | None) -> str | None:
    return one_line(redact(text), 80) if text else None
