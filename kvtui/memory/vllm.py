"""vLLM's cache: blocks, groups of layers, pages of one size.

Layers of one kind share a block table; kinds are cut into groups of equally many layers, and all
groups draw blocks of the same bytes from one pool. So a request costs whole blocks of every
group, and capacity is blocks over blocks per request, never memory over a cost per token.

Source: vLLM 0.33 `v1/core/kv_cache_utils.py` (get_kv_cache_groups, unify_kv_cache_spec_page_size,
_get_kv_cache_groups_uniform_page_size, get_max_concurrency_for_kv_cache_config),
`v1/kv_cache_interface.py` (max_memory_usage_bytes of each spec), `platforms/interface.py`
(_align_hybrid_block_size).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kvtui.language import tr

from .model import Layer, Model
from .precision import Precision
from .units import gib
from .vllm_groups import (
    Group,
    Settings,
    Spec,
    blocks_of,
    blocks_text,
    groups_of,
    grows,
    is_paged,
    specs_of,
)


class VllmStore(NamedTuple):
    """One stage's blocks.

    Attributes:
        groups: the groups, whole; every stage has a block table for each.
        bytes_per_block: bytes of one block on this stage.
        settings: what changes their number.
    """

    groups: tuple[Group, ...]
    bytes_per_block: int
    settings: Settings

    def blocks(self, context: int) -> int:
        """Blocks that one request of `context` tokens reserves, over all groups."""
        return sum(blocks_of(item.spec, context, self.settings) for item in self.groups)

    def sequence_bytes(self, context: int) -> int:
        """Blocks × bytes of a block."""
        return self.blocks(context) * self.bytes_per_block

    def token_bytes(self, context: int) -> int:
        """Bytes of a block over its tokens, for each group that still grows there."""
        return sum(
            self.bytes_per_block // (item.spec.block * self._shared(item.spec))
            for item in self.groups
            if grows(item.spec, context, self.settings)
        )

    def _shared(self, spec: Spec) -> int:
        return self.settings.cp if spec.kind == "full" else 1

    def total_bytes(self, context: int, sequences: int) -> int:
        """Requests share nothing (shared prefixes are not counted)."""
        return sequences * self.sequence_bytes(context)

    def pool_blocks(self, budget: int) -> int:
        """Blocks that a budget buys."""
        return max(budget, 0) // self.bytes_per_block if self.bytes_per_block else 1

    def ratio(self, budget: int, context: int) -> float:
        """VLLM's "maximum concurrency": blocks over blocks per request."""
        one = self.blocks(context)
        return self.pool_blocks(budget) / one if one else float("inf")

    def formula(self, context: int, sequences: int, budget: int) -> str:
        """Blocks of each kind, and what the budget buys, with the numbers."""
        kinds: dict[Spec, int] = {}
        for item in self.groups:
            kinds[item.spec] = kinds.get(item.spec, 0) + 1
        terms = [
            (f"{number} × " if number > 1 else "") + blocks_text(spec, context, self.settings)
            for spec, number in kinds.items()
        ]
        total = gib(self.total_bytes(context, sequences))
        return tr(
            "{terms} = {blocks:,} blocks a sequence × {block:,} B ×"
            " {sequences:,} = {total}; ⌊{budget} / {block:,} B⌋ = {pool:,}"
            " blocks",
            terms=" + ".join(terms) or "0",
            blocks=self.blocks(context),
            block=self.bytes_per_block,
            sequences=sequences,
            total=total,
            budget=gib(budget),
            pool=self.pool_blocks(budget),
        )

    def details(self, budget: int, context: int, sequences: int) -> dict[str, Any]:  # noqa: ARG002
        """Blocks, groups, and the token figures that vLLM logs."""
        blocks = self.pool_blocks(budget)
        per_request = self.blocks(context)
        reported = int(blocks / per_request * context) if per_request else 0
        # Until 0.21 the log divided the blocks among the groups, which says little of a hybrid.
        legacy = blocks // len(self.groups) * self._legacy_block() if self.groups else 0
        return {
            "block_tokens": sorted(
                {item.spec.block for item in self.groups if is_paged(item.spec)}
            ),
            "bytes_per_block": self.bytes_per_block,
            "groups": len(self.groups),
            "num_blocks": blocks,
            "blocks_per_sequence": per_request,
            "logged_tokens": reported,
            "logged_tokens_before_0_21": legacy,
        }

    def _legacy_block(self) -> int:
        return min((item.spec.block for item in self.groups if is_paged(item.spec)), default=0)


def build(
    model: Model,
    stages: Sequence[Sequence[Layer]],
    k: Precision,
    v: Precision,
    settings: Settings,
) -> list[VllmStore]:
    """The blocks of each pipeline stage.

    Args:
        model: the model, for the precision of states.
        stages: layers of each stage, as one rank stores them.
        k: precision of the keys.
        v: precision of the values.
        settings: what of vLLM's settings changes the cache.

    Raises:
        PlanError: a mix of layers that vLLM cannot page either.
    """
    layers = [layer for stage in stages for layer in stage]
    groups = groups_of(specs_of(model, layers, k, v, settings))
    stores, start = [], 0
    for stage in stages:
        end = start + len(stage)
        widest = max(
            (sum(page for index, page in item.members if start <= index < end) for item in groups),
            default=0,
        )
        stores.append(VllmStore(groups, widest, settings))
        start = end
    return stores
