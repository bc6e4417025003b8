"""README: what it names is there, and what is printed is named."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from kvtui.bench.evaluation.results import document as bench_document
from kvtui.bench.evaluation.results import results_of
from kvtui.bench.records import store
from kvtui.bench.records.history import RunHistory
from kvtui.bench.records.record import read_record
from kvtui.bench.requests.document import document, failure_object
from kvtui.bench.requests.targets import Fidelity, Target
from kvtui.bench.work.room import Room
from kvtui.bench.work.workload import Goal, Spec
from kvtui.commands.group import kvtui
from kvtui.failure import Evidence, Verdict
from kvtui.ui.commands import COMMANDS
from tests.unit.bench.recorded import Done, asked

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def lines() -> list[str]:
    """The commands that README shows, one each, comments and pipes taken off."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))
    parts = [
        part.strip().removeprefix(".venv/bin/")
        for line in blocks.splitlines()
        for part in re.split(r"\s{2,}|\||&&", line.partition("#")[0])
    ]
    shown = [part for part in parts if re.match(r"kvtui\b", part)]
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    shown += re.findall(r"[`… ](kvtui(?: [^`|]+)?)`", prose)
    return [" ".join(line.split()) for line in shown]


@pytest.mark.parametrize("line", sorted(set(lines())))
def test_every_command_of_the_readme_is_one(line: str) -> None:
    words = shlex.split(line)[1:]
    command: click.Command = kvtui
    context = click.Context(kvtui, info_name="kvtui")
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None and command is not kvtui:
            break  # a word for a group that takes some itself
        assert found is not None, f"{words[0]} is no command"
        command, context = found, click.Context(found, info_name=words[0], parent=context)
        words = words[1:]
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= known | {"--help"}


def test_every_key_of_the_readme_is_one() -> None:
    keys = {key for command in COMMANDS for key in command.keys}
    screen = README[README.index("Five minutes with it") : README.index("No other machine")]
    cells = " ".join(line.split("|")[1] for line in screen.splitlines() if line.startswith("| "))
    names = {"/": "slash", ",": "comma", "[": "left_square_bracket", "]": "right_square_bracket"}
    for key in re.findall(r"`(.)`", cells):
        assert names.get(key, key) in keys, key


def test_what_the_readme_links_to_is_there() -> None:
    anchors = {
        "#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", README, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)]+)", README):
        assert target in anchors or (ROOT / target).exists(), target


def named(heading: str, until: str) -> set[str]:
    """What README puts into backticks between two headings."""
    part = README[README.index(heading) : README.index(until)]
    return set(re.findall(r"`([a-z_0-9]+)`", part))


def fields(*objects: dict[str, Any]) -> set[str]:
    return {name for each in objects for name in each}


def test_every_field_of_a_run_is_told() -> None:
    run = Done(asked("Why?"))
    whole = document(None, "http://127.0.0.1/v1", "m", [run.figures])
    told = named("### `kvtui run", "### `kvtui bench")
    failed = failure_object(Verdict("server", "oom", "No room."), Evidence())
    there = fields(whole, whole["runs"][0], failed, failed["evidence"]) | {"n", "text"}
    assert there <= told
    assert told <= there


def test_every_schema_of_the_readme_is_one_and_each_is_told() -> None:
    said = set(re.findall(r"kvtui\.[a-z]+/\d", README))
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "kvtui").rglob("*.py"))
    printed = set(re.findall(r'"(kvtui\.[a-z]+/\d)"', code))
    assert printed <= said


def test_every_field_of_a_benchmark_is_told(tmp_path: Path) -> None:
    history = RunHistory(tmp_path)
    run = Done(asked("Why?"))
    history.add(run, run.figures, 1, 1)
    history.close()
    (entry,) = store.list_runs(tmp_path)
    whole = bench_document(results_of(read_record(entry.path)))
    told = named("### `kvtui bench", "### Records")
    level = whole["levels"][0]
    there = fields(whole, level, level["ttft_ms"], level["client"] or {})
    there |= fields(whole["endpoint"], whole["settings"], whole["machine"])
    parts = (Target, Fidelity, Room, Goal)  # of runs that have several endpoints, a card, a search
    there |= {name for part in parts for name in part.__struct_fields__}
    assert there - told <= {"p90_ci95", "p95_ci95", "p99_ci95"}  # "and the like"
    client = {"loop_lag_ms_p50", "loop_lag_ms_max", "late_share", "cpu_share"}
    client |= {"start_late_ms_p99", "client_bound"}  # a single run has none
    assert told <= there | {"code", "message", "holds", "figures"} | client


def test_every_key_of_a_workload_file_is_told() -> None:
    table = README[README.index("### A workload") : README.index("## JSON")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert told == {field.name for field in msgspec.structs.fields(Spec)}


@pytest.mark.parametrize("name", sorted(p.stem for p in ROOT.glob("tests/benchmarks/bench_*.py")))
def test_every_benchmark_is_run_as_a_module_and_says_so(name: str) -> None:
    module = f"tests.benchmarks.{name}"
    assert f"python -m {module}" in (import_module(module).__doc__ or "")
    assert name.removeprefix("bench_") in README.partition("tests.benchmarks.")[2][:200]
