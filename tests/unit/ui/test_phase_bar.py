"""The phase bar: steps, prefill's progress where the server tells it, tokens of the most."""

from __future__ import annotations

import pytest

from kvtui.measure.figures import Snapshot
from kvtui.ui.draw.stream import phase_bar
from kvtui.ui.look.rows import plain, width_of
from kvtui.ui.state import StreamState

WIDTHS = (44, 46, 72, 120)


def prefill(done: int | None, total: int | None, ms: float = 1234.0) -> StreamState:
    return StreamState(
        Snapshot("prefill", connect_ms=0.7, prefill_ms=ms, prefill_done=done, prefill_total=total)
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_prefill_shows_tokens_of_all_and_a_bar(width: int) -> None:
    line = phase_bar(prefill(1024, 4096), width)
    assert width_of(line) == width
    assert "1,024 / 4,096" in plain(line) or "25%" in plain(line)
    assert "decode" not in plain(line)
    if width >= 72:
        assert "█" in plain(line)
        assert "░" in plain(line)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_moves_while_prefill_goes_on(width: int) -> None:
    places = set()
    for done, ms in ((0, 100.0), (512, 999.0), (4000, 12_345.0)):
        text = plain(phase_bar(prefill(done, 4096, ms), width))
        places.add((text.find("prefill"), text.find("/"), text.find("4,096")))
    assert len(places) == 1


def test_without_progress_the_steps_stand_as_ever() -> None:
    line = plain(phase_bar(prefill(None, None), 72))
    assert "decode" in line
    assert "░" not in line


@pytest.mark.parametrize("width", [72, 120])
def test_decode_shows_how_much_of_the_most_there_is(width: int) -> None:
    def cells(tokens: int) -> int:
        state = StreamState(
            Snapshot("decode", connect_ms=0.7, prefill_ms=40, decode_s=1.0, tokens=tokens),
            max_tokens=512,
        )
        return plain(phase_bar(state, width)).count("█")

    assert cells(2) <= cells(256) < cells(512)
    assert cells(512) == cells(600)
