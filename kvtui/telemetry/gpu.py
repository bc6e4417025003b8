"""The cards of this machine, from NVIDIA's library or its command.

Both block (the command for seconds on a machine whose driver has to wake up): call ``read_cards``
off the screen's thread.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvtui.language import tr
from kvtui.telemetry.status import clean
from kvtui.text import MIB

COMMAND_TIMEOUT_S = 10.0

_QUERY = "name,memory.total,memory.used,utilization.gpu"
_MOST_CARDS = 64


@dataclass(frozen=True, slots=True)
class CardReading:
    """One card at one moment. None is "the driver does not say" (MIG, unified memory)."""

    index: int
    name: str
    memory_total: int | None
    """Bytes, as the driver counts them."""
    memory_used: int | None
    """Bytes, of all processes."""
    utilization: float | None
    """Share of the last sample period in which a kernel ran, 0..1; it is no measure of load."""


@dataclass(frozen=True, slots=True)
class Cards:
    """All cards, where the figures come from, or why there are none."""

    cards: tuple[CardReading, ...] = ()
    source: str = ""
    reason: str = ""
    """One sentence; empty where cards were found."""


def read_cards(*, path: str | None = None, timeout_s: float = COMMAND_TIMEOUT_S) -> Cards:
    """Ask ``pynvml`` where it is installed, else ``nvidia-smi`` where it is on the PATH.

    Args:
        path: Where to look for ``nvidia-smi``; None is the PATH of the environment.
        timeout_s: Seconds that the command may take.
    """
    library = _from_library()
    if library is not None and library.cards:
        return library
    command = _from_command(path, timeout_s)
    if command.cards or library is None or shutil.which("nvidia-smi", path=path):
        return command
    return library


# --- the library ----------------------------------------------------------------------------------


def _from_library() -> Cards | None:
    """The cards through ``pynvml`` (extra ``nvidia``); None where it is not installed."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Cards(
            reason=tr("NVIDIA's library finds no driver: {error}.", error=clean(str(error)))
        )
    try:
        number = min(int(pynvml.nvmlDeviceGetCount()), _MOST_CARDS)
        cards = tuple(_library_card(pynvml, index) for index in range(number))
    except pynvml.NVMLError as error:
        return Cards(reason=f"NVIDIA's library fails: {clean(str(error))}.")
    finally:
        pynvml.nvmlShutdown()
    if not cards:
        return Cards(reason=tr("NVIDIA's driver is there, but no card."))
    return Cards(cards, "pynvml")


def _library_card(nvml: Any, index: int) -> CardReading:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    name = nvml.nvmlDeviceGetName(handle)
    total = used = None
    share = None
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        total, used = int(memory.total), int(memory.used)
    except nvml.NVMLError:  # one memory for card and host: the driver has no figure
        total = used = None
    try:
        share = _share(float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu))
    except nvml.NVMLError:  # not told while the card is cut into MIG instances
        share = None
    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
    return CardReading(index, clean(text, 60), total or None, used, share)


# --- the command ----------------------------------------------------------------------------------


def _from_command(path: str | None, timeout_s: float) -> Cards:
    program = shutil.which("nvidia-smi", path=path)
    if program is None:
        return Cards(reason=tr("No NVIDIA card is seen: nvidia-smi is not on the PATH."))
    try:
        done = subprocess.run(
            [program, f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Cards(
            reason=tr("nvidia-smi gave no answer within {seconds:g} s.", seconds=timeout_s)
        )
    except OSError as error:
        return Cards(
            reason=tr(
                "nvidia-smi cannot be run: {error}.", error=clean(error.strerror or str(error))
            )
        )
    text = done.stdout[: 1 << 20].decode("utf-8", "replace")
    cards = parse_csv(text) if done.returncode == 0 else ()
    if cards:
        return Cards(cards, "nvidia-smi")
    said = clean(text.strip() or done.stderr[:4096].decode("utf-8", "replace"), 160).rstrip(".")
    return Cards(
        reason=tr(
            "nvidia-smi finds no card: {said}.", said=said or f"exit status {done.returncode}"
        )
    )


def parse_csv(text: str) -> tuple[CardReading, ...]:
    """Parse the command's lines: name, MiB in all, MiB used, percent busy.

    ``[N/A]``, ``[Not Supported]`` and other words in brackets are unknown. Lines that do not have
    these four columns are passed over.
    """
    cards: list[CardReading] = []
    for row in csv.reader(text.splitlines()[:_MOST_CARDS]):
        if len(row) < 4:
            continue
        total, used, busy = (_number(cell) for cell in row[-3:])
        name = clean(",".join(row[:-3]), 60)
        if not name:
            continue
        cards.append(
            CardReading(
                index=len(cards),
                name=name,
                memory_total=round(total * MIB) if total else None,
                memory_used=round(used * MIB) if used is not None else None,
                utilization=_share(busy) if busy is not None else None,
            )
        )
    return tuple(cards)


def _number(cell: str) -> float | None:
    """A plain number; None for words in brackets, NaN and the like."""
    digits = cell.strip()
    if not digits.replace(".", "", 1).isdecimal() or len(digits) > 15:
        return None
    return float(digits)


def _share(percent: float) -> float:
    return min(max(percent, 0.0), 100.0) / 100


def as_json(cards: Cards) -> list[Mapping[str, Any]]:
    """The cards as plain objects, for ``kvtui status --json``."""
    return [
        {
            "index": card.index,
            "name": card.name,
            "memory_total_bytes": card.memory_total,
            "memory_used_bytes": card.memory_used,
            "utilization": card.utilization,
            "source": cards.source,
        }
        for card in cards.cards
    ]
