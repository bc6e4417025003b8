"""The memory question behind pane 2: what its keys offer, what is chosen, what is answered."""

from kvtui.ui.memory.lists import card_choices, model_choices, own_cards
from kvtui.ui.memory.view import MemoryView

__all__ = ["MemoryView", "card_choices", "model_choices", "own_cards"]
