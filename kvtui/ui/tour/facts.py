"""The tour's figures: what its runs measured, and what the Memory pane worked out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.text import GIB, binary_size, count, milliseconds, rate

if TYPE_CHECKING:
    from kvtui.measure.figures import RunFigures
    from kvtui.ui.state import MemoryState

LABELS = ("on", "off", "long", "fail")
"""Runs whose figures are kept."""

GREW = 1.5
SAME = 1.15
"""TTFT grew, and two rates are about the same, from and up to these ratios."""
EIGHT = 8 * GIB
"""The cache that the article's example leaves on a 24 GB card."""

_OF_RUN = ("prompt", "tokens", "ttft", "tpot", "tps")
_OF_MEMORY = (
    "model",
    "card",
    "context",
    "users",
    "token",
    "sequence",
    "total",
    "weights",
    "overhead",
    "budget",
    "most",
    "longest",
    "model_limit",
    "mha",
    "gqa",
    "mqa",
    "of_eight",
)
FIGURES = frozenset(
    {f"{label}_{name}" for label in LABELS for name in _OF_RUN}
    | {*_OF_MEMORY, "cache_times", "prompt_times"}
)
"""Every figure that a text may name."""
CONDITIONS = frozenset(
    {"cache_pays", "ttft_grew", "tps_kept", "tps_rose", "too_much", "beyond_model", "class"}
)


class Facts:
    """What is known so far."""

    def __init__(self) -> None:
        self._runs: dict[str, RunFigures] = {}
        self._memory: MemoryState | None = None

    def ran(self, label: str, figures: RunFigures) -> None:
        """A run of the tour ended."""
        self._runs[label] = figures

    def shows(self, memory: MemoryState) -> None:
        """The Memory pane shows this."""
        self._memory = memory

    def holds(self, condition: str) -> bool:
        """Whether a condition holds; what is not known does not."""
        name, _, value = condition.partition("=")
        if name == "class":
            run = self._runs.get("fail")
            return run is not None and run.verdict.cls == value
        if name == "too_much":
            memory = self._memory
            return memory is not None and not memory.fits
        if name == "beyond_model":
            memory = self._memory
            if memory is None or memory.max_context is None or memory.model_context is None:
                return False
            return memory.max_context > memory.model_context
        ratio = self._ratio(name)
        if ratio is None:
            return False
        if name == "tps_rose":
            return ratio > SAME
        return 1 / SAME <= ratio <= SAME if name == "tps_kept" else ratio >= GREW

    def _ratio(self, name: str) -> float | None:
        """The ratio that a condition or a figure is about; None where one side is not known."""
        label, figure, other = {
            "cache_pays": ("on", "tps", "off"),
            "cache_times": ("on", "tps", "off"),
            "prompt_times": ("long", "prompt", "on"),
            "ttft_grew": ("long", "ttft", "on"),
            "tps_kept": ("long", "tps", "on"),
            "tps_rose": ("long", "tps", "on"),
        }[name]
        above, below = self._number(label, figure), self._number(other, figure)
        return above / below if above and below else None

    def _number(self, label: str, name: str) -> float | None:
        run = self._runs.get(label)
        if run is None or run.verdict.is_failure or run.stopped:
            return None
        return {
            "prompt": run.prompt_tokens,
            "tokens": run.completion_tokens,
            "ttft": run.ttft_ms,
            "tpot": run.tpot_ms,
            "tps": run.decode_tps,
        }[name]

    def figures(self) -> dict[str, str]:
        """Every figure that is known, as text."""
        show = {"prompt": count, "tokens": count, "ttft": milliseconds, "tpot": milliseconds}
        known: dict[str, str] = {}
        for label in LABELS:
            for name in _OF_RUN:
                value = self._number(label, name)
                if value is not None:
                    known[f"{label}_{name}"] = show.get(name, rate)(value)  # type: ignore[arg-type]
        for name in ("cache_times", "prompt_times"):
            ratio = self._ratio(name)
            if ratio is not None:
                known[name] = f"{ratio:.1f}×" if ratio < 9.95 else f"{ratio:.0f}×"
        return known | self._of_memory()

    def _of_memory(self) -> dict[str, str]:
        memory = self._memory
        if memory is None or not memory.ready or memory.problem or memory.bytes_per_token is None:
            return {}
        sizes = {part.role: part.size for part in memory.parts}
        sequence = memory.constant_bytes + memory.context * memory.bytes_per_token
        budget = sizes.get("used", 0) + sizes.get("free", 0)
        column = memory.precisions.index(memory.kv_dtype) if memory.precisions else 0
        known = {
            "model": memory.model,
            "card": memory.card,
            "context": count(memory.context),
            "users": count(memory.users),
            "token": binary_size(memory.bytes_per_token),
            "sequence": binary_size(sequence),
            "total": binary_size(sequence * memory.users),
            "weights": binary_size(sizes.get("weights")),
            "overhead": binary_size(sizes.get("overhead")),
            "budget": binary_size(budget),
            "most": count(memory.max_requests),
            "longest": count(memory.max_context),
            "model_limit": count(memory.model_context),
            "of_eight": count(EIGHT // sequence),
        }
        for each in memory.variants:
            known[each.label.lower()] = binary_size(each.sizes[column])
        return {name: text for name, text in known.items() if name in FIGURES}
