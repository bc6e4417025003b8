"""What is put off while requests are under way comes back afterwards."""

from __future__ import annotations

import gc
import sys

from kvtui.bench.requests.undisturbed import Undisturbed


def test_the_interpreter_is_left_as_it_was() -> None:
    before = sys.getswitchinterval(), gc.get_threshold()
    undisturbed = Undisturbed()
    undisturbed.begin()
    undisturbed.begin()
    assert sys.getswitchinterval() < before[0]
    assert gc.get_threshold() > before[1]
    undisturbed.end()
    undisturbed.end()
    assert (sys.getswitchinterval(), gc.get_threshold()) == before
