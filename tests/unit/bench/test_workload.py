"""Workloads: what is refused and how it is said, what a list of levels expands to."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvtui.bench.running.presets import PRESETS
from kvtui.bench.work.prompts import PROBES, fit_words, synthetic
from kvtui.bench.work.slo import SloError, keeps, parse_slo
from kvtui.bench.work.workload import Spec, WorkloadError, as_table, expand, from_table, read_spec


def test_every_combination_is_a_stage() -> None:
    spec = Spec(prompt_tokens=(100, 200), max_tokens=(16,), concurrency=(1, 8), repeat=2)
    workload = expand(spec, "sweep")
    assert [s.label for s in workload.stages[:4]] == [
        "100→16 tokens, c=1",
        "100→16 tokens, c=8",
        "200→16 tokens, c=1",
        "200→16 tokens, c=8",
    ]
    assert len(workload.stages) == 8
    assert len({s.series for s in workload.stages}) == 8
    assert [s.requests for s in workload.stages[:2]] == [10, 32]
    assert from_table(as_table(workload)) == workload


def test_a_rate_is_not_held_by_concurrency() -> None:
    workload = expand(Spec(prompts=("Hi",), rate=(2.0, 4.0), arrival="poisson"), "sweep")
    assert [(s.rate, s.concurrency) for s in workload.stages] == [(2.0, 0), (4.0, 0)]
    # Nor by the streams that the preset takes where no rate is asked for: a full server that holds
    # the next request back would be measured at the pace that it chose.
    for given, most in (({}, 0), ({"concurrency": (8,)}, 8)):
        preset = PRESETS["sweep"].build({"rate": (2.0,), **given}, False)
        assert [(s.rate, s.concurrency) for s in preset.stages] == [(2.0, most)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_token = 3", "did you mean max_tokens"),
        ('max_tokens = ["a"]', "$.max_tokens[0]"),
        ("concurrency = [", "not valid TOML"),
        ('prompts = ["a"]\ntemplate = "b"', "use one"),
        ('prompt_file = "nowhere.txt"', "cannot be read"),
    ],
)
def test_a_wrong_file_is_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text)
    with pytest.raises(WorkloadError) as error:
        read_spec(path)
    assert said in str(error.value)
    assert str(path.parent) in str(error.value)


@pytest.mark.parametrize(
    "spec",
    [
        Spec(prompts=("x",), max_tokens=(0,)),
        Spec(prompts=("x",), concurrency=(0,)),
        Spec(prompts=("x",), rate=(-1.0,)),
        Spec(prompts=("  ",)),
        Spec(),
        Spec(prompts=("x",), slo="ttft<3"),
        Spec(prompts=("x",), temperature=9),
        Spec(prompts=("x",), certainty=3.0),
    ],
)
def test_what_cannot_be_run_is_refused(spec: Spec) -> None:
    with pytest.raises(WorkloadError):
        expand(spec, "own")


def test_prompts_from_a_template_and_a_list(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text('template = "{a} of {b}"\n[values]\na = ["x", "y"]\nb = ["z"]\n')
    assert read_spec(path).prompts == ("x of z", "y of z")
    (tmp_path / "p.txt").write_text("one\n\ntwo\n")
    path.write_text('prompt_list = "p.txt"\nmax_tokens = 8\n')
    spec = read_spec(path)
    assert (spec.prompts, spec.max_tokens) == (("one", "two"), (8,))


def test_limits() -> None:
    limits = parse_slo("ttft_ms<500, tpot_ms<=50")
    assert keeps(limits, {"ttft_ms": 499.0, "tpot_ms": 50.0}.get)
    assert not keeps(limits, {"ttft_ms": 499.0}.get)
    for text in ("ttft_ms", "ttf_ms<3", "ttft_ms<0", "ttft_ms<nan", "ttft_ms<1e999"):
        with pytest.raises(SloError):
            parse_slo(text)


def test_words_become_tokens() -> None:
    low, high = PROBES
    words = fit_words([(low, 20 + round(1.5 * low)), (high, 20 + round(1.5 * high))])
    assert words.measured
    assert 20 + 1.5 * words.needed(1000) == pytest.approx(1000, abs=1)
    assert not fit_words([(low, 7), (high, 7)]).measured
    assert not fit_words([(low, None), (high, None)]).measured
    assert synthetic(9, "a") == synthetic(9, "a") != synthetic(9, "b")
