"""One way through the house: no file imports one of a layer that comes after its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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


def modules() -> dict[str, Path]:
    found = {}
    for path in HOUSE.rglob("*.py"):
        parts = path.relative_to(HOUSE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path) -> Iterator[str]:
    """The modules of ours that a module imports, wherever it does so."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")
            base = ".".join(above[: len(above) - node.level + 1]) if node.level else ""
            whole = ".".join(filter(None, (base, node.module)))
            yield from (whole if f"{whole}.{a.name}" not in MODULES else f"{whole}.{a.name}" for a in node.names)


MODULES = modules()


def edges(within: str) -> Iterator[tuple[str, str]]:
    for name, path in MODULES.items():
        if is_in(name, within):
            yield from ((name, other) for other in imported(name, path) if is_in(other, "srcgrad"))


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def test_the_way() -> None:
    for k, layer in enumerate(WAY):
        for later in (*WAY[k + 1 :], "srcgrad.pipeline", "srcgrad.api"):
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
