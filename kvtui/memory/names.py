"""Names of models and cards cut into words, so that spellings of one thing compare equal.

"Llama-3.1-8B", "llama3.1:8b" and "LLAMA 3.1 8b" are all (llama, 3.1, 8, b), while "Qwen3-8B"
(qwen, 3, 8, b) and "Qwen-38B" (qwen, 38, b) stay apart.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)*")


def tokens(name: str) -> tuple[str, ...]:
    """Runs of letters and numbers, folded to lower case."""
    return tuple(_WORD.findall(name.casefold()))
