"""Medians leave out what is partial, warm or unknown, and say over how many they are."""

from __future__ import annotations

from dataclasses import replace

from kvtui.bench.requests.document import unsent
from kvtui.failure import Evidence, Verdict
from kvtui.measure.statistics import medians, spread

BASE = replace(unsent(Verdict("ok", "complete"), Evidence()), partial=False)


def test_only_complete_and_cold_runs() -> None:
    runs = [
        replace(BASE, ttft_ms=300.0, decode_tps=50.0),
        replace(BASE, ttft_ms=100.0, decode_tps=None),
        replace(BASE, ttft_ms=200.0, decode_tps=70.0),
        replace(BASE, ttft_ms=1.0, cached_prompt_tokens=512),
        replace(BASE, ttft_ms=2.0, partial=True),
        replace(BASE, ttft_ms=400.0, cached_prompt_tokens=0),
    ]
    table = medians(runs)
    assert table["n"] == 4
    assert table["ttft_ms"] == 250.0
    assert table["decode_tps"] == 60.0
    assert table["tpot_ms"] is None


def test_nothing_to_pool() -> None:
    assert medians([])["n"] == 0
    assert medians([])["ttft_ms"] is None
    assert spread([None, None]) is None


def test_spread() -> None:
    found = spread([3.0, None, 1.0, 2.0])
    assert found is not None
    assert (found.n, found.median, found.low, found.high) == (3, 2.0, 1.0, 3.0)
