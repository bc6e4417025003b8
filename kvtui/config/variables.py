"""The name of the variable that holds a key, and what cannot be one."""

from __future__ import annotations

import re

from kvtui.language import tr
from kvtui.text import looks_like_key

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def variable_problem(name: str) -> str:
    """Why this cannot be the name of the variable that holds a key; empty where it can.

    What was typed is never repeated: it may be the key.
    """
    if not name.strip():
        return tr("the variable's name is empty")
    if looks_like_key(name):
        return tr(
            "this looks like a key, and the name of the variable that holds it is asked for:"
            " export NAME=..., then give NAME"
        )
    if name.startswith(("$", "%")):
        return tr("the variable's name stands alone, without $, braces or %")
    if not _VARIABLE.fullmatch(name):
        return tr(
            "this is no name of a variable (letters, digits and _, no digit first);"
            " a key itself is never given here"
        )
    return ""
