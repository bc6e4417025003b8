"""A run as the JSON object of ``kvtui bench --json`` (schema ``kvtui.bench/1``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kvtui.bench.evaluation.findings import findings_of
from kvtui.bench.figures.finding import Finding
from kvtui.bench.figures.levels import Level
from kvtui.bench.figures.quantiles import METHOD
from kvtui.bench.figures.summary import levels_of
from kvtui.bench.records.record import Record
from kvtui.bench.work.workload import as_table
from kvtui.language import in_english, translated

SCHEMA = "kvtui.bench/1"

_ELSEWHERE = ("stages", "targets", "rooms", "unfit")
"""Of the workload, what the object has in a place of its own, or nowhere."""
FORMULAS = {
    "ttft_ms": "t_first − t_send, over complete, cold requests",
    "tpot_ms": "(t_last − t_first) / (N − n_first)",
    "decode_tps": "1000 / tpot_ms",
    "e2e_ms": "t_last − t_send",
    "output_tps": "tokens of completed requests / (last t_last − first t_send)",
    "steady_output_tps": "tokens that came while all streams were in use / that time",
    "request_rate": "completed requests / (last t_last − first t_send)",
    "goodput_rate": "completed requests within the limits / (last t_last − first t_send)",
}


@dataclass(frozen=True, slots=True)
class Results:
    """What a record amounts to."""

    record: Record
    levels: Sequence[Level]
    findings: Sequence[Finding]


def results_of(record: Record) -> Results:
    """The levels and findings of a record, whole or half done."""
    levels = levels_of(record.workload, record.samples, record.health, record.ended_early)
    findings = findings_of(
        record.workload,
        levels,
        record.samples,
        words=record.words,
        targets=record.targets,
    )
    return Results(record, levels, findings)


def document(results: Results, *, interrupted: bool = False) -> dict[str, Any]:
    """The whole object, in English; what is unknown is None."""
    record = results.record
    header = record.header
    endpoint: Mapping[str, Any] = header.get("endpoint") or {}
    findings = results.findings
    if translated():
        with in_english():
            findings = results_of(record).findings
    failures = (s for s in record.samples if s.failed)
    failure = min(failures, key=lambda s: s.warmup, default=None)  # the first one that counts
    return {
        "schema": SCHEMA,
        "preset": record.workload.preset,
        "endpoint": {
            "base_url": endpoint.get("base_url"),
            "model": endpoint.get("model"),
            "key_from": endpoint.get("key_from"),
            "embedded": endpoint.get("embedded"),
        },
        "targets": [
            msgspec.to_builtins(target) for target in record.targets or record.workload.targets
        ],
        "started_at": header.get("created_at"),
        "kvtui": header.get("kvtui"),
        "machine": header.get("machine"),
        "record": str(record.path),
        "finished": record.finished,
        "interrupted": interrupted,
        "settings": {
            name: value
            for name, value in as_table(record.workload).items()
            if name not in _ELSEWHERE
        }
        | {"ignore_eos": record.ignore_eos, "segments": record.segments},
        "memory": [msgspec.to_builtins(room) for room in record.workload.rooms],
        "levels": [msgspec.to_builtins(row) for row in results.levels],
        "findings": [finding.table() for finding in findings],
        "failure": failure and failure.failure,
        "formulas": FORMULAS,
        "intervals": METHOD,
        "tags": list(record.tags),
        "note": record.note,
    }


def unsent(
    preset: str,
    base_url: str | None,
    model: str | None,
    failure: Any,
    *,
    interrupted: bool = False,
) -> dict[str, Any]:
    """The object of a run that could not begin."""
    return {
        "schema": SCHEMA,
        "preset": preset,
        "endpoint": {"base_url": base_url, "model": model, "key_from": None, "embedded": False},
        "record": None,
        "finished": False,
        "interrupted": interrupted,
        "levels": [],
        "findings": [],
        "failure": failure,
    }
