"""Every row of the catalogue against the facts it was made from."""

from __future__ import annotations

import pytest

from kvtui.memory import catalogue, kv
from kvtui.memory.model import Attention, Latent, State

from .conftest import facts

# Its facts count attention in all 80 layers as an upper bound; its config.json has it in 49.
UPPER_BOUND = "Llama-3.3-Nemotron-Super-49B"


@pytest.mark.parametrize("row", facts("models.json"), ids=lambda row: row["id"])
def test_a_row_has_its_geometry(row):
    model = catalogue.find(row["id"])
    assert len(model.layers) == row["layers"]
    assert model.vocab == row["vocab"]
    assert model.hidden == row["hidden"]
    assert model.max_context == row["max_context"]
    assert model.verified == row["verified"]
    assert model.params == pytest.approx(row["params_b"] * 1e9, rel=0.005)
    assert model.params_active == pytest.approx(row["params_active_b"] * 1e9, rel=0.005)
    far = 1 << 24
    growing = kv.bytes_per_token(model, "fp16", "fp16", far)
    if row["id"] == UPPER_BOUND:
        assert growing == row["kv_bytes_per_token"] // 80 * 49
    else:
        index = row["index_bytes"] * row["layers"]
        assert growing - index == row["kv_bytes_per_token"]


@pytest.mark.parametrize(
    "row",
    [row for row in facts("models.json") if isinstance(row["pattern"], dict)],
    ids=lambda row: row["id"],
)
def test_a_row_has_its_pattern(row):
    model = catalogue.find(row["id"])
    caches = [cache for layer in model.layers for cache in layer]
    windows = [c for c in caches if isinstance(c, Attention) and c.window]
    chunks = [c for c in caches if isinstance(c, Attention) and c.chunk]
    full = [
        c
        for c in caches
        if isinstance(c, Latent) or (isinstance(c, Attention) and not c.window and not c.chunk)
    ]
    pattern = row["pattern"]
    assert len(windows) == pattern.get("swa", 0)
    assert len(chunks) == pattern.get("chunk", 0)
    assert len(full) == pattern.get("full", 0)
    assert {c.window or c.chunk for c in (*windows, *chunks)} <= {row["window"]}


@pytest.mark.parametrize(
    "row", [row for row in facts("models.json") if row["state"]], ids=lambda row: row["id"]
)
def test_a_row_has_its_state(row):
    conv, state, layers = row["state"]
    model = catalogue.find(row["id"])
    found = [c for layer in model.layers for c in layer if isinstance(c, State)]
    assert len(found) == layers
    assert {(c.columns * c.channels, c.elements) for c in found} == {(conv, state)}
