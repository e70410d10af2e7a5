"""Sets whose items are known: dicts of keys alone, in the order of a new set of them.

seen = {0, 2}; seen.add(k)      →      evaluated away: `k in seen`, `for k in seen`, `len(seen)`
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, KeyArgumentError
from .. import identities, unpacking
from ..values import NONE, TupleValue, constant, new_set
from . import records

if TYPE_CHECKING:
    from ..interpret import Interpreter

OPERATORS: dict[str, Callable[..., Any]] = {
    "bitor": operator.or_, "bitand": operator.and_, "sub": operator.sub, "bitxor": operator.xor,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
NAMED: dict[str, Callable[..., Any]] = {
    "union": set.union, "intersection": set.intersection, "difference": set.difference,
    "symmetric_difference": set.symmetric_difference, "issubset": set.issubset, "issuperset": set.issuperset,
    "isdisjoint": set.isdisjoint, "copy": set.copy,
}  # fmt: skip
CHANGES: dict[str, Callable[..., Any]] = {
    "add": set.add, "discard": set.discard, "remove": set.remove, "clear": set.clear, "update": set.update,
    "intersection_update": set.intersection_update, "difference_update": set.difference_update,
    "symmetric_difference_update": set.symmetric_difference_update,
}  # fmt: skip
ON_THE_SPOT = {
    "bitor": "update", "bitand": "intersection_update", "sub": "difference_update",
    "bitxor": "symmetric_difference_update",
}  # fmt: skip
OF_ONE_ITEM = ("add", "discard", "remove")


def display(interpreter: Interpreter, values: Iterable[Any]) -> TupleValue:
    """{a, b}"""
    return new_set([records.key_of(interpreter, value) for value in values])


def made_of(cls: type) -> Callable[..., Any]:
    def builtin(interpreter: Interpreter, value: Any = None) -> Any:
        """set(xs), frozenset(xs)"""
        return new_set(() if value is None else _keys(interpreter, value), cls)

    return builtin


def _keys(interpreter: Interpreter, value: Any) -> list[Any]:
    return [records.key_of(interpreter, item) for item in unpacking.items_of(interpreter, value)]


def computed(interpreter: Interpreter, op: str, x: Any, y: Any) -> Any:
    """s | t, s <= t, s == t"""
    if not (records.is_set(x) and records.is_set(y)):
        if op in ("eq", "ne"):
            return constant(op == "ne")
        interpreter.build.refuse(f"{op} is not defined on a set and something else", error=ArgumentError)
    if op not in OPERATORS:
        interpreter.build.refuse(f"{op} is not defined on sets", error=ArgumentError)
    out = OPERATORS[op](x.kind(), y.kind())
    return new_set(out, type(out)) if isinstance(out, (set, frozenset)) else constant(out)


def method(interpreter: Interpreter, owner: TupleValue, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if kwargs:
        interpreter.build.refuse(f".{name}() takes no keyword arguments", error=ArgumentError)
    held = set(owner.kind.keys)
    try:
        if name in NAMED:
            out = NAMED[name](held, *(_keys(interpreter, value) for value in args))
            return new_set(out, owner.kind.cls) if isinstance(out, set) else constant(out)
        if name == "pop" and owner.kind.cls is set and not args:
            if not owner.kind.keys:
                interpreter.build.refuse("KeyError: pop from an empty set", error=KeyArgumentError)
            first = constant(owner.kind.keys[0])
            method(interpreter, owner, "remove", [first], {})
            return first
        if name in CHANGES and owner.kind.cls is set:
            identities.check_own(interpreter, owner, f".{name}")
            read: Callable[..., Any] = records.key_of if name in OF_ONE_ITEM else _keys
            CHANGES[name](held, *(read(interpreter, value) for value in args))
            changed = new_set(held)
            identities.change(interpreter, owner.identity, replace(changed, identity=owner.identity))
            return NONE
    except KeyError as problem:
        interpreter.build.refuse(f"KeyError: {problem}", error=KeyArgumentError)
    except TypeError as problem:
        interpreter.build.refuse(str(problem), error=ArgumentError)
    return interpreter.build.refuse(f"the {owner.kind.cls.__name__} method .{name} is not supported")
