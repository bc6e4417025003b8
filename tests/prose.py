"""English words in what should be said in another language, the field's own terms left out."""

from __future__ import annotations

import re

TERMS = frozenset(
    """
    token tokens tok req ktok ms GiB MiB KiB TiB TTFT TTFA TPOT TPS ITL SLO goodput nat logits
    KV MHA GQA MQA MLA CPU GPU CUDA DNS TCP TLS HTTP HTTPS URL API SDK JSON CSV TOML SVG Markdown
    kvtui vLLM SGLang llama cpp Ollama OpenAI LiteLLM PagedAttention bootstrap
    """.split()  # noqa: SIM905 - a list that is read and added to
)


def english_in(text: str, *names: str) -> list[str]:
    """The words of three letters or more that are neither terms nor part of ``names``."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    words = re.findall(r"[A-Za-z][A-Za-z']{2,}", text)
    return [word for word in words if word not in TERMS]


def sentences_in(rows: list[str]) -> list[str]:
    """Stretches of three English words or more, which no screen in another language has."""
    words = r"[A-Za-z][a-z']+(?: (?:[a-z][a-z']+|a)){2,}"
    return [found for line in rows for found in re.findall(words, line)]
