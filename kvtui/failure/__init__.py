"""Why a request failed: evidence in, one class and subcode with advice out. Pure, no network."""

from kvtui.failure.advice import advice_shown
from kvtui.failure.classify import classify, hints_for
from kvtui.failure.evidence import Evidence, ExceptionFact, KeyFacts
from kvtui.failure.verdict import OUTCOMES, FailureClass, Hint, Verdict

__all__ = [
    "OUTCOMES",
    "Evidence",
    "ExceptionFact",
    "FailureClass",
    "Hint",
    "KeyFacts",
    "Verdict",
    "advice_shown",
    "classify",
    "hints_for",
]
