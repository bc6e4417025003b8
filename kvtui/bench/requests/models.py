"""No model chosen: what a command says that cannot offer a choice."""

from __future__ import annotations

from urllib.parse import urlsplit

from kvtui.bench.requests.prepared import Prepared
from kvtui.failure import Evidence, Verdict
from kvtui.language import tr
from kvtui.text import redact

_SHOWN = 12


def model_missing(prepared: Prepared) -> tuple[Verdict, Evidence]:
    """The failure of a command that cannot offer a choice of models."""
    endpoint = prepared.endpoint
    evidence = Evidence(
        phase="settings",
        method="GET",
        url=redact(f"{endpoint.base_url}/models", endpoint.api_key),
        host=urlsplit(endpoint.base_url).hostname or "",
        base_url=redact(endpoint.base_url, endpoint.api_key),
        models_offered=tuple(redact(name, endpoint.api_key) for name in prepared.models),
    )
    return _said(evidence.models_offered), evidence


def of_the_offered(evidence: Evidence) -> Verdict | None:
    """The verdict of ``model_missing`` in the language in use; None: another one's evidence."""
    asked = evidence.phase == "settings" and evidence.url.endswith("/models")
    return _said(evidence.models_offered) if asked else None


def _said(models: tuple[str, ...]) -> Verdict:
    if models:
        shown = ", ".join(models[:_SHOWN]) + (", …" if len(models) > _SHOWN else "")
        message = tr(
            "The server offers {n} models and none was chosen: {shown}.", n=len(models), shown=shown
        )
        fixes: tuple[str, ...] = (
            tr("Name one with --model, e.g. --model {models}.", models=models[0]),
        )
    else:
        message = tr("The server lists no model, and none was named.")
        fixes = (tr("Name the model with --model."), tr("See whether the server has loaded one."))
    return Verdict("parameter", "model_not_found", message, fixes)
