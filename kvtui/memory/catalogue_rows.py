"""A row of `models.toml` made into a model, and checked on the way."""

from __future__ import annotations

from typing import Any

from kvtui.text import GIB

from . import precision
from .errors import PlanError
from .model import Attention, Cache, Experts, Latent, Layer, Model, Shared, State
from .tables import wrong_key

_KEYS: dict[str, type] = {
    "id": str,
    "name": str,
    "aliases": list,
    "asked_as": list,
    "params": int,
    "active": int,
    "dtype": str,
    "kv": str,
    "weights_gib": float,
    "max_context": int,
    "vocab": int,
    "hidden": int,
    "tied": bool,
    "layers": int,
    "heads": int,
    "cycle": str,
    "kv_heads": int,
    "head_dim": int,
    "v_head_dim": int,
    "window": int,
    "chunk": int,
    "full_kv_heads": int,
    "full_head_dim": int,
    "mla": list,
    "index": list,
    "state": dict,
    "experts": list,
    "expert_inter": int,
    "dense_layers": int,
    "mtp": int,
    "windows_ignored_by": list,
    "verified": bool,
    "source": str,
    "note": str,
}
_NEEDED = ("id", "dtype", "layers", "source")


def to_model(row: dict[str, Any]) -> Model:
    """The model of one row.

    Raises:
        PlanError: what is wrong with the row, with its id.
    """
    where = f"models.toml, row {row.get('id', '?')!r}"
    wrong = wrong_key(row, _KEYS, _NEEDED)
    if wrong:
        raise PlanError(f"{where}: {wrong}")
    kinds = _kinds(row, where)
    cycle: str = row.get("cycle", "f")
    count: int = row["layers"]
    if not cycle or any(kind not in kinds for kind in cycle):
        raise PlanError(f"{where}: cycle {cycle!r} uses a kind that the row does not describe")
    layers = tuple(kinds[cycle[index % len(cycle)]] for index in range(count))
    precision.parse(row["dtype"])
    params = row.get("params")
    weights_gib = row.get("weights_gib")
    return Model(
        id=row["id"],
        name=row.get("name", row["id"]),
        params=params,
        params_active=row.get("active", params),
        weights_dtype=row["dtype"],
        kv_dtype=row.get("kv", "bf16"),
        weights_bytes=None if weights_gib is None else round(weights_gib * GIB),
        max_context=row.get("max_context"),
        vocab=row.get("vocab"),
        hidden=row.get("hidden"),
        tied=row.get("tied"),
        layers=layers,
        heads=row.get("heads"),
        experts=_experts(row, where),
        source=row["source"],
        verified=row.get("verified", True),
        note=row.get("note", ""),
        aliases=tuple(row.get("aliases", ())),
        asked_as=tuple(row.get("asked_as", ())),
        windows_ignored_by=tuple(row.get("windows_ignored_by", ())),
        draft_layers=(kinds["f"],) * row["mtp"] if "mtp" in row else (),
    )


def _kinds(row: dict[str, Any], where: str) -> dict[str, Layer]:
    """What each letter of the cycle stands for."""
    kinds: dict[str, Layer] = {"-": (), "h": (Shared(),)}
    full: Cache | None = None
    if "mla" in row:
        rank, rope = row["mla"]
        index_dim, topk = row.get("index", (0, 0))
        full = Latent(rank, rope, index_dim, topk)
        kinds["i"] = (Latent(rank, rope, 0, topk),)
    elif "kv_heads" in row:
        if "head_dim" not in row:
            raise PlanError(f"{where}: head_dim is missing")
        heads, dim = row["kv_heads"], row["head_dim"]
        v_dim = row.get("v_head_dim", dim)
        if "window" in row:
            kinds["w"] = (Attention(heads, dim, v_dim, window=row["window"]),)
        if "chunk" in row:
            kinds["c"] = (Attention(heads, dim, v_dim, chunk=row["chunk"]),)
        full_dim = row.get("full_head_dim", dim)
        full = Attention(
            row.get("full_kv_heads", heads),
            full_dim,
            v_dim if "v_head_dim" in row else full_dim,
        )
    if full is not None:
        kinds["f"] = (full,)
    if "state" in row:
        try:
            state = State(**row["state"])
        except TypeError as error:
            raise PlanError(f"{where}: state: {error}") from error
        kinds["s"] = (state,)
        if full is not None:
            kinds["p"] = (full, state)
    return kinds


def _experts(row: dict[str, Any], where: str) -> Experts | None:
    if "experts" not in row:
        return None
    if "expert_inter" not in row or "hidden" not in row:
        raise PlanError(f"{where}: experts need expert_inter and hidden")
    number, active = row["experts"]
    # Each expert has three matrices of hidden × expert_inter (gate, up, down).
    layers = row["layers"] - row.get("dense_layers", 0)
    return Experts(number, active, 3 * row["hidden"] * row["expert_inter"] * number * layers)
