"""The cards: the command's lines, a fake command, a fake library."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from kvtui.telemetry.gpu import as_json, parse_csv, read_cards

MIB = 1 << 20
posix = pytest.mark.skipif(sys.platform == "win32", reason="the fake command is a shell script")


@pytest.fixture(autouse=True)
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, wherever the tests run."""
    monkeypatch.setitem(sys.modules, "pynvml", None)


@pytest.fixture
def fake_smi(tmp_path: Path) -> str:
    """A folder for the PATH whose nvidia-smi prints what ``say`` was given."""
    return str(tmp_path)


def say(folder: str, text: str, *, status: int = 0, before: str = "") -> None:
    program = Path(folder, "nvidia-smi")
    (program.parent / "said.txt").write_text(text, encoding="utf-8")
    program.write_text(
        f'#!/bin/sh\nprintf "%s " "$@" > "{folder}/asked.txt"\n{before}\n'
        f'cat "{folder}/said.txt"\nexit {status}\n'
    )
    program.chmod(0o755)


def test_several_cards_and_words_for_unknown() -> None:
    cards = parse_csv(
        "NVIDIA H100 80GB HBM3, 81559, 70213, 97\n"
        "NVIDIA A100-SXM4-80GB MIG, 81920, [N/A], [N/A]\n"
        "NVIDIA GB10, [N/A], [Not Supported], 3\n"
        "Odd, Name, 1000, 0, 0\n"
        "\n"
        "not a line of cards\n"
    )
    assert [card.name for card in cards] == [
        "NVIDIA H100 80GB HBM3",
        "NVIDIA A100-SXM4-80GB MIG",
        "NVIDIA GB10",
        "Odd, Name",
    ]
    assert [card.index for card in cards] == [0, 1, 2, 3]
    assert (cards[0].memory_total, cards[0].memory_used) == (81559 * MIB, 70213 * MIB)
    assert cards[0].utilization == 0.97
    assert (cards[1].memory_used, cards[1].utilization) == (None, None)
    assert (cards[2].memory_total, cards[2].memory_used, cards[2].utilization) == (None, None, 0.03)
    assert cards[3].memory_used == 0


@pytest.mark.parametrize("cell", ["nan", "inf", "-1", "1e3", "", "9" * 40, "[Unknown Error]", "٣x"])
def test_cells_that_are_no_figure(cell: str) -> None:
    (card,) = parse_csv(f"Card, {cell}, {cell}, {cell}\n")
    assert (card.memory_total, card.memory_used, card.utilization) == (None, None, None)


@posix
def test_the_command_is_asked_where_it_is_on_the_path(fake_smi: str) -> None:
    say(fake_smi, "NVIDIA L4, 23034, 512, 5\n")
    cards = read_cards(path=fake_smi)
    assert cards.source == "nvidia-smi"
    assert cards.reason == ""
    asked = Path(fake_smi, "asked.txt").read_text()
    assert "--query-gpu=name,memory.total,memory.used,utilization.gpu" in asked
    assert "--format=csv,noheader,nounits" in asked
    (row,) = as_json(cards)
    assert row["memory_total_bytes"] == 23034 * MIB
    assert row["source"] == "nvidia-smi"


@posix
def test_a_driver_that_fails_is_quoted(fake_smi: str) -> None:
    say(fake_smi, "Failed to initialize NVML: Driver/library version mismatch", status=18)
    assert "version mismatch" in read_cards(path=fake_smi).reason
    say(fake_smi, "No devices were found", status=6)
    assert "No devices were found" in read_cards(path=fake_smi).reason
    say(fake_smi, "", status=9)
    assert "exit status 9" in read_cards(path=fake_smi).reason


@posix
def test_a_command_that_hangs_is_given_up(fake_smi: str) -> None:
    say(fake_smi, "", before="exec sleep 60")
    assert "no answer within 0.2 s" in read_cards(path=fake_smi, timeout_s=0.2).reason


@posix
def test_a_command_that_cannot_be_run(fake_smi: str) -> None:
    program = Path(fake_smi, "nvidia-smi")
    program.write_text("\x00\x01not a program")
    program.chmod(0o755)
    assert "cannot be run" in read_cards(path=fake_smi).reason


def test_no_card_says_why(tmp_path: Path) -> None:
    cards = read_cards(path=str(tmp_path))
    assert (cards.cards, cards.source) == ((), "")
    assert "not on the PATH" in cards.reason


class FakeNvml(ModuleType):
    """As much of ``pynvml`` as is used: card 0 whole, card 1 cut into MIG instances."""

    class NVMLError(Exception):
        pass

    def __init__(self, cards: int = 2, broken: bool = False) -> None:
        super().__init__("pynvml")
        self.cards, self.broken, self.open = cards, broken, 0

    def nvmlInit(self) -> None:
        if self.broken:
            raise self.NVMLError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return self.cards

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, handle: int) -> str | bytes:
        return (b"NVIDIA A100", "NVIDIA A100 MIG")[handle]

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(total=40 << 30, used=handle << 30)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:
        if handle == 1:
            raise self.NVMLError("Not Supported")
        return SimpleNamespace(gpu=50)


def test_the_library_goes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    cards = read_cards(path=str(tmp_path))
    assert cards.source == "pynvml"
    assert [(c.name, c.memory_used, c.utilization) for c in cards.cards] == [
        ("NVIDIA A100", 0, 0.5),
        ("NVIDIA A100 MIG", 1 << 30, None),
    ]
    assert nvml.open == 0


@posix
def test_the_command_stands_in_for_a_library_without_a_driver(
    monkeypatch: pytest.MonkeyPatch, fake_smi: str, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(broken=True))
    assert "Driver Not Loaded" in read_cards(path=str(tmp_path / "empty")).reason
    say(fake_smi, "NVIDIA L4, 23034, 512, 5\n")
    assert read_cards(path=fake_smi).source == "nvidia-smi"


def test_a_driver_without_a_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(cards=0))
    assert "no card" in read_cards(path=str(tmp_path)).reason
