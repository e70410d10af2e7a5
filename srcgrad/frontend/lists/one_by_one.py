"""Items that Python computes one by one, in turns with others or until it knows the answer, and that are computed here
all at once: computing them may not change anything.

any(f(v) for v in x)                     refused, where f changes a list, an array or a name of the functions around it
zip(map(f, x), map(f, x))                so is this
sum(a * n for a in map(f, x))
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...ir.expressions import Expr
from .. import identities
from ..objects import changes

if TYPE_CHECKING:
    from ..interpret import Interpreter

STOP_EARLY = ("any", "all")
IN_TURNS = ("zip",)
ONE_BY_ONE = ("map", "filter")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def is_asked(node: ast.expr) -> bool:
    """Does it ask items that are computed one by one, and stop early, or do other things in between?"""
    match node:
        case ast.Call(func=ast.Name(id=name), args=items) if name in STOP_EARLY + IN_TURNS:
            return any(map(_are_items, items)) and (name in STOP_EARLY or len(items) > 1)
        case ast.Compare(ops=ops, comparators=others) if any(isinstance(op, (ast.In, ast.NotIn)) for op in ops):
            return any(map(_are_items, others))
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return any(_are_items(generator.iter) for generator in node.generators)
    return False


def _are_items(node: ast.expr) -> bool:
    return isinstance(node, ast.GeneratorExp) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ONE_BY_ONE
    )


@contextmanager
def nothing_changes(interpreter: Interpreter, node: ast.expr | None = None) -> Iterator[None]:
    """Refuse what changes something on the way; what raises on the way may never be come to."""
    before, mark = identities.held(interpreter), len(interpreter.build.block)
    interpreter.build.items_on_demand += 1
    try:
        yield
    finally:
        interpreter.build.items_on_demand -= 1
    now = identities.held(interpreter)
    memory = (item for item in changes.changed_since(interpreter.build, mark) if isinstance(item, str))
    if any(now.get(identity, value) != value for identity, value in before.items()) or any(memory):
        if node is not None:
            interpreter.at(node)
        interpreter.build.refuse(
            "what computes these items changes something, and Python computes them one by one, as they are wanted",
            "write the loop",
        )


def unchanging(interpreter: Interpreter, item: Callable[[Expr], Any]) -> Callable[[Expr], Any]:
    """What gives an item, of several that are taken in turns."""

    def checked(index: Expr) -> Any:
        with nothing_changes(interpreter):
            return item(index)

    return checked
