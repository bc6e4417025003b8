"""The endpoints of a run that has several, made ready one after the other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import msgspec

from kvtui.bench.requests.models import model_missing
from kvtui.bench.requests.session import Session
from kvtui.bench.requests.targets import Fidelity, Target
from kvtui.bench.running.learning import Learner
from kvtui.config import ConfigError, Endpoint
from kvtui.language import tr
from kvtui.stream.request import Request

if TYPE_CHECKING:
    from kvtui.engine.fidelity import Fidelity as Measured


def made_ready(
    session: Session,
    request: Request,
    targets: Sequence[Target],
    learner: Learner,
) -> tuple[list[Request | None], tuple[Target, ...]]:
    """The request for each target, and the targets with what became known of them.

    A target that cannot be used is said in a note; there is None for its request.
    """
    requests: list[Request | None] = []
    known: list[Target] = []
    named: str | None = None
    for number, target in enumerate(targets):
        if number == 0 and _same(target, request.endpoint):  # made ready before
            requests.append(request)
            known.append(msgspec.structs.replace(target, model=request.model))
            continue
        try:
            prepared = learner.await_(session.prepare(target=target))
        except ConfigError as error:
            prepared = None
            learner.note(tr("{name} cannot be used: {error}", name=target.name, error=error))
        if prepared is None:
            requests.append(None)
            known.append(target)
            continue
        verdict = prepared.verdict
        if verdict is None and prepared.model is None:
            verdict, _ = model_missing(prepared)
        if verdict is not None:
            learner.note(
                tr("{name} cannot be used: {message}", name=target.name, message=verdict.message)
            )
            requests.append(None)
            known.append(target)
            continue
        mine = replace(request, endpoint=prepared.endpoint, model=prepared.model or "")
        requests.append(mine)
        named = prepared.endpoint.model if target.embedded else named
        geometry = prepared.engine_geometry
        known.append(
            msgspec.structs.replace(
                target,
                model=prepared.model,
                weights_bytes=geometry.weights_bytes if geometry else None,
                kv_bytes_per_token=geometry.kv_bytes_per_token if geometry else None,
            )
        )
    return requests, _with_logits(named, known, learner)


def _same(target: Target, endpoint: Endpoint) -> bool:
    """Whether a target is the endpoint that the run was begun with."""
    if target.base_url is not None:
        return target.base_url.strip().rstrip("/") == endpoint.base_url
    return target.profile is not None and target.profile == endpoint.profile


def _with_logits(
    model: str | None,
    known: Sequence[Target],
    learner: Learner,
) -> tuple[Target, ...]:
    """Beside each precision of the embedded engine what it does to the logits."""
    wanted = [t for t in known if t.embedded and t.fidelity is None]
    if len({(t.weights, t.kv_dtype) for t in wanted}) < 2:
        return tuple(known)
    learner.note(tr("Comparing the logits of each precision with float32's over a fixed text."))
    pairs = [(t.weights, t.kv_dtype) for t in wanted]
    work: Future[list[Measured]] = Future()
    arguments = model, pairs, work
    threading.Thread(target=_measure, args=arguments, name="kvtui-logits", daemon=True).start()
    try:
        rows = learner.await_(work)
    except ValueError as error:
        learner.note(str(error))
        rows = None
    if rows is None:
        return tuple(known)
    found = {(row.weights, row.kv_dtype): msgspec.convert(asdict(row), Fidelity) for row in rows}
    return tuple(
        msgspec.structs.replace(t, fidelity=found.get((t.weights, t.kv_dtype), t.fidelity))
        if t.embedded
        else t
        for t in known
    )


def _measure(
    model: str | None, pairs: Sequence[tuple[str, str]], work: Future[list[Measured]]
) -> None:
    from kvtui.engine.errors import EngineError
    from kvtui.engine.fidelity import measure

    try:
        work.set_result(measure(model, pairs))
    except EngineError as error:
        work.set_exception(ValueError(str(error)))
