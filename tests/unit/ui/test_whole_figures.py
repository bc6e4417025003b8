"""A figure is shown whole or not at all, and stays beside its unit."""

from __future__ import annotations

import pytest

from kvtui.measure.figures import Snapshot
from kvtui.ui.draw.memory import memory_rows
from kvtui.ui.draw.stream import figures, phase_bar, spark_row
from kvtui.ui.look.rows import plain, width_of, wrap
from kvtui.ui.state import BarPart, MemoryState, StreamState


@pytest.mark.parametrize("width", [28, 30, 40, 56])
@pytest.mark.parametrize(
    ("users", "live", "reserved"),
    [(1, 0, 2048), (16, 4704, 131_072), (128, 37_632, 1_048_576), (512, 1, 67_108_864)],
)
def test_the_live_tokens_are_never_cut(width: int, users: int, live: int, reserved: int) -> None:
    state = MemoryState(
        ready=True, model="m", users=users, live_tokens=live, reserved_tokens=reserved
    )
    rows = [plain(line) for line in memory_rows(state, width, 20)]
    (line,) = [line for line in rows if "seq" in line and "/" in line]
    assert len(line) == width
    assert line.replace(" ", "").endswith(f"{live:,}/{reserved:,}")


@pytest.mark.parametrize("width", [28, 40, 56])
def test_the_bar_of_the_live_tokens_keeps_its_length(width: int) -> None:
    lengths = set()
    for live in (0, 9, 99, 999, 1999, 2048):
        state = MemoryState(ready=True, model="m", live_tokens=live, reserved_tokens=2048)
        rows = [plain(line) for line in memory_rows(state, width, 20)]
        (line,) = [line for line in rows if "seq" in line and "/" in line]
        lengths.add(sum(char in "░█▏▎▍▌▋▊▉" for char in line))
    assert len(lengths) == 1


def test_nothing_in_use_is_no_figure_of_another_unit() -> None:
    parts = (BarPart("weights", 6 << 20, "weights", "▓"), BarPart("KV in use", 0, "used", "█"))
    state = MemoryState(ready=True, model="m", card_bytes=24 << 30, parts=parts)
    text = "\n".join(plain(line) for line in memory_rows(state, 40, 20))
    assert "0 B" in text
    assert "0.00 GiB" not in text


@pytest.mark.parametrize("width", [44, 46, 58, 72, 76])
@pytest.mark.parametrize("finish", ["stop", "length", "tool_calls", "content_filter"])
def test_what_stands_beside_the_rate_is_whole(width: int, finish: str) -> None:
    snapshot = Snapshot("done", tokens=4096, token_source="usage", finish_reason=finish)
    rows = [plain(line) for line in figures(StreamState(snapshot, max_tokens=32_768), width, 6)]
    text = "\n".join(rows)
    assert "…" not in text
    assert finish in text
    assert "4096" in text
    assert all(width_of(line) <= width for line in figures(StreamState(snapshot), width, 6))


def test_a_step_without_its_time_yet_moves_nothing_later() -> None:
    def places(snapshot: Snapshot) -> list[int]:
        line = plain(phase_bar(StreamState(snapshot), 72))
        return [line.index(name) for name in ("connect", "prefill", "decode")]

    idle = places(Snapshot("idle"))
    assert places(Snapshot("prefill", connect_ms=0.6, prefill_ms=4.0)) == idle
    assert places(Snapshot("done", connect_ms=0.6, prefill_ms=1234.0, decode_s=61.0)) == idle


@pytest.mark.parametrize("width", range(8, 60))
def test_a_figure_keeps_its_unit_and_a_flag_its_value(width: int) -> None:
    text = (
        "2 × 8 layers × 2,048 tokens × 2 KV heads × 32 × 4 B × 1 = 8.00 MiB; 1.89 GiB of CUDA"
        " graphs --max-model-len 2048 --dtype auto · 61 % of 354 tok/s after 41.3 ms"
    )
    lines = wrap(text, width)
    assert " ".join(lines).split() == text.split() or width < 20  # a long flag may be broken
    for line in lines:
        assert not line.startswith(("MiB", "GiB", "B ", "%", "ms", "tok/s", "tokens"))
        assert width < 20 or not line.startswith(("2048", "auto"))


@pytest.mark.parametrize("width", [44, 72])
def test_there_is_one_rate_now(width: int) -> None:
    snapshot = Snapshot("decode", running_tps=87.5, tokens=100, token_source="usage")
    state = StreamState(snapshot, series=((1.0, 60.0), (2.0, 80.0)))
    line = plain(spark_row(state, width))
    assert "87.5" in line
    assert "80.0" not in line
