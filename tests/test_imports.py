"""What may import what: there is no circle, and what values are is told without what evaluates syntax."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import srcgrad

ROOT = Path(srcgrad.__file__).parent
FILES = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in ROOT.rglob("*.py")}
MODULES = {name.removesuffix("__init__").rstrip("."): path for name, path in FILES.items()}
# What a value, a list, a record and an identity is.
DATA_MODEL = (
    "aliases", "attempts", "binding", "builder", "filled_lists", "growing_lists", "handed_on", "identities",
    "item_fields", "item_names", "item_views", "joined_numbers", "known_values", "list_items", "list_parts",
    "list_rows", "list_types", "lists", "lists_as_arrays", "lists_of_none", "named_parts", "put_in_rows", "records",
    "resized", "shared_items", "types", "unpacking", "values",
)  # fmt: skip
EVALUATORS = (
    "assignment", "branches", "calls", "calls_in_place", "choices", "comprehensions", "control", "expressions",
    "if_statements", "interpret", "objects", "operators", "split_statements",
)  # fmt: skip


def imported(name: str, everywhere: bool = False) -> set[str]:
    """The modules of srcgrad that a module imports when it is imported itself; `everywhere`: in its functions too."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    package = name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            around = package[: len(package) - node.level + 1]
            base = ".".join([*around, *(node.module or "").split(".")]).strip(".")
            full = {f"{base}.{each.name}".lstrip(".") for each in node.names}
            found |= full & MODULES.keys() or {base}
    return found - {name}


def test_no_module_imports_itself_by_way_of_others() -> None:
    graphlib.TopologicalSorter({name: imported(name) for name in MODULES}).prepare()  # names those in a circle


def test_what_values_are_imports_nothing_that_evaluates_syntax() -> None:
    evaluators = {f"frontend.{name}" for name in EVALUATORS}
    for name in DATA_MODEL:
        work, seen = [f"frontend.{name}"], set()
        while work:
            more = imported(work.pop()) - seen
            seen |= more
            work += more
        assert not seen & evaluators, f"{name} imports {seen & evaluators}"


def test_functions_of_the_data_model_import_no_evaluators() -> None:
    for name in DATA_MODEL:
        tree_imports = imported(f"frontend.{name}", everywhere=True) - {"frontend.interpret"}  # for its type alone
        assert not tree_imports & {f"frontend.{other}" for other in EVALUATORS}, name
