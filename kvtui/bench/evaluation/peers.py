"""Result files of vllm bench serve, guidellm, llama-benchy and aiperf, as sides of a comparison.

Their figures are brought to this project's definitions where the files allow it: TPOT is
(last − first) / (N − 1) a request, and what a file does not hold stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kvtui.bench.evaluation.sides import Side, SideLevel, clean, known
from kvtui.bench.records.schema import UNREADABLE
from kvtui.language import tr

_VLLM = ("ttft", "tpot", "e2el", "itl")


# --- vllm bench serve -----------------------------------------------------------------------------


def vllm(path: Path, table: Mapping[str, Any]) -> Side:
    """Its result file; single requests only where it was asked for them (--save-detailed)."""
    values: dict[str, tuple[float, ...]] = {}
    if table.get("ttfts"):
        errors = table.get("errors") or [""] * len(table["ttfts"])
        lengths = table["output_lens"]
        rows = [
            (ttft, sum(itls), n)
            for ttft, itls, n, error in zip(
                table["ttfts"], table["itls"], lengths, errors, strict=True
            )
            if not error and n
        ]
        values["ttft_ms"] = clean([ttft for ttft, _, _ in rows], 1000)
        values["tpot_ms"] = clean([span / (n - 1) for _, span, n in rows if n > 1], 1000)
        values["decode_tps"] = clean([(n - 1) / span for _, span, n in rows if n > 1 and span])
        values["e2e_ms"] = clean([ttft + span for ttft, span, _ in rows], 1000)
    stats: dict[str, dict[str, float]] = {}
    for short in _VLLM:
        name = {"e2el": "e2e_ms"}.get(short, f"{short}_ms")
        stats[name] = {
            ("p50" if stat == "median" else stat): float(value)
            for stat in ("mean", "median", "p50", "p90", "p95", "p99")
            if (value := table.get(f"{stat}_{short}_ms")) is not None
        }
        if stats[name]:
            stats[name]["n"] = float(table["completed"])
    rate = table.get("request_rate")
    scalars = {
        "output_tps": table.get("output_throughput"),
        "request_rate": table.get("request_throughput"),
        "goodput_rate": table.get("request_goodput"),
        "completed": table["completed"],
        "failed": table.get("failed", 0),
    }
    limit = table.get("max_concurrency")
    row = SideLevel(
        label=f"c={limit}" if limit else "all at once",
        concurrency=limit,
        rate=rate if isinstance(rate, int | float) and rate < 1e9 else None,
        max_tokens=_same(table.get("output_lens") or ()),
        values={name: found for name, found in values.items() if found},
        stats=stats,
        scalars=known(scalars),
        output_tokens=table.get("total_output_tokens"),
    )
    return Side(path.name, "vllm bench serve", table.get("model_id"), (row,))


# --- guidellm -------------------------------------------------------------------------------------


def guidellm(path: Path, table: Mapping[str, Any]) -> Side:
    """Its report; a level for each of its benchmarks."""
    rows = []
    model: str | None = None
    for bench in table["benchmarks"]:
        config = bench.get("config") or bench.get("args") or {}
        strategy = config.get("strategy") or {}
        backend = config.get("backend") or {}
        model = model or backend.get("model") or bench.get("model")
        requests = bench.get("requests") or {}
        done = requests.get("successful") or []
        metrics = bench.get("metrics") or {}
        totals = (metrics.get("request_totals") or {}) if isinstance(metrics, Mapping) else {}
        done = sorted(done, key=lambda r: r.get("request_start_time") or 0)
        values = {
            "ttft_ms": clean([r.get("time_to_first_token_ms") for r in done]),
            "tpot_ms": clean([r.get("inter_token_latency_ms") for r in done]),
            "e2e_ms": clean([r.get("request_latency") for r in done], 1000),
        }
        values["decode_tps"] = clean([1000 / v for v in values["tpot_ms"] if v])
        scalars = {
            "output_tps": _mean(metrics, "output_tokens_per_second"),
            "request_rate": _mean(metrics, "requests_per_second"),
            "completed": totals.get("successful", len(done)),
            "failed": totals.get("errored", len(requests.get("errored") or [])),
        }
        counts = [r.get("output_tokens") for r in done]
        kind = strategy.get("type_")
        concurrency = strategy.get("streams") or strategy.get("max_concurrency")
        if kind == "synchronous":
            concurrency = 1
        stats = {
            ours: found
            for ours, theirs, scale in (
                ("ttft_ms", "time_to_first_token_ms", 1.0),
                ("tpot_ms", "inter_token_latency_ms", 1.0),
                ("e2e_ms", "request_latency", 1000.0),
            )
            if (found := _guidellm_stats(metrics, theirs, scale))
        }
        rows.append(
            SideLevel(
                label=f"{kind or 'benchmark'} {concurrency or strategy.get('rate') or ''}".strip(),
                concurrency=concurrency,
                rate=strategy.get("rate"),
                max_tokens=_same(counts),
                values={name: found for name, found in values.items() if found},
                stats=stats,
                scalars=known(scalars),
                output_tokens=sum(n or 0 for n in counts),
            )
        )
    return Side(path.name, "guidellm", model, tuple(rows))


def _guidellm_stats(metrics: Mapping[str, Any], name: str, scale: float) -> dict[str, float]:
    found = ((metrics.get(name) or {}).get("successful")) or {}
    if not found.get("count"):
        return {}
    stats = {"mean": found["mean"] * scale, "n": float(found["count"])}
    for stat, value in (found.get("percentiles") or {}).items():
        if stat in ("p50", "p90", "p95", "p99"):
            stats[stat] = value * scale
    return stats


def _mean(metrics: Mapping[str, Any], name: str) -> float | None:
    found = ((metrics.get(name) or {}).get("successful")) or {}
    mean = found.get("mean")
    return float(mean) if isinstance(mean, int | float) else None


# --- llama-benchy ---------------------------------------------------------------------------------


def benchy(path: Path, table: Mapping[str, Any]) -> Side:
    """It tells rates: TPOT is 1 / tg a request; the whole request it does not time."""
    rows = []
    for bench in table["benchmarks"]:
        rates = clean(_values(bench, "tg_req_throughput") or _values(bench, "tg_throughput"))
        ttfts = clean(_values(bench, "e2e_ttft") or _values(bench, "ttfr"))
        size = bench.get("response_size")
        context = bench.get("context_size") or 0
        rows.append(
            SideLevel(
                label=f"pp{bench.get('prompt_size')} tg{size}"
                + (f" @ d{context}" if context else "")
                + f" c={bench.get('concurrency')}",
                concurrency=bench.get("concurrency"),
                prompt_tokens=(bench.get("prompt_size") or 0) + context or None,
                max_tokens=size,
                values={
                    name: found
                    for name, found in (
                        ("ttft_ms", ttfts),
                        ("tpot_ms", tuple(1000 / v for v in rates if v > 0)),
                        ("decode_tps", rates),
                    )
                    if found
                },
                scalars={"completed": float(max(len(ttfts), len(rates)))},
                output_tokens=(size or 0) * len(rates),
            )
        )
    return Side(path.name, "llama-benchy", table.get("model"), tuple(rows))


def _values(bench: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = bench.get(name)
    return (found.get("values") or ()) if isinstance(found, Mapping) else ()


# --- aiperf ---------------------------------------------------------------------------------------

_AIPERF = (
    ("ttft_ms", "time_to_first_token"),
    ("tpot_ms", "inter_token_latency"),
    ("e2e_ms", "request_latency"),
    ("decode_tps", "output_token_throughput_per_user"),
)
_UNITS = {"ms": 1.0, "s": 1000.0, "sec": 1000.0, "us": 1e-3, "ns": 1e-6}


def aiperf(path: Path, table: Mapping[str, Any]) -> Side:
    """Its summary; the single requests lie beside it in another file (records, JSON Lines)."""
    stats = {}
    for ours, theirs in _AIPERF:
        found = table.get(theirs)
        if isinstance(found, Mapping) and found.get("count", 1):
            scale = _UNITS.get(str(found.get("unit")), 1.0) if ours.endswith("_ms") else 1.0
            stats[ours] = {
                ("mean" if stat == "avg" else "n" if stat == "count" else stat): (
                    float(found[stat]) * (1.0 if stat == "count" else scale)
                )
                for stat in ("avg", "p50", "p90", "p95", "p99", "min", "max", "count")
                if isinstance(found.get(stat), int | float)
            }
    config = table.get("input_config") or {}
    phase: Mapping[str, Any] = next(
        (p for p in config.get("phases") or [] if p.get("kind", "profiling") == "profiling"), {}
    )
    loadgen = config.get("loadgen") or {}
    errors = sum(int(e.get("count", 1)) for e in table.get("error_summary") or [])
    scalars = {
        "output_tps": _avg(table, "output_token_throughput"),
        "request_rate": _avg(table, "request_throughput"),
        "completed": _avg(table, "request_count"),
        "failed": errors,
    }
    output = table.get("output_sequence_length") or {}
    length = output.get("avg") if output.get("min") == output.get("max") else None
    total = _avg(table, "total_output_tokens")
    concurrency = phase.get("concurrency") or loadgen.get("concurrency")
    models = (config.get("models") or {}).get("items") or [{}]
    row = SideLevel(
        label=f"c={concurrency}" if concurrency else "profile",
        concurrency=concurrency,
        rate=phase.get("rate") or loadgen.get("request_rate"),
        max_tokens=round(length) if length else None,
        stats=stats,
        scalars=known(scalars),
        output_tokens=None if total is None else round(total),
    )
    note = tr("no single requests in it: give its records file (.jsonl) for a test")
    return Side(path.name, "aiperf", models[0].get("name"), (row,), (note,))


def _avg(table: Mapping[str, Any], name: str) -> float | None:
    found = table.get(name)
    value = found.get("avg") if isinstance(found, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def aiperf_lines(path: Path, data: bytes) -> Side:
    """Its records: one request a line."""
    requests: list[Mapping[str, Any]] = []
    failed = 0
    for line in data.splitlines():
        if not line.strip():
            continue
        try:
            table = msgspec.json.decode(line)
        except UNREADABLE:
            continue
        if table["metadata"].get("benchmark_phase", "profiling") != "profiling":
            continue
        if table.get("error") or table["metadata"].get("was_cancelled"):
            failed += 1
        else:
            requests.append(table)
    requests.sort(key=lambda r: r["metadata"].get("request_start_ns") or 0)
    values = {}
    for ours, theirs in _AIPERF:
        numbers = []
        for request in requests:
            found = request["metrics"].get(theirs) or {}
            scale = _UNITS.get(str(found.get("unit")), 1.0) if ours.endswith("_ms") else 1.0
            if isinstance(found.get("value"), int | float):
                numbers.append(found["value"] * scale)
        if numbers:
            values[ours] = clean(numbers)
    counts = [(r["metrics"].get("output_sequence_length") or {}).get("value") for r in requests]
    tokens = sum(n or 0 for n in counts)
    starts = [r["metadata"]["request_start_ns"] for r in requests]
    ends = [r["metadata"]["request_end_ns"] for r in requests]
    span = (max(ends) - min(starts)) / 1e9 if requests else 0.0
    edges = sorted([(t, 1) for t in starts] + [(t, -1) for t in ends])
    flying = peak = 0
    for _, step in edges:
        flying += step
        peak = max(peak, flying)
    scalars = {
        "output_tps": tokens / span if span else None,
        "request_rate": len(requests) / span if span else None,
        "completed": len(requests),
        "failed": failed,
    }
    row = SideLevel(
        label=f"c={peak}",
        concurrency=peak or None,
        max_tokens=_same(counts),
        values=values,
        scalars=known(scalars),
        output_tokens=tokens,
    )
    return Side(path.name, "aiperf", None, (row,) if requests else ())


def _same(values: Sequence[Any]) -> int | None:
    """The value that all share."""
    return int(values[0]) if values and values[0] and len(set(values)) == 1 else None
