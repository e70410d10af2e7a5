"""One way through the house: no file imports one of a layer that comes after its own, and there is no circle."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import srcgrad

HOUSE = Path(srcgrad.__file__).parent
WAY = (
    "srcgrad.ir",
    "srcgrad.analysis",
    "srcgrad.passes",
    "srcgrad.emit",
    "srcgrad.backends",
)  # each may see those before it
TARGETS = "srcgrad.passes.cpu", "srcgrad.passes.gpu"
# What a value, a list, a record and an identity is.
DATA_MODEL = (
    "aliases", "attempts", "binding", "builder", "filled_lists", "growing_lists", "handed_on", "identities",
    "item_fields", "item_names", "item_views", "joined_numbers", "known_values", "list_items", "list_parts",
    "list_rows", "list_types", "lists", "lists_as_arrays", "lists_of_none", "named_parts", "put_in_rows", "records",
    "resized", "shared_items", "unpacking", "values",
)  # fmt: skip
EVALUATORS = (
    "assignment", "augmented", "branches", "calls", "calls_in_place", "choices", "comprehensions", "control",
    "expressions",
    "if_statements", "interpret", "objects", "operators", "split_statements",
)  # fmt: skip


def modules() -> dict[str, Path]:
    found = {}
    for path in HOUSE.rglob("*.py"):
        parts = path.relative_to(HOUSE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imported(name: str, path: Path, at_once: bool = False) -> tuple[str, ...]:
    """The modules of ours that a module imports, wherever it does so; `at_once`: when it is imported itself."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree, found = ast.parse(path.read_text()), []
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")
            base = ".".join(above[: len(above) - node.level + 1]) if node.level else ""
            whole = ".".join(filter(None, (base, node.module)))
            found += [whole if f"{whole}.{a.name}" not in MODULES else f"{whole}.{a.name}" for a in node.names]
    return tuple(found)


MODULES = modules()


def edges(within: str) -> Iterator[tuple[str, str]]:
    for name, path in MODULES.items():
        if is_in(name, within):
            yield from ((name, other) for other in imported(name, path) if is_in(other, "srcgrad"))


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def test_the_way() -> None:
    for k, layer in enumerate(WAY):
        for later in (*WAY[k + 1 :], "srcgrad.frontend", "srcgrad.pipeline", "srcgrad.api"):
            assert not [edge for edge in edges(layer) if is_in(edge[1], later)]


def test_the_frontend_knows_no_pass() -> None:
    for later in WAY[1:]:
        assert not [edge for edge in edges("srcgrad.frontend") if is_in(edge[1], later)]


def test_passes_of_one_target_know_nothing_of_the_other() -> None:
    cpu, gpu = TARGETS
    assert not [edge for edge in edges(cpu) if is_in(edge[1], gpu)]
    assert not [edge for edge in edges(gpu) if is_in(edge[1], cpu)]
    inside = [edge for edge in edges("srcgrad.passes") if not any(is_in(edge[0], target) for target in TARGETS)]
    known = {name for name, other in inside if any(is_in(other, target) for target in TARGETS)}
    assert known == {"srcgrad.passes.order"}


@cache
def imported_at_once(name: str) -> frozenset[str]:
    return frozenset(imported(name, MODULES[name], at_once=True)) & MODULES.keys() - {name}


def test_no_module_imports_itself_by_way_of_others() -> None:
    graphlib.TopologicalSorter({name: imported_at_once(name) for name in MODULES}).prepare()  # names those in a circle


def test_what_values_are_is_told_without_what_evaluates_syntax() -> None:
    files = (name for name, path in MODULES.items() if is_in(name, "srcgrad.frontend") and path.name != "__init__.py")
    named = {name.rpartition(".")[2]: name for name in files if not is_in(name, "srcgrad.frontend.numpy")}
    evaluators = {named[each] for each in EVALUATORS}
    for name in (named[each] for each in DATA_MODEL):
        work, seen = [name], set()
        while work:
            more = imported_at_once(work.pop()) - seen
            seen |= more
            work += more
        seen |= set(imported(name, MODULES[name])) - {"srcgrad.frontend.interpret"}  # it is handed an interpreter
        assert not seen & evaluators, name
