"""The labels of levels as a reader sees them; a record keeps them in English, where they are keys.

A label is made of parts, ``question, 64 tokens`` or ``ENDPOINT: 256→128 tokens``, and each known
part has a translation; what is none of them (an endpoint's name, ``c=4``) stays as it is.
"""

from __future__ import annotations

import re

from kvtui.language import later, retold, tr

_PARTS = (
    later("question"),
    later("summarise {n} characters"),
    later("prefill of {n} tokens"),
    later("{n} prompt tokens"),
    later("{out} tokens"),
    later("cold"),
    later("again"),
    later("cache on"),
    later("cache off"),
    later("tokens"),
    later("weights {n}"),
    later("KV {n}"),
)
_SEPARATORS = (later(", "), later(": "))
_BETWEEN = re.compile(f"({'|'.join(map(re.escape, _SEPARATORS))})")


def label_shown(label: str) -> str:
    """A level's label in the language in use."""
    parts = _BETWEEN.split(label)
    return "".join(tr(part) if n % 2 else retold(part, _PARTS) for n, part in enumerate(parts))
