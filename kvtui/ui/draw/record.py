"""What a run was, in three lines over its results: state, endpoint, requests, file, tags."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kvtui.language import counted, later, tr
from kvtui.text import one_line
from kvtui.ui.look.rows import Row, between, clip, clip_middle, crop, row

if TYPE_CHECKING:
    from kvtui.bench.evaluation.results import Results


def when_of(stamp: str) -> str:
    """A record's time as local time: ``2026-11-29 12:04``."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return one_line(stamp, 16)


def record_rows(results: Results, width: int) -> list[Row]:
    """Three lines."""
    record = results.record
    header = record.header
    endpoint = header.get("endpoint") or {}
    place = tr("embedded") if endpoint.get("embedded") else str(endpoint.get("base_url") or "—")
    place = one_line(place.split("://", 1)[-1], 60)
    model = one_line(str(endpoint.get("model") or "—"), 60)
    measured = [s.failed for s in record.samples if not s.warmup and not s.stopped]
    failed = sum(measured)
    done = (tr("● done"), "good") if record.finished else (tr("■ stopped, r resumes it"), "warn")
    requests = row(
        (counted(len(measured), later("{n} request"), later("{n} requests")), "text"),
        (
            tr(", ▲ {failed:,} failed", failed=failed) if failed else tr(", none failed"),
            "bad" if failed else "muted",
        ),
    )
    told = [when_of(str(header.get("created_at") or "")), f"kvtui {header.get('kvtui') or '—'}"]
    texts = {text for stage in record.workload.stages for text in stage.texts}
    if len(texts) == 1:
        told.append(f"❯ {one_line(texts.pop())}")
    if record.workload.slo:
        told.append(tr("limits {slo}", slo=record.workload.slo))
    if record.segments > 1:
        told.append(tr("in {segments} parts", segments=record.segments))
    if record.words is not None and record.words.measured:
        told.append(tr("prompt lengths exact to the server's tokens"))
    marks = " ".join(f"#{tag}" for tag in record.tags)
    note = one_line(record.note, 200)
    last = row((tr("file "), "muted"), (clip_middle(str(record.path), max(20, width - 6)), "text"))
    if marks or note:
        last = crop(row((f"{marks}  " if marks else "", "accent"), (note, "text")), width)
    return [
        between(row(done, "  ", (f"{place} ▸ {model}", "strong")), requests, width),
        row((clip(" · ".join(map(str, told)), width), "muted")),
        last,
    ]
