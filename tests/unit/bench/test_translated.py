"""Labels and findings in another language; a record, and what machines read, in English."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvtui import language
from kvtui.bench.evaluation.results import document, results_of
from kvtui.bench.figures.sample import Sample
from kvtui.bench.records.record import read_record
from kvtui.bench.records.recorder import Recorder, header_of
from kvtui.bench.requests.document import failure_object
from kvtui.bench.requests.models import model_missing
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.requests.targets import Target
from kvtui.bench.running.presets import PRESETS
from kvtui.bench.running.progress import RequestEnded, StageEnded
from kvtui.bench.work.labels import label_shown
from kvtui.bench.work.workload import Spec, Workload, expand
from kvtui.config import Endpoint
from kvtui.failure import Evidence, advice_shown, classify
from kvtui.stream.request import Request
from tests.prose import english_in

BOX = Endpoint("https://gpu.example/v1", "test")
GIVEN: dict[str, dict[str, Any]] = {
    "compare-endpoints": {"targets": (Target(name="box"), Target(name="pod"))}
}
REFUSED = Evidence(status=401, host="gpu.example", body='{"error": {"code": "invalid_api_key"}}')


@pytest.fixture(autouse=True)
def _english_afterwards() -> Iterator[None]:
    yield
    language.use("en")


def workloads() -> list[Workload]:
    found = [preset.build(GIVEN.get(name, {}), True) for name, preset in PRESETS.items()]
    found.append(PRESETS["sweep"].build({"search": True, "slo": "ttft_ms<500"}, True))
    limits = Spec(max_tokens=(32,), concurrency=(1, 2, 4), requests=6, slo="ttft_ms<500")
    return [*found, expand(limits, "sweep", "Why?")]


def record(folder: Path, workload: Workload, **more: Any) -> Path:
    """A record whose requests get slower from level to level, the last of each failed."""
    recorder = Recorder(folder / "r.jsonl")
    recorder.create(header_of(Prepared(BOX, "m"), Request(BOX, "m", ""), workload, "n"))
    for number, stage in enumerate(workload.stages):
        for index in range(stage.requests or 6):
            base = 10.0 * (number + 1) + index
            good: dict[str, Any] = {
                "ttft_ms": base, "tpot_ms": base / 9, "e2e_ms": base * 30, "decode_tps": 900 / base,
                "completion_tokens": 20, "chunks": 20, "token_source": "usage",
                "prompt_tokens": stage.prompt_tokens, "headers_ms": base / 2,
                "first_event_ms": base / 2,
                "reads": tuple((base + 40.0 * n, n + 1) for n in range(20)),
            }  # fmt: skip
            bad = {
                "cls": "auth", "subcode": "key_rejected",
                "failure": failure_object(classify(REFUSED), REFUSED),
            }  # fmt: skip
            at = number * 9.0 + index
            recorder.take(
                RequestEnded(
                    Sample(stage=number, index=index, start_s=at, send_s=at, first_s=at + 0.1,
                           last_s=at + 1.0, end_s=at + 1.0,
                           **({**bad, **more} if index == 2 else {**good, **more}))
                )
            )  # fmt: skip
        recorder.take(StageEnded(number, "certain enough" if number else ""))
    recorder.end()
    recorder.close()
    return recorder.path


@pytest.mark.parametrize("workload", workloads(), ids=lambda one: one.preset)
def test_labels_and_findings_are_whole(workload: Workload, tmp_path: Path) -> None:
    language.use("zh")
    names = {"box", "pod", "gpu.example", "auth.key_rejected", "ttft_ms", "api-key-env", "NumPy"}
    names |= {"float32", "base URL", "int8"}
    for stage in workload.stages:
        assert english_in(label_shown(stage.label), *names) == [], stage.label
    found = results_of(read_record(record(tmp_path, workload)))
    assert found.findings
    for finding in found.findings:
        assert english_in(finding.message, *names) == [], finding.message


@pytest.mark.parametrize("workload", workloads(), ids=lambda one: one.preset)
def test_what_machines_read_is_english_in_every_language(
    workload: Workload, tmp_path: Path
) -> None:
    english = document(results_of(read_record(record(tmp_path, workload))))
    language.use("zh")
    (tmp_path / "zh").mkdir()
    chinese = document(results_of(read_record(record(tmp_path / "zh", workload))))
    for name in ("findings", "levels", "failure"):
        assert chinese[name] == english[name]


def test_a_recorded_failure_is_told_in_the_language_in_use() -> None:
    recorded = classify(REFUSED)
    name = f"{recorded.cls}.{recorded.subcode}"
    language.use("zh")
    assert advice_shown(name, recorded.message) == classify(REFUSED).message
    assert advice_shown(name, "As a server said.") == "As a server said."


def test_a_label_of_ones_own_stays() -> None:
    language.use("zh")
    assert label_shown("cold storage, c=4") == "cold storage，c=4"
    assert label_shown("box: 256→128 tokens") == "box：256→128 token"
    language.use("en")
    assert label_shown("box: 256→128 tokens, c=4") == "box: 256→128 tokens, c=4"


@pytest.mark.parametrize("offered", [(), ("m1", "m2")])
def test_that_no_model_was_chosen_is_recorded_in_english(offered: tuple[str, ...]) -> None:
    prepared = Prepared(BOX, None, offered)
    expected = failure_object(*model_missing(prepared))
    language.use("zh")
    verdict, evidence = model_missing(prepared)
    assert verdict.message != expected["message"]
    assert failure_object(verdict, evidence) == expected
    assert expected["message"].isascii()
