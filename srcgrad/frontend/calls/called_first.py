"""What the target of an augmented assignment calls is called once, and ahead of the right side.

f(x)[g(y)].u += z   →   .call_0 = f(x);  .call_1 = g(y);  .call_0[.call_1].u += z
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any

from .. import expressions
from ..objects import records

if TYPE_CHECKING:
    from ..interpret import Interpreter

CALLS = (ast.Call, ast.NamedExpr)
BY_THE_PATH = (ast.IfExp, ast.BoolOp, ast.Compare)  # what they call may not be called at all
LATER = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.Lambda)  # or several times


@contextmanager
def called(interpreter: Interpreter, target: ast.expr) -> Iterator[tuple[ast.expr, list[str]]]:
    """The target with names for what it calls, and these; they go with the block."""
    names: list[str] = []
    yield _named(interpreter, target, names), names
    for name in names:
        interpreter.env.pop(name)


def _named(interpreter: Interpreter, node: Any, names: list[str]) -> Any:
    if isinstance(node, list):
        parts = [_named(interpreter, part, names) for part in node]
        return node if all(x is y for x, y in zip(parts, node, strict=True)) else parts
    if not isinstance(node, ast.expr):
        return node
    if isinstance(node, CALLS) or (isinstance(node, (*BY_THE_PATH, *LATER)) and _calls(node)):
        return _name(interpreter, node, names)
    out = node  # as it stands in the program, where nothing in it is called
    for field, part in ast.iter_fields(node):
        if (named := _named(interpreter, part, names)) is not part:
            out = copy(out) if out is node else out
            setattr(out, field, named)
    is_read = isinstance(getattr(node, "ctx", None), ast.Load)
    return _name(interpreter, out, names) if is_read and is_property(interpreter, out) else out


def _name(interpreter: Interpreter, node: ast.expr, names: list[str]) -> ast.expr:
    name = f".call_{len(names)}"
    interpreter.env[name] = expressions.evaluate(interpreter, node)
    names.append(name)
    return ast.copy_location(ast.Name(name, ast.Load()), node)


def _calls(node: ast.AST) -> bool:
    return any(isinstance(part, CALLS) for part in ast.walk(node))


def is_property(interpreter: Interpreter, node: ast.expr) -> bool:
    """Does a function of the class stand behind this attribute?"""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=item):
            owner = interpreter.frame.bound(name)
            found = inspect.getattr_static(owner.kind.cls, item, None) if records.is_record(owner) else None
            return isinstance(found, property)
    return False


__all__ = ["called", "is_property"]
