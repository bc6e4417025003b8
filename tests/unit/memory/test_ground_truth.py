"""What real engines logged, through `kvtui plan` with the row's flags."""

from __future__ import annotations

import pytest

from kvtui.text import GIB, MIB

from .conftest import KV, facts

ROWS = facts("ground_truth.json")
UNITS = {"GiB": GIB, "MiB": MIB, "1": 1}
APPROXIMATE = ("v27", "v28")  # "~50 GB", "~55k tokens"
TOLERANCE = {"s08": 0.003, "v27": 0.01, "v28": 0.011}


def told(document, row):
    value = document
    for key in row["figure"].split("."):
        value = value[key]
    return value / UNITS[row["unit"]]


@pytest.mark.parametrize(
    "row", [r for r in ROWS if "options" in r and not r.get("off")], ids=lambda row: row["id"]
)
def test_a_logged_figure_is_met(row, plan_json):
    figure = told(plan_json(**row["options"]), row)
    assert figure == pytest.approx(row["value"], rel=TOLERANCE.get(row["id"], 0.002))


def test_every_independent_row_is_met_or_known_to_be_off():
    independent = [row for row in ROWS if row["evidence"] == "independent"]
    assert len(independent) >= 30
    for row in independent:
        assert row.get("off") or row["id"] not in TOLERANCE
        assert row.get("off") or "options" in row, row["id"]


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.get("off") and "options" in r], ids=lambda row: row["id"]
)
def test_a_row_known_to_be_off_is_still_off(row, plan_json):
    # Should one of these come out right one day, the reason in its note no longer holds.
    assert row["note"]
    assert told(plan_json(**row["options"]), row) != pytest.approx(row["value"], rel=0.002)


def test_the_six_sound_budget_rows_are_there():
    assert {row["id"] for row in ROWS if row["id"].startswith("b") and not row.get("off")} == {
        "b02",
        "b03",
        "b04",
        "b06",
        "b07",
        "b10",
    }


@pytest.mark.parametrize(
    "row",
    facts("llamacpp_allocations.json"),
    ids=lambda row: "-".join(f"{value}" for key, value in row.items() if not key.endswith("mib")),
)
def test_llamacpp_allocates_this_much(row, plan_json):
    options = {"arch": row["model"], "engine": "llamacpp", "context": row["n_ctx"]}
    options["parallel"] = row.get("n_parallel", 1)
    for key, option in (("ctk", "k-dtype"), ("ctv", "v-dtype")):
        if key in row:
            options[option] = row[key]
    if row.get("kv_unified"):
        options["kv-unified"] = True
    details = plan_json(**options)["details"]
    assert details["kv_bytes"] / MIB == pytest.approx(row["kv_mib"], abs=0.02)
    if row["state_mib"] is not None:
        assert details["state_bytes"] / MIB == pytest.approx(row["state_mib"], abs=0.02)


def test_the_fixtures_are_whole():
    assert len(facts("llamacpp_allocations.json")) == 44
    assert len(list((KV / "configs").glob("*.json"))) == 21
