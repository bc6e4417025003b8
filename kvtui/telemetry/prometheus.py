"""A metrics page in Prometheus' text format → the samples that are wanted of it.

A page may hold thousands of histogram buckets of which a dozen lines matter. Lines are chosen by
their name first and only those are parsed, so that one look takes little of the interpreter from
a stream that is being timed beside it, and a malformed line costs that line alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

PREFIXES = ("vllm:", "sglang:", "llamacpp:", "tgi_", "dynamo_", "litellm_", "kvtui:")
"""What the names of each known server begin with."""


class Sample(NamedTuple):
    """One line: its labels, and its value or None where it is NaN or infinite."""

    labels: Mapping[str, str]
    value: float | None


@dataclass(frozen=True, slots=True)
class Page:
    """The wanted samples of a page, by name."""

    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    prefixes: frozenset[str] = frozenset()
    """Those of ``PREFIXES`` that any line began with."""
    lines: int = 0
    """Sample lines of any name; 0 means that this is no metrics page."""
    bad_lines: int = 0
    """Wanted lines that could not be parsed."""

    def get(self, name: str) -> tuple[Sample, ...]:
        """The samples of ``name_total``, else of ``name``: both are met for counters."""
        plain = name.removesuffix("_total")
        return self.samples.get(f"{plain}_total") or self.samples.get(plain, ())

    def total(self, name: str) -> float | None:
        """The sum over all label sets; None without any, or where one of them is no number."""
        return total(self.get(name))

    def most(self, name: str) -> float | None:
        """The largest of all label sets that are numbers."""
        return max(known(self.get(name)), default=None)

    def label_values(self, label: str) -> tuple[str, ...]:
        """All values of one label, each once."""
        found = (s.labels.get(label, "") for group in self.samples.values() for s in group)
        return tuple(value for value in dict.fromkeys(found) if value)


def known(samples: Collection[Sample]) -> list[float]:
    """The values that are numbers."""
    return [sample.value for sample in samples if sample.value is not None]


def total(samples: Collection[Sample]) -> float | None:
    """The sum of all values; None without any, or where one of them is no number."""
    values = known(samples)
    return sum(values) if values and len(values) == len(samples) else None


def is_metrics(content_type: str, text: str) -> bool:
    """Whether an answer can be a metrics page at all: HTML and JSON are not."""
    kind = content_type.partition(";")[0].strip().lower()
    if "html" in kind or "json" in kind:
        return False
    return not text.lstrip("\ufeff \t\r\n").startswith(("<", "{", "["))


def read_page(text: str, wanted: Collection[str]) -> Page:
    """Parse the lines whose name is in ``wanted``, with or without ``_total``.

    Both the text format 0.0.4 and OpenMetrics (exemplars, ``# EOF``) are taken. Types and help
    texts are not needed. ``*_created`` is never wanted.
    """
    samples: dict[str, list[Sample]] = {}
    prefixes: set[str] = set()
    unwanted: set[str] = set()
    lines = bad = 0
    for line in _lines(text):
        if not line or line[0] == "#":
            continue
        lines += 1
        name = line.partition("{")[0]
        if name in unwanted or not line.startswith(PREFIXES):
            continue
        name = name.split(None, 1)[0]
        prefixes.update(prefix for prefix in PREFIXES if name.startswith(prefix))
        if name not in wanted and name.removesuffix("_total") not in wanted:
            unwanted.add(name)
            continue
        try:
            full_name, labels, value = _sample(line)
        except (ValueError, IndexError):
            bad += 1
            continue
        samples.setdefault(full_name, []).append(Sample(labels, _finite(value)))
    return Page(
        {name: tuple(group) for name, group in samples.items()}, frozenset(prefixes), lines, bad
    )


def _sample(line: str) -> tuple[str, Mapping[str, str], float]:
    """Name, labels and value of one line.

    From look to look only the values change: the name and the labels before it, whose parsing is
    slow, are remembered.

    Raises:
        ValueError, IndexError: The line is malformed.
    """
    if " # " in line:  # an exemplar, or a label that looks like one
        return _parsed(line)
    end = line.rfind("}") + 1 or len(line.split(None, 1)[0])
    value = line[end:].split(None, 1)[0]
    if "_" in value:  # Python's digit groups are no Prometheus number
        raise ValueError(value)
    name, labels, _ = _parsed(f"{line[:end]} 0")
    return name, labels, float(value)


@lru_cache(maxsize=4096)
def _parsed(line: str) -> tuple[str, Mapping[str, str], float]:
    from prometheus_client.parser import text_string_to_metric_families

    (family,) = text_string_to_metric_families(line)
    (sample,) = family.samples
    return sample.name, sample.labels, sample.value


def _lines(text: str) -> Iterator[str]:
    """The lines, found one at a time: splitting megabytes at once would hold the interpreter."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end].rstrip("\r")
        start = end + 1
    yield text[start:]


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
