"""``kvtui runs``: the folder of records from a shell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kvtui.commands.runs import RunName, runs

FIXTURES = Path(__file__).parents[1] / "fixtures" / "records"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "r"
    place.mkdir()
    shutil.copy(FIXTURES / "v1-finished.jsonl", place / "20261129-1-article.jsonl")
    shutil.copy(FIXTURES / "v1-killed.jsonl", place / "20261129-2-own.jsonl")
    (place / "junk.jsonl").write_text("junk \x1b[31m\n")
    monkeypatch.setenv("KVTUI_RUNS", str(place))
    return place


def called(*words: str) -> Result:
    return CliRunner().invoke(runs, words)


def test_the_list_tells_what_came_of_each(folder: Path) -> None:
    result = called()
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.output.splitlines()[1:]}
    assert "#base before the upgrade" in rows["20261129-1-article"]
    assert "2 failed, resumable" in rows["20261129-2-own"]
    assert "broken: is no record of kvtui" in rows["junk"]
    assert called("list", "resumable").output.count("\n") == 2
    assert called("list", "nowhere").stdout == ""
    assert str(folder) in called("list", "nowhere").stderr


def test_json_has_every_field(folder: Path) -> None:
    table = json.loads(called("list", "--json", "article").stdout)
    (row,) = table["runs"]
    assert table["schema"] == "kvtui.runs/1"
    assert (row["path"], row["name"]) == (
        str(folder / "20261129-1-article.jsonl"),
        "20261129-1-article",
    )
    assert (row["requests"], row["tags"], row["finished"]) == (6, ["base"], True)


@pytest.mark.parametrize("name", ["20261129-1", "b3cdd5e5f54f", "b3cd"])
def test_a_run_is_named_by_the_beginning_of_its_name_or_id(folder: Path, name: str) -> None:
    result = called("show", name)
    assert result.exit_code == 0
    assert str(folder / "20261129-1-article.jsonl") in result.output
    assert "question, 24 tokens" in result.output


def test_what_cannot_be_shown_is_one_sentence_and_status_2(folder: Path) -> None:
    for name, why in (("junk", "is no record"), ("nix", "There is no run"), ("2026", "2 runs")):
        result = called("show", name)
        assert result.exit_code == 2
        assert why in result.stderr
        assert "\x1b" not in result.output
    assert called("show", "20261129-2").exit_code == 1  # its requests failed
    assert folder.exists()


def test_tags_and_notes_are_kept(folder: Path) -> None:
    assert called("tag", "20261129-2", "slow", "#gpu").output.split() == [
        "20261129-2-own", "#slow", "#gpu",
    ]  # fmt: skip
    assert called("note", "20261129-2", "with \x1b[1mcolour").exit_code == 0
    assert called("tag", "20261129-2", "--remove", "slow").exit_code == 0
    (row,) = json.loads(called("list", "--json", "#gpu").stdout)["runs"]
    assert row["tags"] == ["gpu"]
    assert "\x1b" not in row["note"]
    assert called("tag", "20261129-2").exit_code == 2
    assert called("tag", "20261129-2", "two words").exit_code == 2
    assert (folder / "20261129-2-own.jsonl").exists()


def test_nothing_is_deleted_unasked(folder: Path) -> None:
    before = sorted(folder.iterdir())
    result = called("delete", "20261129-1")
    assert result.exit_code == 2
    assert sorted(folder.iterdir()) == before
    assert called("delete", "-y", "20261129-1", "junk").exit_code == 0
    assert [path.name for path in folder.iterdir()] == ["20261129-2-own.jsonl"]


def test_a_file_that_is_none_of_ours_is_not_deleted(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "thesis.txt"
    other.write_text("years of work")
    result = called("delete", "-y", str(other))
    assert result.exit_code == 2
    assert other.exists()
    assert folder.exists()


def test_completion_offers_the_runs(folder: Path) -> None:
    def offered(begun: str) -> list[str]:
        items = RunName().shell_complete(None, None, begun)  # type: ignore[arg-type]
        return sorted(item.value for item in items)

    assert offered("2026") == ["20261129-1-article", "20261129-2-own"]
    assert offered("./x") == ["./x"]
    assert folder.exists()
