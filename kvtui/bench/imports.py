"""Result files of kvtui and of other tools, as sides of a comparison.

Their figures are brought to this project's definitions where the files allow it: TPOT is
(last − first) / (N − 1) a request, and what a file does not hold stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kvtui.bench.sides import Side, SideError, SideLevel, clean

_VLLM = ("ttft", "tpot", "e2el", "itl")


def side_of(path: Path, data: bytes) -> Side:
    """The side in a file's content."""
    first = data.lstrip()[:1]
    if first != b"{":
        raise SideError(f"{path} is no result file that is known here: it is no JSON object.")
    try:
        table = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return _lines(path, data)
    schema = str(table.get("schema", ""))
    if schema.startswith("kvtui.record/"):
        return _record(path)
    if schema.startswith("kvtui.bench/"):
        return _bench(path, table)
    if schema.startswith("kvtui.run/"):
        return _run(path, table)
    several = isinstance(table.get("benchmarks"), list)
    if several and "metadata" in table:
        return _guidellm(path, table)
    if "aiperf_version" in table or "time_to_first_token" in table:
        return _aiperf(path, table)
    if several:
        return _benchy(path, table)
    if "completed" in table and ("median_ttft_ms" in table or "ttfts" in table):
        return _vllm(path, table)
    if "metadata" in table and "metrics" in table:
        return _lines(path, data)
    raise SideError(
        f"{path} is of no known kind: a record of kvtui, its --json, or the result file of vllm"
        " bench serve, guidellm, llama-benchy or aiperf is wanted."
    )


def _lines(path: Path, data: bytes) -> Side:
    """JSON Lines: our records, aiperf's."""
    try:
        head = msgspec.json.decode(data.lstrip().split(b"\n", 1)[0])
    except msgspec.DecodeError:
        raise SideError(f"{path} is not valid JSON.") from None
    if head.get("type") == "run":
        return _record(path)
    if "metadata" in head and "metrics" in head:
        return _aiperf_lines(path, data)
    raise SideError(f"{path} holds lines of no known kind.")


# --- kvtui ----------------------------------------------------------------------------------------


def _record(path: Path) -> Side:
    from kvtui.bench.record import RecordError, read_record
    from kvtui.bench.summary import kind_of, levels_of, template_of

    try:
        record = read_record(path)
    except RecordError as error:
        raise SideError(str(error)) from None
    stages = [kind_of(stage) for stage in record.workload.stages]
    template = template_of(record.workload, record.samples)
    rows = []
    for row in levels_of(record.workload, record.samples, record.health, record.ended_early):
        ours = [
            s
            for s in record.samples
            if s.completed and not s.warmup and stages[s.stage].label == row.label
        ]
        ours.sort(key=lambda s: (s.stage, s.segment, s.start_s))
        cold = [s for s in ours if not s.warm(template)]
        names = ("tpot_ms", "e2e_ms", "decode_tps")
        values = {name: clean([getattr(s, name) for s in ours]) for name in names}
        values["ttft_ms"] = clean([s.ttft_ms for s in cold or ours])
        scalars: dict[str, Any] = {
            "output_tps": row.output_tps,
            "steady_output_tps": row.steady_output_tps,
            "request_rate": row.request_rate,
            "goodput_rate": row.goodput_rate,
            "completed": row.completed,
            "failed": sum(row.failed.values()),
        }
        rows.append(
            SideLevel(
                label=row.label,
                concurrency=row.concurrency,
                rate=row.rate,
                prompt_tokens=row.prompt_tokens_wanted,
                max_tokens=row.max_tokens,
                kv_cache=row.kv_cache,
                values=values,
                scalars=_known(scalars),
                output_tokens=row.output_tokens,
            )
        )
    model = (record.header.get("endpoint") or {}).get("model")
    return Side(path.name, "kvtui", model, tuple(rows))


def _bench(path: Path, table: Mapping[str, Any]) -> Side:
    record = table.get("record")
    if record and (known := Path(record)).is_file():
        side = _record(known)
        return Side(path.name, side.source, side.model, side.levels)
    rows = []
    for row in table["levels"]:
        stats = {
            name: {k: v for k, v in row[name].items() if isinstance(v, int | float)}
            for name in ("ttft_ms", "tpot_ms", "e2e_ms", "decode_tps")
            if row.get(name)
        }
        scalars = {
            name: row.get(name)
            for name in ("output_tps", "steady_output_tps", "request_rate", "completed")
        }
        rows.append(
            SideLevel(
                label=row["label"],
                concurrency=row["concurrency"],
                rate=row.get("rate"),
                prompt_tokens=row.get("prompt_tokens_wanted"),
                max_tokens=row.get("max_tokens"),
                kv_cache=row.get("kv_cache"),
                stats=stats,
                scalars=_known({**scalars, "failed": sum(row["failed"].values())}),
                output_tokens=row.get("output_tokens"),
            )
        )
    note = "no single requests in it: nothing can be tested"
    return Side(path.name, "kvtui", table["endpoint"].get("model"), tuple(rows), (note,))


def _run(path: Path, table: Mapping[str, Any]) -> Side:
    runs = [r for r in table["runs"] if not r["partial"]]
    cold = [r for r in runs if not r["cached_prompt_tokens"]]
    values = {
        name: clean([r[name] for r in (cold if name == "ttft_ms" else runs)])
        for name in ("ttft_ms", "tpot_ms", "e2e_ms", "decode_tps")
    }
    failed = len(table["runs"]) - len(runs)
    row = SideLevel(
        label="run",
        concurrency=1,
        values=values,
        scalars={"completed": len(runs), "failed": failed},
        output_tokens=sum(r["completion_tokens"] or 0 for r in runs),
    )
    return Side(path.name, "kvtui", table["endpoint"].get("model"), (row,) if runs else ())


# --- vllm bench serve -----------------------------------------------------------------------------


def _vllm(path: Path, table: Mapping[str, Any]) -> Side:
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
        scalars=_known(scalars),
        output_tokens=table.get("total_output_tokens"),
    )
    return Side(path.name, "vllm bench serve", table.get("model_id"), (row,))


# --- guidellm -------------------------------------------------------------------------------------


def _guidellm(path: Path, table: Mapping[str, Any]) -> Side:
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
                scalars=_known(scalars),
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


def _benchy(path: Path, table: Mapping[str, Any]) -> Side:
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


def _aiperf(path: Path, table: Mapping[str, Any]) -> Side:
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
        scalars=_known(scalars),
        output_tokens=None if total is None else round(total),
    )
    note = "no single requests in it: give its records file (.jsonl) for a test"
    return Side(path.name, "aiperf", models[0].get("name"), (row,), (note,))


def _avg(table: Mapping[str, Any], name: str) -> float | None:
    found = table.get(name)
    value = found.get("avg") if isinstance(found, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def _aiperf_lines(path: Path, data: bytes) -> Side:
    """Its records: one request a line."""
    requests: list[Mapping[str, Any]] = []
    failed = 0
    for line in data.splitlines():
        if not line.strip():
            continue
        try:
            table = msgspec.json.decode(line)
        except msgspec.DecodeError:
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
        scalars=_known(scalars),
        output_tokens=tokens,
    )
    return Side(path.name, "aiperf", None, (row,) if requests else ())


def _same(values: Sequence[Any]) -> int | None:
    """The value that all share."""
    return int(values[0]) if values and values[0] and len(set(values)) == 1 else None


def _known(table: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in table.items() if value is not None}
