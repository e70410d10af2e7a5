"""Lists that a loop runs over while it changes them: Python goes on with what they are then, our loops began with them.

for i, v in enumerate(ys):
    ys[i] = v * 2        what it has been at already may change; a later item, or the number of them, is refused

Of a dict or a set the keys must stay: Python raises a RuntimeError.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .. import expressions, identities
from ..control import generators, iterators
from ..control.attempts import restore, save
from ..objects import records, special_methods
from ..values import Items, TupleValue

if TYPE_CHECKING:
    from ..interpret import Interpreter

LAZY = ("enumerate", "zip", "reversed", "map", "filter", "chain", "islice", "pairwise", "starmap", "accumulate")


@dataclass(frozen=True)
class _Source:
    """A list or a dict, and how a loop goes over it: from its end, and not only over its keys."""

    value: Any
    is_turned: bool = False
    has_values: bool = False


class RunOver:
    """The lists that the iterable of a loop or a comprehension takes its items from."""

    def __init__(self, interpreter: Interpreter, iterable: ast.expr, over: Any) -> None:
        self.interpreter, self.at, self.over = interpreter, iterable, over
        iterators.run_over(interpreter, over)
        sources = [_Source(over), *_named(interpreter, iterable)]
        held = (s for s in sources if identities.is_list(s.value) or records.is_dict(s.value))
        self.sources = [source for source in held if source.value.identity is not None]

    def left(self, items: list[Any], mark: int) -> list[Any]:
        """The items to come, after an iteration: those of a list are what they were, an iterator reads them now."""
        if items and self.over in self.interpreter.iterators:
            iterators.check_ahead(self.interpreter, self.over, self.at)
            return items
        return expressions.as_before(self.interpreter, items, mark)

    def check(self, position: int | None = None) -> None:
        """After the iteration of this number, or after a loop at run time: are the items to come what they were?"""
        if position is None:
            iterators.check_ahead(self.interpreter, self.over, self.at)
        held = {**self.interpreter.latest, **identities.held(self.interpreter)} if self.sources else {}
        if any(_differs(source, held.get(source.value.identity, source.value), position) for source in self.sources):
            self.interpreter.at(self.at)
            self.interpreter.build.refuse(
                "a loop changes the list or dict that it runs over",
                "run over a copy:  for y in list(ys)",
                "or by its index",
            )


def _differs(source: _Source, after: Any, position: int | None) -> bool:
    before = source.value
    if after is before:
        return False
    if isinstance(before, Items) and isinstance(after, Items):
        return before.length != after.length
    if not isinstance(before, TupleValue) or not isinstance(after, TupleValue):
        return True
    if len(before.items) != len(after.items) or (records.is_dict(before) and before.kind != after.kind):
        return True
    if records.is_dict(before) and not source.has_values:
        return False
    first = 0 if position is None else position + 1
    turn = slice(None, None, -1 if source.is_turned else 1)
    return not all(map(_is_same, before.items[turn][first:], after.items[turn][first:]))


def _is_same(item: Any, other: Any) -> bool:
    """A list or an object in the list, or in a tuple in it, is what it is by then."""
    identity = getattr(item, "identity", None)
    if identity is None and isinstance(item, TupleValue) and isinstance(other, TupleValue):
        are_alike = item.kind == other.kind and len(item.items) == len(other.items) and other.identity is None
        return are_alike and all(map(_is_same, item.items, other.items))
    return identity is getattr(other, "identity", None) if identity is not None else item == other


def _gone_through(interpreter: Interpreter, value: Any) -> Any:
    """Of an object with `__iter__`, the list that it gives."""
    if special_methods.own(value, "__iter__") is None:
        return value
    saved = save(interpreter)
    try:
        return generators.of_object(interpreter, value)
    finally:
        restore(interpreter, saved)


def _named(interpreter: Interpreter, iterable: ast.expr) -> Iterator[_Source]:
    match iterable:
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=args) if called in LAZY:
            for source in (source for arg in args for source in _named(interpreter, arg)):
                value = _gone_through(interpreter, source.value)
                yield replace(source, value=value, is_turned=source.is_turned != (called == "reversed"))
        case ast.Call(func=ast.Attribute(value=owner, attr="keys" | "values" | "items" as called), args=[]):
            for source in _named(interpreter, owner):
                yield replace(source, has_values=called != "keys")
        case ast.Name(id=name):
            yield _Source(interpreter.frame.bound(name))
        case ast.Attribute(value=owner, attr=attr):
            for source in _named(interpreter, owner):
                if records.is_record(source.value):
                    yield _Source(records.as_dict(source.value).get(attr))
        case ast.Subscript(value=owner, slice=ast.Constant(value=place)):
            for source in _named(interpreter, owner):
                items = records.as_dict(source.value) if records.is_dict(source.value) else {}
                if isinstance(source.value, TupleValue) and source.value.kind in (list, tuple):
                    items = dict(enumerate(source.value.items))
                yield _Source(items.get(place))
