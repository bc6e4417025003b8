"""No class of the screen takes a private name that Textual uses for something else."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from functools import cache
from importlib import import_module

import pytest
from textual.message_pump import MessagePump
from textual.widget import Widget

import kvtui.ui

MEANT = {
    "_compositor", "_compositor_refresh", "_repaint_required",  # kvtui.ui.terminal.paint
    "_on_key", "_on_paste", "_on_screen_resume",  # handlers: Textual calls each class's own
    "_build_driver",  # the driver ends with its terminal
    "_app_theme_changed",  # a closed editor hears of the theme no more
}  # fmt: skip
"""Overridden on purpose."""
EACH_HAS = frozenset(name for name in vars(type("Bare", (Widget,), {})) if name[:1] == "_")
"""What Textual writes into each class when it is made."""


def shown_classes() -> list[type]:
    for module in pkgutil.walk_packages(kvtui.ui.__path__, "kvtui.ui."):
        import_module(module.name)
    found: set[type] = set()
    waiting: list[type] = [MessagePump]
    while waiting:
        for child in waiting.pop().__subclasses__():
            waiting.append(child)
            if child.__module__.startswith("kvtui."):
                found.add(child)
    return sorted(found, key=lambda each: each.__qualname__)


@cache
def private_names(owner: type) -> frozenset[str]:
    """Names with one underscore that a class defines, or sets on ``self``."""
    names = {name for name in vars(owner) if name.startswith("_")}
    try:
        tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(owner)))
    except (OSError, TypeError, SyntaxError):
        tree = ast.Module(body=[], type_ignores=[])
    names |= {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    mangled = f"_{owner.__name__.lstrip('_')}__"
    return frozenset(
        name
        for name in names
        if name.startswith("_") and not name.startswith(("__", mangled, "_abc_"))
    )


def taken(owner: type) -> set[str]:
    """What our classes among its bases and Textual's both call their own."""
    ours: set[str] = set()
    theirs: set[str] = set()
    for base in owner.__mro__:
        if base.__module__.startswith("kvtui."):
            ours |= private_names(base)
        elif base.__module__.startswith("textual."):
            theirs |= private_names(base)
    return (ours & theirs) - MEANT - EACH_HAS


def test_a_taken_name_is_found() -> None:
    class Taker(Widget):
        def _uncover(self) -> None:
            self._size = 3  # type: ignore[assignment]

    Taker.__module__ = "kvtui.ui.taker"
    assert "_uncover" in taken(Taker)


@pytest.mark.parametrize("owner", shown_classes(), ids=lambda each: each.__qualname__)
def test_no_private_name_of_textual_is_taken(owner: type) -> None:
    assert taken(owner) == set()
