"""Whose files a comparison reads, and what ends a pipeline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from kvtui.bench.evaluation.compare import ConditionError, compare, parse_condition
from kvtui.bench.evaluation.imports import read_side
from kvtui.bench.evaluation.sides import Side, SideError, SideLevel, apart, pairs_of
from kvtui.bench.figures.sample import Sample
from kvtui.bench.records.recorder import Recorder, header_of
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.running.progress import RequestEnded
from kvtui.bench.work.workload import Spec, expand
from kvtui.config import Endpoint
from kvtui.stream.request import Request
from tests.unit.bench.sides import claims, requests, side

PEERS = Path(__file__).parent.parent.parent / "fixtures" / "peers"


@pytest.mark.parametrize(
    ("name", "source", "ttft"),
    [
        ("vllm_bench_serve.json", "vllm bench serve", 203.3),
        ("guidellm.json", "guidellm", 209.3),
        ("llama_benchy.json", "llama-benchy", 202.7),
        ("aiperf.json", "aiperf", 207.7),
        ("aiperf_records.jsonl", "aiperf", 207.7),
    ],
)
def test_other_tools(name: str, source: str, ttft: float) -> None:
    """Each measured a server of 200 ms and 10 ms a token, ten times 128 tokens."""
    found = read_side(PEERS / name)
    (level,) = found.levels
    assert (found.source, level.concurrency, level.max_tokens) == (source, 1, 128)
    assert level.output_tokens == 1280
    assert level.scalars["completed"] == 10
    assert level.scalars.get("failed", 0) == 0
    assert level.stat("ttft_ms", "p50") == pytest.approx(ttft, abs=0.5)
    assert level.stat("tpot_ms", "p50") == pytest.approx(10, abs=0.1)
    assert level.stat("tpot_ms", "n") == 10
    if source != "llama-benchy":
        assert level.stat("e2e_ms", "p50") == pytest.approx(1475, abs=12)
        assert level.scalars["output_tps"] == pytest.approx(85.5, abs=2)


def test_results_without_single_requests(tmp_path: Path) -> None:
    table = json.loads((PEERS / "vllm_bench_serve.json").read_text())
    for name in ("ttfts", "itls", "input_lens", "output_lens", "errors", "generated_texts"):
        del table[name]
    path = tmp_path / "v.json"
    path.write_text(json.dumps(table))
    (level,) = read_side(path).levels
    assert level.stat("ttft_ms", "p50") == pytest.approx(203.3, abs=0.1)
    found = compare(read_side(path), read_side(PEERS / "aiperf.json"))
    assert {f.says for p in found.pairs for f in p.figures} == {"untested"}


def record(path: Path, tpot: float, n: int = 20) -> Path:
    endpoint = Endpoint("http://h/v1", "test")
    workload = expand(Spec(prompts=("Hi",), concurrency=(1, 2)), "own")
    recorder = Recorder(path)
    request = Request(endpoint, "m", "")
    recorder.create(header_of(Prepared(endpoint, "m"), request, workload, "n"))
    random = Random(tpot)
    for stage in (0, 1):
        for index, (ttft, each, e2e) in enumerate(
            zip(*requests(random, n, tpot).values(), strict=True)
        ):
            at = float(index)
            sample = Sample(
                stage=stage,
                index=index,
                start_s=at,
                send_s=at,
                first_s=at + ttft / 1000,
                last_s=at + e2e / 1000,
                end_s=at + e2e / 1000,
                ttft_ms=ttft,
                tpot_ms=each,
                e2e_ms=e2e,
                completion_tokens=128,
            )
            recorder.take(RequestEnded(sample))
    recorder.close()
    return path


def test_two_records(tmp_path: Path) -> None:
    one, other = record(tmp_path / "a", 10.0), record(tmp_path / "b", 11.0)
    found = compare(read_side(one), read_side(other))
    assert [p.label for p in found.pairs] == ["128 tokens, c=1", "128 tokens, c=2"]
    assert {f.figure for _, f in found.regressions} == {"tpot_ms", "e2e_ms"}
    same = compare(read_side(one), read_side(one))
    assert not claims(same)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"benchmarks": 3}', "hello", '{"a": 1}\n{"b"'])
def test_what_is_no_result_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(SideError) as error:
        read_side(path)
    assert str(path) in str(error.value)


def test_damaged_results_are_said(tmp_path: Path) -> None:
    for source in PEERS.iterdir():
        data = source.read_text()
        for broken in (data.replace('"metrics"', '"m"'), data.replace(": [", ": 3 + ["), data[:99]):
            path = tmp_path / source.name
            path.write_text(broken)
            try:
                read_side(path)
            except SideError as error:
                assert str(path) in str(error)  # noqa: PT017


def test_levels_that_differ_are_not_paired() -> None:
    one, other = side({"tpot_ms": [1.0]}, {"tpot_ms": [1.0]}), side({"tpot_ms": [1.0]})
    assert [(a.label, b.label) for a, b in pairs_of(one, other)] == [("c=1", "c=1")]
    alone = Side("y", "t", None, (SideLevel(label="c=9", concurrency=9),))
    assert pairs_of(one, alone) == []
    assert len(pairs_of(other, alone)) == 1  # one level each: compared whatever it was


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        (((1, None, 8), (1, None, 32)), ((1, None, 16),), "answers of 8, 32 against 16 tokens"),
        (((1, None, 8), (2, None, 8)), ((4, None, 8),), "1, 2 against 4 streams"),
        (
            ((1, None, 8), (2, None, 8)),
            ((1, 2.5, 8), (2, 2.5, 8)),
            "none set against 2.5 requests a second",
        ),
        (
            ((1, None, 8), (2, None, 8)),
            ((4, None, 16),),
            "1, 2 against 4 streams; answers of 8 against 16 tokens",
        ),
    ],
)
def test_what_keeps_levels_apart_is_named(
    ours: tuple[tuple[int, float | None, int], ...],
    theirs: tuple[tuple[int, float | None, int], ...],
    told: str,
) -> None:
    one, other = (
        Side("x", "t", None, tuple(
            SideLevel(label="question", concurrency=c, rate=r, max_tokens=n) for c, r, n in levels
        ))
        for levels in (ours, theirs)
    )  # fmt: skip
    assert pairs_of(one, other) == []
    assert apart(one, other) == told


# --- conditions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("tpot_ms.p50>1.1x", True),
        ("tpot_ms.p50>1.3x", False),
        ("tpot_ms>15%", True),
        ("tpot_ms.max >= 12", True),
        ("output_tps<0.9x", True),
        ("failed>0", False),
    ],
)
def test_conditions(text: str, hit: bool) -> None:
    def one(value: float, tps: float) -> Side:
        level = SideLevel(
            label="x", values={"tpot_ms": [value] * 9}, scalars={"output_tps": tps, "failed": 0}
        )
        return Side("x", "t", None, (level,))

    (pair,) = compare(one(10.0, 100.0), one(12.0, 80.0)).pairs
    condition = parse_condition(text)
    value = condition.value(pair)
    assert value is not None
    assert condition.hit(value) is hit


@pytest.mark.parametrize("text", ["", "tpot_ms", "tpt_ms>1x", "tpot_ms.p42>1x", "tpot_ms=1x"])
def test_a_wrong_condition_is_said(text: str) -> None:
    with pytest.raises(ConditionError):
        parse_condition(text)


Runs = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run() -> Runs:
    from click.testing import CliRunner

    from kvtui.commands.compare import compare as command

    def runs(*arguments: object) -> tuple[int, str, str]:
        done = CliRunner().invoke(command, [str(a) for a in arguments])
        return done.exit_code, done.stdout, done.stderr

    return runs


def test_the_command(tmp_path: Path, run: Runs) -> None:
    one, other = record(tmp_path / "a", 10.0), record(tmp_path / "b", 11.0)
    status, text, _ = run(one, other)
    assert status == 0
    assert "SLOWER: 128 tokens, c=1: TPOT p50 1." in text
    assert "Mann–Whitney U" in text
    status, text, _ = run(one, other, "--fail-on", "tpot_ms.p50>1.05x", "--json")
    table = json.loads(text)
    assert status == 1
    assert table["schema"] == "kvtui.compare/1"
    assert {r["figure"] for r in table["comparisons"][0]["regressions"]} == {"tpot_ms", "e2e_ms"}
    assert all(row["hit"] for row in table["comparisons"][0]["fail_on"])
    assert run(one, other, "--fail-on", "tpot_ms.p50>1.5x")[0] == 0
    status, text, _ = run(one, one)
    assert status == 0
    assert "No difference stands out" in text
    assert run(one)[0] == 2
    assert run(one, tmp_path / "nothing")[0] == 2
    assert run(one, PEERS / "aiperf.json", other)[0] == 0
    status, _, error = run(
        PEERS / "llama_benchy.json", PEERS / "guidellm.json", "--fail-on", "output_tps<0.9x"
    )
    assert status == 2
    assert "cannot be told" in error


def test_several_stand_side_by_side(
    tmp_path: Path, run: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTUI_RUNS", str(tmp_path))
    for name, tpot in (("a", 10.0), ("b", 10.0), ("c", 11.5)):
        record(tmp_path / f"run-{name}.jsonl", tpot)
    status, text, _ = run("run-a", "run-b", "run-c", "--fail-on", "tpot_ms.p50>1.1x")
    assert status == 1
    lines = text.splitlines()
    assert [line[:1] for line in lines[:3]] == ["A", "B", "C"]
    row = next(line.split() for line in lines if "TPOT p50" in line)
    assert (row[6:8], row[-1]) == (["1.000", "≈"], "SLOWER")
    assert any(line.startswith("SLOWER: C, 128 tokens, c=1: TPOT p50 1.1") for line in lines)
    assert not any(line.startswith("SLOWER: B") for line in lines)
    assert "FAILS tpot_ms.p50>1.1x: 128 tokens, c=1 of C has 1.1" in text
    assert run("run-a", "run-z")[0] == 2
    assert run("run-a", tmp_path)[0] == 2
