"""Lists that a loop runs over while it changes them: Python goes on with what they are then, our loops began with them.

for i, v in enumerate(ys):
    ys[i] = v * 2        what it has been at already may change; a later item, or the number of them, is refused

Of a dict or a set the keys must stay: Python raises a RuntimeError.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from . import identities, records
from .values import Items, TupleValue

if TYPE_CHECKING:
    from .interpret import Interpreter

LAZY = ("enumerate", "zip", "reversed", "map", "filter", "chain", "islice", "pairwise", "starmap", "accumulate")


class RunOver:
    """The lists that the iterable of a loop or a comprehension takes its items from."""

    def __init__(self, interpreter: Interpreter, iterable: ast.expr, over: Any) -> None:
        self.interpreter, self.at = interpreter, iterable
        values = [over, *_named(interpreter, iterable)]
        held = (v for v in values if identities.is_list(v) or records.is_dict(v))
        self.lists = {v.identity: v for v in held if v.identity is not None}

    def check(self, position: int | None = None) -> None:
        """After the iteration of this number, or after a loop at run time: are the items to come what they were?"""
        held = identities.held(self.interpreter) if self.lists else {}
        if any(_differs(before, held.get(i, before), position) for i, before in self.lists.items()):
            self.interpreter.at(self.at)
            self.interpreter.build.refuse(
                "a loop changes the list or dict that it runs over",
                "run over a copy:  for y in list(ys)",
                "or by its index",
            )


def _differs(before: Any, after: Any, position: int | None) -> bool:
    if after is before:
        return False
    if isinstance(before, Items) and isinstance(after, Items):
        return before.length != after.length
    if not isinstance(before, TupleValue) or not isinstance(after, TupleValue):
        return True
    if records.is_dict(before):
        return before.kind != after.kind
    first = 0 if position is None else position + 1
    as_many = len(before.items) == len(after.items)
    return not as_many or not all(map(_is_same, before.items[first:], after.items[first:]))


def _is_same(item: Any, other: Any) -> bool:
    """A list or an object in the list is what it is by then."""
    identity = getattr(item, "identity", None)
    return identity is getattr(other, "identity", None) if identity is not None else item == other


def _named(interpreter: Interpreter, iterable: ast.expr) -> list[Any]:
    match iterable:
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=args) if called in LAZY:
            return [value for arg in args for value in _named(interpreter, arg)]
        case ast.Call(func=ast.Attribute(value=owner, attr="keys" | "values" | "items"), args=[]):
            return _named(interpreter, owner)
        case ast.Name(id=name):
            return [interpreter.frame.bound(name)]
        case ast.Attribute(attr=attr):
            return [records.as_dict(o).get(attr) for o in _named(interpreter, iterable.value) if records.is_record(o)]
    return []
