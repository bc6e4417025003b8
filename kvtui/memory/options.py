"""Options as text made into numbers: what a user wrote, refused in one sentence or understood."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kvtui.language import tr
from kvtui.text import GIB

from .errors import BadValueError, UnknownNameError
from .model import MAX_TOKENS
from .question import MAX_CARDS, MAX_SEQUENCES

#: Every option of `plan`, by the kind of its value: text, tokens, count, gib, share, flag, other.
KINDS: dict[str, str] = {
    "arch": "text",
    "config_json": "text",
    "gguf": "text",
    "layers": "count",
    "heads": "count",
    "kv_heads": "count",
    "head_dim": "count",
    "v_head_dim": "count",
    "window": "tokens",
    "params_b": "billions",
    "gpu": "text",
    "gpus": "count",
    "tp": "count",
    "pp": "count",
    "pp_partition": "counts",
    "dp": "count",
    "ep": "count",
    "cp": "count",
    "context": "tokens",
    "concurrency": "sequences",
    "kv_dtype": "text",
    "k_dtype": "text",
    "v_dtype": "text",
    "weights_dtype": "text",
    "weights_gib": "gib",
    "lora_gib": "gib",
    "draft_gib": "gib",
    "kv_budget_gib": "gib",
    "engine": "text",
    "gpu_memory_utilization": "share",
    "block_size": "tokens",
    "max_num_batched_tokens": "tokens",
    "max_num_seqs": "sequences",
    "activation_gib": "gib",
    "non_torch_gib": "gib",
    "graphs_gib": "gib",
    "prefix_caching": "flag",
    "spec_tokens": "none_or_count",
    "async_scheduling": "flag",
    "parallel": "sequences",
    "ubatch": "tokens",
    "swa_full": "flag",
    "kv_unified": "flag",
    "mem_fraction_static": "share",
}

_LIMITS = {"count": MAX_CARDS, "none_or_count": 1024, "tokens": MAX_TOKENS}
MAX_GIB = 1 << 30


def parse(options: Mapping[str, Any]) -> dict[str, Any]:
    """The given options as numbers and texts; options that are None are left out.

    Sizes in GiB become bytes, billions of parameters a number of them.

    Raises:
        UnknownNameError: an option that there is not.
        BadValueError: a value that makes no sense; names the option.
    """
    parsed: dict[str, Any] = {}
    for name, value in options.items():
        kind = KINDS.get(name)
        if kind is None:
            raise UnknownNameError("option", name, KINDS)
        if value is not None:
            parsed[name] = _convert(flag_name(name), kind, value)
    return parsed


def flag_name(name: str) -> str:
    """The option as a user writes it."""
    return "--" + name.replace("_", "-")


def _convert(flag: str, kind: str, value: Any) -> Any:
    if kind == "text":
        text = str(value).strip()
        if not text:
            raise BadValueError(flag, "is empty")
        return text
    if kind == "flag":
        return bool(value)
    if kind == "gib":
        return round(number(flag, value, least=0, limit=MAX_GIB) * GIB)
    if kind == "billions":
        return round(number(flag, value, least=0, limit=10**6, above=True) * 10**9)
    if kind == "share":
        return number(flag, value, least=0, limit=1, above=True)
    if kind == "counts":
        parts = value if isinstance(value, list | tuple) else str(value).split(",")
        return tuple(whole(flag, part, 1, MAX_CARDS) for part in parts)
    least = 0 if kind == "none_or_count" else 1
    return whole(flag, value, least, _LIMITS.get(kind, MAX_SEQUENCES), thousands=kind == "tokens")


def whole(flag: str, value: Any, least: int, limit: int, *, thousands: bool = False) -> int:
    """A whole number in a range; tokens may be written 128k, which is 128 × 1,024.

    Raises:
        BadValueError: naming the option.
    """
    factor, text = 1, value
    if isinstance(value, str):
        text = value.strip().replace(",", "").replace("_", "")
        if thousands and text[-1:] in ("k", "K", "m", "M"):
            factor = 1024 if text[-1] in "kK" else 1024 * 1024
            text = text[:-1]
    found = _int(text)
    if found is None:
        raise BadValueError(flag, tr("must be a whole number, not {value}", value=_shown(value)))
    found *= factor
    if found < least:
        raise BadValueError(
            flag, tr("must be at least {least}, not {found:,}", least=least, found=found)
        )
    _not_beyond(flag, value, found, limit)
    return found


def number(flag: str, value: Any, least: float, limit: float, *, above: bool = False) -> float:
    """A finite number in a range.

    Raises:
        BadValueError: naming the option.
    """
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (ValueError, TypeError, OverflowError):
        raise BadValueError(
            flag, tr("must be a number, not {value}", value=_shown(value))
        ) from None
    if not math.isfinite(found):
        raise BadValueError(flag, tr("must be a finite number, not {value}", value=_shown(value)))
    if found < least or (above and found == least):
        shown = _shown(value)
        raise BadValueError(
            flag,
            tr("must be above {least:g}, not {value}", least=least, value=shown)
            if above
            else tr("must be at least {least:g}, not {value}", least=least, value=shown),
        )
    _not_beyond(flag, value, found, limit)
    return found


def _not_beyond(flag: str, value: Any, found: float, limit: float) -> None:
    if found > limit:
        raise BadValueError(
            flag,
            tr(
                "is {value}, more than the {limit:,} that makes sense",
                value=_shown(value),
                limit=limit,
            ),
        )


def _int(value: Any) -> int | None:
    """`value` as an integer where it is one, and no truth value."""
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        return None
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        return None


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "…"
