"""The planner without its screen: fields, answers, the need, the flags, the curve."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.memory import cards, catalogue, need
from kvtui.memory import model as models
from kvtui.text import GIB
from kvtui.ui.draw.planner import WIDE, answer_rows
from kvtui.ui.draw.planner_side import note_rows, title_of, whole_text
from kvtui.ui.look.rows import plain, width_of
from kvtui.ui.look.ticks import tick_label, ticks
from kvtui.ui.planner import lists
from kvtui.ui.planner.answer import Planner, smallest
from kvtui.ui.planner.curve import (
    GRID_CONTEXTS,
    GRID_USERS,
    draw_curve,
    fit_grid,
    memory_at,
    said,
)
from kvtui.ui.planner.form import FIELDS, Known, PlannerForm
from kvtui.ui.planner.presets import PRESETS

FORM = PlannerForm(card="RTX 4090")
ENGINES = ("formula", "vllm", "llama.cpp", "sglang")
MODELS = ("Llama-3.1-8B", "gpt-oss-20b", "DeepSeek-V3", "Gemma-3-27B", "Qwen3-Next-80B-A3B")


def answer(**fields):
    state = Planner().update(replace(FORM, **fields))
    assert not state.problems, state.problems
    return state


def problems(**fields):
    return dict(Planner().update(replace(FORM, **fields)).problems)


# --- the article's examples -----------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS[:6], ids=lambda preset: preset.short)
def test_the_presets_give_the_articles_sizes(preset):
    told = Planner().update(preset.form).told
    figure = f"{told.total_bytes / GIB:.3f}" if "0.156" in preset.figure else None
    assert (figure or f"{told.total_bytes / GIB:.2f}") + " GiB" == preset.figure


def test_the_presets_sizes_in_bytes():
    sizes = [Planner().update(preset.form).told.total_bytes for preset in PRESETS[:6]]
    expected = [GIB, 10 * GIB, 4 * GIB, 10 * GIB, GIB * 5 // 4, GIB * 5 // 32]
    assert sizes == expected


def test_the_24_gb_preset_serves_eight():
    state = Planner().update(PRESETS[6].form)
    told = state.told
    assert (told.max_concurrency, told.fits) == (8, True)
    assert (told.budget.weights_bytes, told.budget.kv_bytes) == (14 * GIB, 8 * GIB)
    assert state.by_hand


# --- fields ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "text", "word"),
    [
        ("model", "lama-9", "unknown model"),
        ("model", "", "is empty"),
        ("model", "Qwen3", "choose one of"),
        ("heads", "7", "does not divide"),
        ("heads", "x", "whole number"),
        ("weights", "int5", "unknown precision"),
        ("weights", "-3", "at least 0"),
        ("weights", "12 apples", "must be a number"),
        ("card", "H1000", "unknown card"),
        ("card", "A100", "choose one of"),
        ("gpus", "0", "at least 1"),
        ("gpus", "3", ""),
        ("tp", "two", "whole number"),
        ("pp", "1000000", "makes sense"),
        ("engine", "vlm", "unknown engine"),
        ("share", "1.2", "makes sense"),
        ("share", "nan", "finite"),
        ("k", "q9", "unknown precision"),
        ("v", "fp7", "unknown precision"),
        ("context", "abc", "whole number"),
        ("context", "", "is empty"),
        ("users", "-1", "at least 1"),
        ("kv_gib", "lots", "must be a number"),
    ],
)
def test_a_wrong_field_is_named_and_the_answer_stays(field, text, word):
    planner = Planner()
    before = planner.update(FORM)
    fields = {field: text, **({"tp": "2"} if field == "gpus" else {})}
    state = planner.update(replace(FORM, **fields))
    assert word in state.problem(field)
    assert state.problem(field)
    assert state.told is before.told
    assert state.stale
    assert getattr(state.form, field) == text
    assert planner.update(FORM).problems == ()


def test_every_wrong_field_is_named_at_once():
    found = problems(model="x", context="y", users="z", card="?")
    assert set(found) == {"model", "context", "users", "card"}


def test_what_the_fields_mean():
    state = answer(
        model="Llama-3.1-70B",
        gpus="8",
        tp="2",
        pp="2",
        k="fp8",
        v="auto",
        context="32k",
        users="1,000",
        weights="14 GiB",
        share="0.8",
        kv_gib="2.5",
    )
    asked, split = state.told.question, state.told.split
    assert (split.tp, split.pp, split.dp, split.cards) == (2, 2, 2, 8)
    assert (asked.context, asked.concurrency) == (32_768, 1000)
    assert (asked.weights_bytes, asked.kv_budget_bytes) == (14 * GIB, GIB * 5 // 2)
    assert asked.utilisation == 0.8
    assert (state.told.k.name, state.told.v.name) == ("fp8", "bf16")


def test_a_checkpoints_name_gives_the_precision_of_its_weights():
    assert answer(model="Llama-3.1-8B-Instruct-AWQ").told.question.weights_dtype == "int4"
    assert answer(model="Llama-3.1-8B-FP8", weights="bf16").told.question.weights_dtype == "bf16"


def test_llama_cpp_has_no_tensor_parallel_ranks():
    assert "leave TP empty" in problems(engine="llama.cpp", tp="2", gpus="2")["tp"]
    assert answer(engine="llama.cpp", gpus="2").told.split.pp == 2


def test_a_precision_that_an_engine_lacks_is_said():
    found = problems(engine="llama.cpp", k="fp8")
    assert "llama.cpp stores no fp8" in " ".join(found.values())


def test_own_cards_and_own_models_are_known():
    mine = cards.own("lab card", 31.5)
    tiny = models.custom(layers=2, kv_heads=2, head_dim=32, name="tiny")
    planner = Planner(Known((mine,), (tiny,)))
    told = planner.update(replace(FORM, card="lab card", model="TINY")).told
    assert told.question.card is mine
    assert told.question.model is tiny
    assert ("lab card", "lab card", "31.50 GiB") in lists.choices(
        "card", planner.update(FORM), planner.known
    )


@pytest.mark.parametrize("card", [card.name for card in cards.catalogue()])
def test_every_card_is_found_by_the_name_in_its_list(card):
    assert answer(card=card, engine="formula").told.question.card.name == card


def test_every_model_of_the_list_is_answered():
    planner = Planner()
    for value, _, _ in lists.choices("model", planner.update(FORM), planner.known):
        state = planner.update(replace(FORM, model=value, engine="formula"))
        assert not state.problems
        assert lists.current("model", state, planner.known) == value


@pytest.mark.parametrize("field", FIELDS)
def test_every_choice_of_a_list_is_taken_by_its_field(field):
    planner = Planner()
    state = planner.update(FORM)
    for value, _, _ in lists.choices(field, state, planner.known):
        assert not planner.update(replace(FORM, **{field: value})).problem(field)


@given(st.dictionaries(st.sampled_from(list(FIELDS)), st.text(max_size=12)))
def test_no_text_in_any_field_breaks_it(fields):
    planner = Planner()
    planner.update(FORM)
    state = planner.update(replace(FORM, **fields))
    for width, height in ((28, 13), (44, 20), (78, 22), (140, 28)):
        rows = answer_rows(state, width, height)
        assert len(rows) <= height
        assert all(width_of(line) <= width for line in rows)
    assert all(width_of(line) <= 28 for line in note_rows(state, "model", "hint", (), 28, 8))
    draw_curve(state.told, "context")
    whole_text(state)


# --- the need -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("context", "users"), [("2048", "1"), ("32768", "16"), ("131072", "200")])
def test_the_smallest_cards_are_those_of_the_whole_search(engine, model, context, users):
    told = answer(model=model, engine=engine, context=context, users=users).told
    assert smallest(told) == need.smallest(told.question)[:3]


def test_own_cards_are_among_the_smallest():
    mine = cards.own("lab card", 17)
    told = answer(model="Llama-3.1-8B", engine="formula").told
    assert smallest(told, (mine,))[0].card is not mine or smallest(told, (mine,))[0].number == 1
    assert any(choice.card is mine for choice in smallest(told, (mine,), count=9))


def test_how_many_of_this_card_hold_it():
    state = answer(model="Llama-3.1-70B", context="8192", users="4")
    assert not state.told.fits
    assert state.fewest == need.fewest(state.told.question)
    assert answer(
        model="Llama-3.1-70B", gpus=str(state.fewest), context="8192", users="4"
    ).told.fits


# --- the flags ------------------------------------------------------------------------------------


def test_flags_of_the_engine_come_first():
    first, second = answer(engine="llama.cpp", users="4", k="q8_0").flags
    assert first[:4] == ("llamacpp", "-c 8192 -np 4 -ctk q8_0 -ctv q8_0 -fa on", True, "")
    assert second.engine == "vllm"
    assert (second.text, second.reason) == ("", "vllm stores no q8_0 cache")


def test_the_formula_offers_both_engines():
    vllm, llama = answer(engine="formula", k="fp8", gpus="2").flags
    assert vllm.text.startswith("--max-model-len 2048 --max-num-seqs 1")
    assert "--kv-cache-dtype fp8 --tensor-parallel-size 2" in vllm.text
    assert "no fp8" in llama.reason


def test_flags_that_do_not_fit_say_so():
    state = answer(model="Llama-2-7B", context="4096", users="8")
    most = state.told.max_concurrency
    assert f"--max-num-seqs {most} " in state.flags[0].text
    shown = " ".join(plain(line).strip() for line in answer_rows(state, 120, 40))
    assert "✗" in shown
    assert f"(for the {most} of 8 that fit)" in shown


def test_where_not_one_sequence_fits_there_are_no_flags():
    state = answer(model="Llama-3.1-70B")
    assert state.flags[0].text == ""
    assert "not one sequence of 2,048 tokens fits" in "\n".join(
        plain(line) for line in answer_rows(state, 78, 30)
    )


def test_no_engine_of_cuda_is_offered_on_a_mac():
    on_mac = Planner().update(replace(FORM, card="Apple M4 (32 GB)"))
    assert "does not run on" in on_mac.problem("engine")
    vllm, llama = answer(card="Apple M4 (32 GB)", engine="formula", model="Llama-2-7B").flags
    assert (vllm.text, "does not run on" in vllm.reason) == ("", True)
    assert llama.text.startswith("-c 2048")
    offered = answer(model="Llama-2-7B").smallest
    assert not [choice for choice in offered if choice.card.alone]


# --- the curve ------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("gpus", ["1", "4"])
def test_the_curve_crosses_the_cards_line_where_the_answer_says(engine, model, gpus):
    told = answer(model=model, engine=engine, gpus=gpus, card="B200", users="3").told
    for axis, most in (("context", told.max_context), ("users", told.max_concurrency)):
        curve, value = draw_curve(told, axis), memory_at(told, axis)
        assert curve.points[0] == (0, curve.fixed)
        assert all(a[1] <= b[1] for a, b in zip(curve.points, curve.points[1:], strict=False))
        if curve.crossing is None:
            assert value(most + 1) <= curve.room or most >= 10**9
            continue
        assert curve.crossing == most
        assert curve.room < value(most + 1)
        if most:
            assert value(most) <= curve.room
            assert dict(curve.points)[most] <= curve.room < curve.points[-1][1]
            assert f"{most:,}" in said(curve, 40)


def test_a_recurrence_has_no_crossing_over_context():
    told = answer(model="Mamba2-2.7B", engine="formula").told
    curve = draw_curve(told, "context")
    assert curve.crossing is None
    assert "no limit" in said(curve, 80)


def test_weights_that_exceed_the_card_are_said():
    curve = draw_curve(answer(model="Llama-3.1-70B").told, "context")
    assert "weights" in said(curve, 80)


def test_the_grid_agrees_with_the_answer():
    told = answer(users="4", context="8192").told
    grid = fit_grid(told)
    for context, line in zip(GRID_CONTEXTS, grid, strict=True):
        for users, fits in zip(GRID_USERS, line, strict=True):
            assert answer(context=str(context), users=str(users)).told.fits == fits


def test_ticks_are_round():
    assert ticks(40_000, 5, binary=True) == [0, 8192, 16384, 24576, 32768]
    assert ticks(24, 4) == [0, 10, 20]
    assert ticks(3, 6, least=1) == [0, 1, 2, 3]
    assert [tick_label(value, binary=True) for value in (0, 500, 4096, 1 << 20)] == [
        "0",
        "500",
        "4k",
        "1M",
    ]


# --- drawn ----------------------------------------------------------------------------------------


def test_what_is_left_out_is_marked_and_in_the_whole_text():
    state = answer(model="gpt-oss-20b")
    small = "\n".join(plain(line) for line in answer_rows(state, 44, 12))
    assert "more ▸ ^n" in small
    assert "longest" in small
    large = "\n".join(plain(line) for line in answer_rows(state, 140, 60))
    assert "more" not in large
    for note in state.told.notes:
        assert note in large
        assert note in whole_text(state)
    assert state.told.formula in large
    assert "upper bound" in large


def test_the_title_names_cards_precision_and_engine():
    state = answer(gpus="4", tp="2", v="fp8")
    assert title_of(state, 100) == (
        "Llama-3.1-8B · 4 × RTX 4090 (TP 2, 2 replicas) · KV bf16/fp8 · vLLM 0.92"
    )
    assert len(title_of(state, 30)) <= 30


def test_the_bar_is_the_cards_whole_width():
    for fields in ({}, {"model": "Llama-3.1-70B"}, {"users": "500"}):
        state = answer(**fields)
        assert width_of(answer_rows(state, WIDE, 30)[0]) == WIDE


def test_a_catalogue_row_is_offered_while_its_name_is_typed():
    planner = Planner()
    state = planner.update(replace(FORM, model="qwen3", users="x"))
    found = lists.matches("model", state, planner.known)
    assert "Qwen3-8B" in found
    assert set(found) - {"…"} <= {model.name for model in catalogue.search("qwen3")}
    note = " ".join(plain(line) for line in note_rows(state, "model", "hint", found, 60, 9))
    assert "no model of that name yet. ⏎ lists Qwen3-0.6B" in note
    assert "users must be a whole number" in note


def test_decodes_bound_is_named_one():
    for width in (44, 78, 150):
        rows = [plain(line) for line in answer_rows(answer(), width, 30)]
        assert any(line.startswith("decode bound") and "≤ 62 at 1" in line for line in rows)
