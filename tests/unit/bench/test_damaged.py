"""Damaged records, at random: refused in one sentence, or read as far as they go; never a crash."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kvtui.bench.evaluation.imports import read_side
from kvtui.bench.evaluation.results import results_of
from kvtui.bench.evaluation.sides import SideError
from kvtui.bench.export import SHAPES
from kvtui.bench.export.forms import export_text
from kvtui.bench.records.entries import entry_of
from kvtui.bench.records.record import RecordError, read_record
from kvtui.bench.records.replay import Replay
from tests.unit.bench.recorded import Done, asked, bench_of, single

FIXTURES = Path(__file__).parents[2] / "fixtures" / "records"
SEEDS = 120
ODD: tuple[Any, ...] = (None, -1, 1 << 63, 1e308, "x", [], {}, True, [None], {"a": 1}, "9" * 50)


def changed(value: Any, random: Random) -> Any:
    """A JSON value with something odd somewhere in it."""
    if isinstance(value, dict) and value:
        key = random.choice(list(value))
        inner = changed(value[key], random) if random.random() < 0.4 else random.choice(ODD)
        return {**value, key: inner}
    if isinstance(value, list) and value:
        at = random.randrange(len(value))
        return [*value[:at], changed(value[at], random), *value[at + 1 :]]
    return random.choice(ODD)


def damaged(data: bytes, random: Random) -> bytes:
    """Bytes changed or lost, or a line that says something odd."""
    if random.random() < 0.3:
        raw = bytearray(data)
        for _ in range(random.randrange(1, 6)):
            at = random.randrange(len(raw))
            if random.random() < 0.5:
                raw[at] = random.randrange(256)
            else:
                del raw[at : at + random.randrange(1, 200)]
        return bytes(raw)
    lines = data.splitlines()
    at = random.randrange(len(lines)) if random.random() < 0.6 else 0
    with suppress(ValueError):  # the fixture that was killed ends in half a line
        lines[at] = json.dumps(changed(json.loads(lines[at]), random)).encode()
    return b"\n".join(lines) + b"\n"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("sources")
    (folder / "run").mkdir()
    paths = [
        single(folder / "run", Done(asked(index=0)), Done(asked(index=1))),
        bench_of(folder / "b.jsonl", [1.0, None, 2.0]),
        *FIXTURES.iterdir(),
    ]
    return [path.read_bytes() for path in paths]


def replayed(path: Path) -> object:
    replay = Replay.read(path)
    return [replay.document(), [replay.request(one) for one in replay.recordings]]


def test_damage_is_said_or_passed_over(sources: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    readers: tuple[Callable[[Path], object], ...] = (
        entry_of,
        read_side,
        replayed,
        lambda p: [export_text(results_of(read_record(p)), shape) for shape in SHAPES],
    )
    for seed in range(SEEDS):
        random = Random(seed)
        path.write_bytes(damaged(random.choice(sources), random))
        for read in readers:
            said = ""
            try:
                read(path)
            except (RecordError, SideError) as error:
                said = str(error)
            assert not said or str(path) in said, seed
            assert "\n" not in said, seed


@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens", "cached_prompt_tokens"])
@pytest.mark.parametrize("tokens", [-1, 1 << 63, 10**400])
def test_a_count_beyond_any_server_s_is_damage(tmp_path: Path, name: str, tokens: int) -> None:
    path = bench_of(tmp_path / "b.jsonl", [1.0, 2.0])
    told = b'"index":1,"%s":%d,' % (name.encode(), tokens)
    path.write_bytes(path.read_bytes().replace(b'"index":1,', told))
    with pytest.raises(RecordError, match=re.escape(str(path))):
        read_record(path)
    assert entry_of(path).finished


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"stage":0,', '"stage":1000000000,'),
        ('"stage":0,', '"stage":-1,'),
        ('"index":1,', '"index":-5,'),
        ('"index":1,', '"index":1,"segment":-1,'),
    ],
)
def test_a_request_of_no_level_is_said_in_one_sentence(tmp_path: Path, old: str, new: str) -> None:
    path = bench_of(tmp_path / "b.jsonl", [1.0, 2.0])
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(RecordError, match=re.escape(str(path))) as error:
        read_record(path)
    assert "\n" not in str(error.value)
    with suppress(SideError):
        read_side(path)
    entry_of(path)
    with suppress(RecordError):
        replayed(path)


def test_a_line_nested_without_end_is_counted_as_torn(tmp_path: Path) -> None:
    path = bench_of(tmp_path / "b.jsonl", [1.0, 2.0])
    head, *rest = path.read_bytes().splitlines()
    deep = b"[" * 100_000 + b"]" * 100_000
    lines = [head, deep, b'{"type":"request","a":' + deep + b"}", *rest, deep]
    path.write_bytes(b"\n".join(lines) + b"\n")
    record = read_record(path)
    assert (record.torn, len(record.samples), record.finished) == (3, 2, True)
    assert entry_of(path).finished
    read_side(path)
    replayed(path)
    for first in (deep, b'{"type":"run","x":' + deep + b"}"):
        path.write_bytes(first + b"\n")
        with pytest.raises(RecordError):
            read_record(path)
        assert entry_of(path).broken
        with pytest.raises(SideError):
            read_side(path)


def test_a_record_that_another_program_wrote_anew_is_replayed(tmp_path: Path) -> None:
    path = bench_of(tmp_path / "b.jsonl", [1.0, 2.0])

    def played() -> object:
        return replace(Replay.read(path).recordings[0].figures(), started_at="")

    whole = played()
    for keys in (False, True):
        tables = map(json.loads, path.read_text().splitlines())
        lines = [json.dumps(table, sort_keys=keys) for table in tables]
        path.write_text("\n".join(lines) + "\n")
        assert played() == whole
        assert len(read_record(path, requests=False).samples) == 0


@pytest.mark.parametrize("request_", [None, 1])
def test_requests_that_cannot_be_read_are_not_said_to_be_missing(
    tmp_path: Path, request_: int | None
) -> None:
    path = bench_of(tmp_path / "b.jsonl", [1.0, 2.0])
    path.write_text(path.read_text().replace('"index":', '"index":"x","was":'))
    with pytest.raises(RecordError, match="None of its 2 requests can be read"):
        Replay.read(path, request_)
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(RecordError, match="holds no request"):
        Replay.read(path, request_)
