"""Each preset, killed half-way and gone on with, comes to what a whole run of it comes to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kvtui.bench.records.record import read_record
from kvtui.bench.records.schema import REQUEST
from kvtui.bench.running import presets_several
from kvtui.commands.bench import bench
from tests.wire.timing import TimingServer, timing_server

SERVED = {
    "article": ("--max-tokens", "2", "--repeat", "1"),
    "prefill": ("--prompt-tokens", "16,32", "--repeat", "1"),
    "kv-evidence": ("--max-tokens", "16", "--repeat", "1"),
    "quality-of-stream": ("--max-tokens", "16"),
    "sweep": ("--concurrency", "1,4", "--requests", "6", "--prompt", "Hi"),
    "compare-endpoints": ("--max-tokens", "8", "--requests", "4"),
}
EMBEDDED = {
    "article": ("--max-tokens", "2", "--repeat", "1"),
    "precision": ("--max-tokens", "2", "--repeat", "2", "--prompt", "Hi"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[TimingServer]:
    with timing_server("--ttft", "8", "--itl", "1", "-n", "48") as server:
        yield server


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "TAOTOKEN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KVTUI_CONFIG", str(tmp_path / "c.toml"))
    monkeypatch.setenv("KVTUI_STATE", str(tmp_path / "s.toml"))
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path / "runs"))


def run(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(bench, [*words, "--json"])
    assert done.exit_code == 0, done.output
    table: dict[str, Any] = json.loads(done.stdout)
    return table


def killed(whole: Path, path: Path) -> Counter[tuple[int, int, bool]]:
    """What a kill leaves half-way: the lines until then, and a part of one. The requests in it."""
    lines = whole.read_bytes().splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.startswith(REQUEST)]
    at = places[len(places) // 2]
    path.write_bytes(b"".join(lines[:at]) + lines[at][:40])
    return keys(path)


def keys(path: Path) -> Counter[tuple[int, int, bool]]:
    """How often each request stands in a record."""
    found: Counter[tuple[int, int, bool]] = Counter()
    for line in path.read_bytes().splitlines():
        if line.startswith(REQUEST) and line.endswith(b"}"):
            one = json.loads(line)
            found[one["stage"], one["index"], one.get("warmup", False)] += 1
    return found


def structure(table: dict[str, Any]) -> Any:
    """All of a result that does not hang on what was measured this time."""
    rows = [
        {name: row[name] for name in ("label", "target", "concurrency", "prompt_tokens_wanted",
                                      "max_tokens", "requests", "completed", "failed",
                                      "output_tokens", "short_outputs", "ended_early")}
        | {name: bool(row[name]) for name in ("e2e_ms", "client")}
        for row in table["levels"]
    ]  # fmt: skip
    return rows, table["finished"], table["failure"]


@pytest.mark.parametrize(
    ("preset", "flags", "served"),
    [(name, flags, True) for name, flags in SERVED.items()]
    + [(name, flags, False) for name, flags in EMBEDDED.items()],
)
def test_killed_half_way_and_resumed(
    server: TimingServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    preset: str,
    flags: tuple[str, ...],
    served: bool,
) -> None:
    # Two models to load instead of six; a record names its own.
    pairs = presets_several.PAIRS
    monkeypatch.setattr(presets_several, "PAIRS", (pairs[0], pairs[-1]))
    where: tuple[str, ...] = ("--base-url", f"{server.url}/v1", "--model", "plain") * served
    if preset == "compare-endpoints":
        where = ("--endpoint", f"plain@{server.url}/v1", "--endpoint", f"role@{server.url}/v1")
    whole, half = tmp_path / "whole.jsonl", tmp_path / "half.jsonl"
    first = run(preset, *flags, *where, "-o", str(whole))
    before = killed(whole, half)
    second = run("--resume", str(half))
    assert structure(second) == structure(first)
    assert second["settings"]["segments"] == 2
    said = [{finding["code"] for finding in table["findings"]} for table in (first, second)]
    chance = {"client_bound", "no_steady_window", "warm", "knee", "saturation", "few_tpot"}
    assert said[0] - chance == said[1] - chance
    after, wanted = keys(half), keys(whole)
    measured = {key: n for key, n in after.items() if not key[2]}
    assert measured == {key: n for key, n in wanted.items() if not key[2]}
    assert set(measured.values()) == {1}
    # A stage that is not through is warmed up anew; one that is, is not asked again.
    through = {stage for stage, _, warm in before if not warm} - {
        stage for (stage, _, warm), n in (after - before).items() if not warm
    }
    again = {stage for (stage, _, warm), n in after.items() if warm and n > 1}
    assert not again & through
    record = read_record(half)
    assert (record.torn, record.finished) == (1, True)
    assert record.header["nonce"] == read_record(whole).header["nonce"]
