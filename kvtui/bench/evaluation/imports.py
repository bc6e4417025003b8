"""Which tool wrote a file; kvtui's own records and JSON as sides of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kvtui.bench.evaluation import peers
from kvtui.bench.evaluation.sides import Side, SideError, SideLevel, clean, known
from kvtui.bench.records.schema import UNREADABLE
from kvtui.language import tr
from kvtui.reading import read_at_most

if TYPE_CHECKING:
    from kvtui.bench.figures.sample import Sample, is_warm

_MOST_FILE = 1 << 30
_TESTABLE = ("ttft_ms", "tpot_ms", "e2e_ms", "decode_tps")
_BEGIN = b'{"type":"run"'
"""How a record begins: its lines are read one by one, however many there are."""


def read_side(path: Path) -> Side:
    """The levels in a file: a record, kvtui's own JSON, or another tool's results.

    Raises:
        SideError: It cannot be read, or is of no known kind.
    """
    try:
        if path.is_file():  # a pipe can be read once only
            with path.open("rb") as file:
                ours = file.read(len(_BEGIN)) == _BEGIN
            if ours:
                return _whole(path, _record(path))
        if path.stat().st_size > _MOST_FILE or path.is_char_device():  # without an end
            raise SideError(
                tr("{path} is larger than {most} GiB.", path=path, most=_MOST_FILE >> 30)
            )
        data = read_at_most(path, _MOST_FILE)
    except OSError as error:
        raise SideError(
            tr("{path} cannot be read: {error}.", path=path, error=error.strerror or error)
        ) from None
    try:
        side = side_of(path, data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        if isinstance(error, SideError):
            raise
        raise SideError(
            tr("{path}: what is in it is not as expected ({error!r}).", path=path, error=error)
        ) from None
    return _whole(path, side)


def _whole(path: Path, side: Side) -> Side:
    if not side.levels:
        raise SideError(tr("{path} holds no finished request.", path=path))
    return side


def side_of(path: Path, data: bytes) -> Side:
    """The side in a file's content."""
    first = data.lstrip()[:1]
    if first != b"{":
        raise SideError(
            tr("{path} is no result file that is known here: it is no JSON object.", path=path)
        )
    try:
        table = msgspec.json.decode(data)
    except UNREADABLE:
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
        return peers.guidellm(path, table)
    if "aiperf_version" in table or "time_to_first_token" in table:
        return peers.aiperf(path, table)
    if several:
        return peers.benchy(path, table)
    if "completed" in table and ("median_ttft_ms" in table or "ttfts" in table):
        return peers.vllm(path, table)
    if "metadata" in table and "metrics" in table:
        return _lines(path, data)
    raise SideError(
        tr(
            "{path} is of no known kind: a record of kvtui, its --json, or the result file"
            " of vllm bench serve, guidellm, llama-benchy or aiperf is wanted.",
            path=path,
        )
    )


def _lines(path: Path, data: bytes) -> Side:
    """JSON Lines: our records, aiperf's."""
    try:
        head = msgspec.json.decode(data.lstrip().split(b"\n", 1)[0])
    except UNREADABLE:
        raise SideError(tr("{path} is not valid JSON.", path=path)) from None
    if head.get("type") == "run":
        return _record(path)
    if "metadata" in head and "metrics" in head:
        return peers.aiperf_lines(path, data)
    raise SideError(tr("{path} holds lines of no known kind.", path=path))


# --- kvtui ----------------------------------------------------------------------------------------


def _record(path: Path) -> Side:
    from kvtui.bench.figures.summary import kind_of, levels_of, template_of
    from kvtui.bench.records.record import RecordError, read_record

    try:
        record = read_record(path)
    except RecordError as error:
        raise SideError(str(error)) from None
    labels = [kind_of(stage).label for stage in record.workload.stages]
    template = template_of(record.workload, record.samples)
    series: dict[str, _Series] = {}
    for sample in record.samples:
        if sample.completed and not sample.warmup:
            series.setdefault(labels[sample.stage], _Series()).add(sample, template)
    rows = []
    for row in levels_of(record.workload, record.samples, record.health, record.ended_early):
        values = series.get(row.label, _Series()).values()
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
                scalars=known(scalars),
                output_tokens=row.output_tokens,
            )
        )
    model = (record.header.get("endpoint") or {}).get("model")
    return Side(path.name, "kvtui", model, tuple(rows))


class _Series:
    """The figures of a level's requests, in the order in which they were sent."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, float, bool, tuple[float | None, ...]]] = []

    def add(self, sample: Sample, template: int) -> None:
        """A request that completed."""
        at = sample.stage, sample.segment, sample.start_s
        figures = tuple(getattr(sample, name) for name in _TESTABLE)
        self._rows.append((*at, sample.warm(template), figures))

    def values(self) -> dict[str, tuple[float, ...]]:
        """Each figure's; of TTFT those of cold requests, where there are any."""
        rows = sorted(self._rows, key=lambda row: row[:3])
        found = {name: clean([row[4][at] for row in rows]) for at, name in enumerate(_TESTABLE)}
        cold = [row for row in rows if not row[3]] or rows
        return {**found, "ttft_ms": clean([row[4][0] for row in cold])}


def _bench(path: Path, table: Mapping[str, Any]) -> Side:
    record = table.get("record")
    if record and (place := Path(record)).is_file():
        side = _record(place)
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
                scalars=known({**scalars, "failed": sum(row["failed"].values())}),
                output_tokens=row.get("output_tokens"),
            )
        )
    note = tr("no single requests in it: nothing can be tested")
    return Side(path.name, "kvtui", table["endpoint"].get("model"), tuple(rows), (note,))


def _run(path: Path, table: Mapping[str, Any]) -> Side:
    from kvtui.bench.figures.summary import shared_of

    runs = [r for r in table["runs"] if not r["partial"]]
    counts = [(r["cached_prompt_tokens"], r["prompt_tokens"]) for r in runs]
    template = max((shared_of(*pair) for pair in counts), default=0)  # the same prompt takes more
    cold = [r for r in runs if not is_warm(r["cached_prompt_tokens"], template)]
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
