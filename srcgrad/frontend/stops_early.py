"""What stops in Python once it knows the answer, and goes through all items here: they may not change anything.

any(f(v) for v in x)        refused, where f changes a list, an array or a name of the functions around it
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import expressions, identities

if TYPE_CHECKING:
    from .interpret import Interpreter

STOP = ("any", "all")
ONE_BY_ONE = ("map", "filter")


def does(node: ast.expr) -> bool:
    """Does it ask items that are computed one by one?"""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[items]) if name in STOP:
            return _is_one_by_one(items)
        case ast.Compare(ops=ops, comparators=others) if any(isinstance(op, (ast.In, ast.NotIn)) for op in ops):
            return any(map(_is_one_by_one, others))
    return False


def _is_one_by_one(node: ast.expr) -> bool:
    return isinstance(node, ast.GeneratorExp) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ONE_BY_ONE
    )


@contextmanager
def nothing_changes(interpreter: Interpreter, node: ast.expr) -> Iterator[None]:
    """Refuse what changes something on the way."""
    before, mark = identities.held(interpreter), len(interpreter.build.block)
    yield
    now = identities.held(interpreter)
    memory = (item for item in expressions.changed_since(interpreter.build, mark) if isinstance(item, str))
    if any(now.get(identity, value) != value for identity, value in before.items()) or any(memory):
        interpreter.at(node)
        interpreter.build.refuse(
            "Python stops here at the first item that tells, and what computes the items changes something",
            "write the loop, with a break",
        )
