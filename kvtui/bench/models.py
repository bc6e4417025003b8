"""No model chosen: what a command says that cannot offer a choice."""

from __future__ import annotations

from urllib.parse import urlsplit

from kvtui.bench.session import Prepared
from kvtui.failure import Evidence, Verdict

_SHOWN = 12


def model_missing(prepared: Prepared) -> tuple[Verdict, Evidence]:
    """The failure of a command that cannot offer a choice of models."""
    models = prepared.models
    if models:
        shown = ", ".join(models[:_SHOWN]) + (", …" if len(models) > _SHOWN else "")
        message = f"The server offers {len(models)} models and none was chosen: {shown}."
        fixes: tuple[str, ...] = (f"Name one with --model, e.g. --model {models[0]}.",)
    else:
        message = "The server lists no model, and none was named."
        fixes = ("Name the model with --model.", "See whether the server has loaded one.")
    endpoint = prepared.endpoint
    evidence = Evidence(
        phase="settings",
        method="GET",
        url=f"{endpoint.base_url}/models",
        host=urlsplit(endpoint.base_url).hostname or "",
        base_url=endpoint.base_url,
        models_offered=models,
    )
    return Verdict("parameter", "model_not_found", message, fixes), evidence
