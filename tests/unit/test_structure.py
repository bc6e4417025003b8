"""No module imports one that imports it, directly or around a corner.

Counted are imports at the top of a module, those inside functions, where they save time at the
start but must not hide a circle, and those for types alone, where a circle runs but says that two
modules cannot be understood one by one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import kvtui

PACKAGE = Path(kvtui.__file__).parent


def imports_of(
    tree: ast.AST, *, lazy: bool, types: bool = False
) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports; those inside functions only if ``lazy``, those for types only if ``types``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for other in [*node.orelse, *(node.body if types else ())]:
                yield from imports_of(ast.Module([other], []), lazy=lazy, types=types)
        elif lazy or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports_of(node, lazy=lazy, types=types)


def targets(node: ast.Import | ast.ImportFrom, package: str) -> list[str]:
    """Full names of what a statement imports, each a module or something in one."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    return [f"{base}.{alias.name}" for alias in node.names]


@cache
def graph(*, lazy: bool, types: bool = False) -> dict[str, set[str]]:
    """Each module of kvtui with those it imports."""
    files = {}
    for path in PACKAGE.rglob("*.py"):
        parts = (PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)
        files[".".join(part for part in parts if part != "__init__")] = path
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse(path.read_bytes())
        found[name] = set()
        for node in imports_of(tree, lazy=lazy, types=types):
            for full in targets(node, package):
                module = full if full in files else full.rpartition(".")[0]
                if module in files and module != name:
                    found[name].add(module)
    return found


def circle(modules: dict[str, set[str]]) -> list[str]:
    """One circle, as the modules on the way round; empty where there is none."""
    try:
        TopologicalSorter(modules).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_at_the_top_of_modules() -> None:
    assert circle(graph(lazy=False)) == []


def test_no_circle_hidden_in_functions() -> None:
    assert circle(graph(lazy=True)) == []


def test_no_circle_of_types() -> None:
    assert circle(graph(lazy=True, types=True)) == []


def test_imports_are_found() -> None:
    modules = graph(lazy=True)
    assert "kvtui.ui.screens.main.screen" in modules["kvtui.ui.app"]
    assert "kvtui.ui.opening.start" in modules["kvtui.ui.app"]
    assert "kvtui.ui.opening.start" not in graph(lazy=False)["kvtui.ui.app"]
    assert "kvtui.memory.question" in modules["kvtui.memory.budget"]
    assert "kvtui.ui.memory" not in modules["kvtui.ui.screens.main.opened"]
    assert "kvtui.ui.memory" in graph(lazy=True, types=True)["kvtui.ui.screens.main.opened"]
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
