"""Statements that compute with one of several known things, by the path taken: interpreted once for each of them.

f = np.sin if c else np.cos              f = 0 if c else 1
y = f(x)                          →      if f == 0: y = np.sin(x)
                                         else: y = np.cos(x)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from ..ir import affine
from ..ir.expressions import Expr
from . import binding, expressions, identities
from .control import branches
from .control.attempts import restore, save
from .objects import chosen_objects
from .objects.changes import Changes
from .one_of import Splits, refuse
from .syntax import liveness
from .values import ChosenObject, OneOf, TupleValue

if TYPE_CHECKING:
    from .interpret import Interpreter


@contextmanager
def _known(interpreter: Interpreter, number: Expr, which: int) -> Iterator[None]:
    before = interpreter.chosen
    interpreter.chosen = {**before, number: which}
    try:
        yield
    finally:
        interpreter.chosen = before


def each(interpreter: Interpreter, value: OneOf, run: Callable[[], bool], names: list[str], wanted: Any = None) -> bool:
    """Interpret something once for each of several things, under a condition that says which it is."""
    number = value.number.expr

    def side(which: int) -> bool:
        with _known(interpreter, number, which):
            return run()

    def since(which: int) -> bool:
        if which == len(value.options) - 1:
            return side(which)
        condition = affine.equals(number, affine.integer(which))
        return branches.choose(interpreter, condition, partial(side, which), partial(since, which + 1), names, wanted)

    return since(0)


WHOLE = (ast.For, ast.While, ast.FunctionDef, ast.With, ast.Try)  # statements that are not interpreted several times


def statement(interpreter: Interpreter, node: ast.stmt, run: Callable[[ast.stmt], bool]) -> bool:
    """Interpret a statement; for each thing that what it computes with may be."""
    if not interpreter.callees.has_choices or isinstance(node, ast.If):
        return run(node)
    saved, changes = save(interpreter), Changes(interpreter)
    try:
        return run(node)
    except Splits as found:
        is_changed = changes.since()
        restore(interpreter, saved)
        interpreter.at(node)
        if isinstance(node, WHOLE) or liveness.named_in(node):
            refuse(interpreter, found.value)
        value, node = _named(interpreter, node, found, is_changed)
        return each(interpreter, value, lambda: statement(interpreter, node, run), sorted(liveness.assigned([node])))


def expression(interpreter: Interpreter, node: ast.expr) -> Any:
    """The test of an `if`, or what only runs under a condition: for each thing that it may compute with."""
    if not interpreter.callees.has_choices:
        return expressions.as_it_is(interpreter, node)
    saved, changes, name = save(interpreter), Changes(interpreter), ".one"
    try:
        return expressions.as_it_is(interpreter, node)
    except Splits as found:
        is_changed = changes.since()
        restore(interpreter, saved)
        if liveness.named_in(node):
            refuse(interpreter, found.value)
        value, node = _named(interpreter, node, found, is_changed)

        def bind() -> bool:
            interpreter.env[name] = expression(interpreter, node)
            return False

        each(interpreter, value, bind, [name])
        return interpreter.env.pop(name)


def _named(interpreter: Interpreter, tree: Any, found: Splits, is_changed: bool) -> tuple[OneOf, Any]:
    """The value that a tree computes with, and the tree, in which a name stands for it if it was made there.

    That is computed first, so nothing ahead of it may have changed what it reads, nor may it change anything.
    """
    values = [value for frame in identities.frames_of(interpreter) for value in frame.env.values()]
    held = [leaf for value in values for leaf in _inside(value)]
    if any(value.number == found.value.number for value in held):
        return found.value, tree
    name = f".one_{len(held)}"
    tree, is_there = _with_name(tree, found.node, ast.copy_location(ast.Name(name, ast.Load()), found.node))
    changes = Changes(interpreter)
    value = expressions.as_it_is(interpreter, found.node, for_attributes=True) if is_there else None
    if value is None or is_changed or changes.since():
        refuse(interpreter, found.value)
    one = chosen_objects.as_one_of(value) if isinstance(value, ChosenObject) else value
    interpreter.env[name] = one = binding.bind_item(interpreter, "which", one)
    return one, tree


def _inside(value: Any) -> Iterator[OneOf]:
    if isinstance(value, OneOf):
        yield value
    for item in getattr(value, "items", ()) if isinstance(value, TupleValue) else ():
        yield from _inside(item)


LATER = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.Lambda)  # what is in them runs several times


def _with_name(tree: Any, node: ast.expr, name: ast.Name) -> tuple[Any, bool]:
    """A copy of a tree with a name in the place of one of its expressions; and whether that is there."""
    if tree is node:
        return name, True
    if isinstance(tree, list):
        parts = [_with_name(part, node, name) for part in tree]
        return [part for part, _ in parts], any(there for _, there in parts)
    if not isinstance(tree, ast.AST) or isinstance(tree, LATER):
        return tree, False
    out, is_there = copy(tree), False
    for field, part in ast.iter_fields(tree):
        new, there = _with_name(part, node, name)
        setattr(out, field, new)
        is_there |= there
    return out, is_there
