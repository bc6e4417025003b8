"""What tokens take is said in full, also where the card has no room for it."""

from __future__ import annotations

from kvtui.ui.memory import MemoryView


def test_kv_in_use_is_the_tokens_bytes_where_nothing_fits() -> None:
    view = MemoryView(())
    view.choose_card("24GB")
    view.choose_model("Llama-3.1-70B")  # 131 GiB of weights: no room for any cache
    state = view.state(319)
    used = next(part.size for part in state.parts if part.role == "used")
    # 2 x 80 layers x 8 KV heads x 128 x 2 B = 327,680 B a token
    assert used == state.used_bytes == 319 * 327_680
    assert not state.fits
