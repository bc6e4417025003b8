"""Records of anybody's: whatever a command prints of one, the terminal obeys nothing of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import kvtui.commands
from kvtui.bench.export import SHAPES
from kvtui.commands.compare import compare
from kvtui.commands.output import put, run_guarded
from kvtui.commands.replay import replay
from kvtui.commands.runs import runs
from tests.unit.bench.recorded import bench_of

EVIL = "\x1b]0;OWN\x07\x1b[2J\x9b31m\x7f\u202eevil\u2028\r\b\x00"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")
_KEPT = ("type", "schema", "kind", "preset", "ops", "is", "arrival", "token_source", "started_at")


def hostile(value: Any, key: str = "") -> Any:
    """A JSON value with the same numbers, and every text in it hostile."""
    if isinstance(value, dict):
        return {name: hostile(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, key) for inner in value]
    return EVIL if isinstance(value, str) and key not in _KEPT else value


@pytest.fixture(params=["whole", "bad cls", "bad type"])
def evil(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of the folder with a hostile name and hostile texts, or a field that is refused."""
    folder = tmp_path / "runs"
    folder.mkdir()
    monkeypatch.setenv("KVTUI_RUNS", str(folder))
    path = bench_of(folder / "evil\x1b[31m\u202e=1.jsonl", [1.0, None, 2.0])
    tables = [hostile(json.loads(line)) for line in path.read_text().splitlines()]
    tables.append({"type": "meta", "tags": [EVIL], "note": EVIL})
    if request.param == "bad cls":
        tables.insert(2, {"type": "request", "stage": 0, "index": EVIL})
    if request.param == "bad type":
        tables.insert(2, {"type": "health", "stage": 0, EVIL: EVIL})
        tables[0]["workload"]["arrival"] = EVIL
    path.write_text("\n".join(map(json.dumps, tables)) + "\n")
    return path


def test_nothing_of_a_record_is_obeyed(evil: Path) -> None:
    name = str(evil)
    for command, words in (
        (runs, []),
        (runs, ["list", "evil"]),
        (runs, ["tag", name, "fine"]),
        (runs, ["note", name, EVIL]),
        (runs, ["delete", name]),
        *((runs, ["show", name, "--format", shape]) for shape in SHAPES),
        (compare, [name, name]),
        (compare, [name, name, "--json"]),
        (compare, [name, name, "--fail-on", f"{EVIL}>1x"]),
        (replay, [name, "--json"]),
        (replay, [EVIL, "--json"]),
    ):
        done = CliRunner().invoke(command, words)
        assert done.output.strip(), words
        assert not OBEYED.search(done.output), (words, done.output)


def test_no_usage_error_is_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse() -> None:
        raise click.UsageError(f"No such thing: {EVIL}")

    assert run_guarded(refuse) == 2
    told = capsys.readouterr().err
    assert "No such thing" in told
    assert not OBEYED.search(told)


def test_a_style_is_put_round_what_is_harmless() -> None:
    @click.command()
    def say() -> None:
        put("\x1b[2Jx", bold=True)

    shown = CliRunner().invoke(say, color=True).output
    assert re.sub("\x1b\\[[01]m", "", shown) == "\u241b[2Jx\n"


def test_all_that_commands_print_goes_one_way() -> None:
    folder = Path(kvtui.commands.__path__[0])
    others = {
        path.name
        for path in folder.glob("*.py")
        if re.search(r"click\.s?echo|\bprint\(", path.read_text())
    }
    assert others == {"output.py"}
