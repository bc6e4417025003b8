"""``kvtui models`` and ``kvtui gpus``: what is known by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kvtui.commands.errors import BadInput
from kvtui.commands.output import print_json, put
from kvtui.commands.own_cards import own_cards
from kvtui.commands.speech import lang_option, speak_as_configured
from kvtui.language import later, tr
from kvtui.text import padded, wide_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtui.memory.cards import Card
    from kvtui.memory.model import Model


@click.command()
@click.argument("query", nargs=-1)
@lang_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def models(query: tuple[str, ...], lang: str | None, as_json: bool) -> None:
    """List the models whose memory is known, all or those whose name holds QUERY."""
    from kvtui.memory import catalogue
    from kvtui.memory.errors import PlanError

    if not as_json:  # what machines read is English
        speak_as_configured(lang)
    wanted = " ".join(query)
    try:
        found = catalogue.search(wanted)
    except PlanError as error:
        raise BadInput(str(error)) from error
    if as_json:
        _print_json("kvtui.models/1", "models", [_model_json(model) for model in found])
        return
    if not found:
        raise BadInput(
            tr("no model's name holds {wanted}: kvtui models lists all", wanted=repr(wanted))
        )
    heads = (
        (later("layers"), 7),
        ("KV B/token", 12),
        (later("context"), 12),
        (later("params"), 11),
    )
    put(padded(tr("model"), 28) + _right(heads))
    for model in found:
        row = _model_json(model)
        params = "—" if row["params"] is None else f"{row['params'] / 1e9:,.2f} B"
        context = "—" if row["max_context"] is None else f"{row['max_context']:,}"
        put(
            f"{row['name']:<28}{row['layers']:>7}  {row['kv_bytes_per_token']:>10,}  "
            f"{context:>10}  {params:>9}"
        )


@click.command()
@click.argument("query", nargs=-1)
@lang_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def gpus(query: tuple[str, ...], lang: str | None, as_json: bool) -> None:
    """List the cards and what they truly hold, all or those whose name holds QUERY."""
    from kvtui.memory import cards
    from kvtui.memory.errors import PlanError

    if not as_json:  # what machines read is English
        speak_as_configured(lang)
    wanted = " ".join(query)
    try:
        found = cards.search(wanted, own_cards())
    except PlanError as error:
        raise BadInput(str(error)) from error
    if as_json:
        _print_json("kvtui.gpus/1", "gpus", [_card_json(card) for card in found])
        return
    if not found:
        raise BadInput(
            tr("no card's name holds {wanted}: kvtui gpus lists all", wanted=repr(wanted))
        )
    from kvtui.text import gib

    heads = (("GiB", 8), (later("shown to engines"), 18), ("GB/s", 8))
    put(padded(tr("card"), 26) + _right(heads))
    for card in found:
        speed = card.bandwidth_bytes_per_s
        put(
            f"{card.name:<26}{gib(card.memory_bytes):>8}  {gib(card.usable_total_bytes):>16}  "
            f"{'—' if speed is None else f'{speed // 10**9:,}':>6}"
        )


def _right(heads: Iterable[tuple[str, int]]) -> str:
    """Heads at the right of columns of so many cells."""
    return "".join(
        " " * (cells - wide_in(said) - len(said)) + said
        for said, cells in ((tr(head), cells) for head, cells in heads)
    )


def _model_json(model: Model) -> dict[str, Any]:
    from kvtui.memory import kv

    far = model.max_context or 1 << 20
    return {
        "id": model.id,
        "name": model.name,
        "aliases": [*model.aliases, *model.asked_as],
        "layers": len(model.layers),
        "heads": model.heads,
        "kv_heads": model.kv_heads,
        "kv_dtype": model.kv_dtype,
        "kv_bytes_per_token": kv.bytes_per_token(model, "auto", "auto", far),
        "constant_bytes_per_sequence": kv.constant_bytes_per_sequence(model, "auto", "auto", far),
        "params": model.params,
        "params_active": model.params_active,
        "weights_dtype": model.weights_dtype,
        "max_context": model.max_context,
        "verified": model.verified,
        "source": model.source,
        "note": model.note,
    }


def _card_json(card: Card) -> dict[str, Any]:
    return {
        "id": card.id,
        "name": card.name,
        "memory_bytes": card.memory_bytes,
        "usable_total_bytes": card.usable_total_bytes,
        "bandwidth_bytes_per_s": card.bandwidth_bytes_per_s,
        "source": card.source,
        "usable_source": card.usable_source,
        "bandwidth_source": card.bandwidth_source,
        "note": card.note,
    }


def _print_json(schema: str, key: str, rows: list[dict[str, Any]]) -> None:

    print_json({"schema": schema, key: rows})
