"""Names that are None or a value, by the path taken: a flag, and a value that counts where the flag is set.

prev = None                              prev_0 = False; prev_1 = 0.0
for v in x:                              for i in range(n):
    if prev is not None:          →          if prev_0:
        s += (v - prev) ** 2                     s += (x[i] - prev_1) ** 2
    prev = v                                 prev_0 = True; prev_1 = x[i]

To use what may be None is an error at run time where it is None, as in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError, place
from ..ir import affine
from ..ir.expressions import BOOL, Call, negated, select
from ..ir.nodes import If, Raise
from ..ir.types import DictKind, RecordKind
from .array_values import ArrayValue
from .calls.recursion import NotYetKnown
from .values import UNDEFINED, Items, Layout, OneOf, Scalar, Static, TupleValue, constant

if TYPE_CHECKING:
    from .builder import Builder
    from .interpret import Interpreter

OPTIONAL = "optional"  # the kind of a pair of a flag and a value
NOTHING = Layout(OPTIONAL, ())  # the items of a list of None alone


def is_optional(value: Any) -> bool:
    return isinstance(value, TupleValue) and value.kind is OPTIONAL


def is_none(value: Any) -> bool:
    return isinstance(value, Static) and value.value is None


def is_of_none(value: Any) -> bool:
    """Is it a list of None alone?"""
    if isinstance(value, TupleValue):
        return bool(value.items) and value.kind is list and all(map(is_none, value.items))
    return isinstance(value, Items) and value.inner == NOTHING


def can_be_optional(value: Any) -> bool:
    """Is it of a kind that is kept beside a flag: numbers, arrays, and tuples of them?"""
    if isinstance(value, TupleValue):
        is_tuple = isinstance(value.kind, type) and issubclass(value.kind, tuple)
        is_plain = value.kind is OPTIONAL or is_tuple or isinstance(value.kind, (RecordKind, DictKind))
        return is_plain and all(can_be_optional(item) or isinstance(item, (Static, OneOf)) for item in value.items)
    return isinstance(value, (Scalar, ArrayValue)) or value is UNDEFINED


def joins(x: Any, y: Any) -> bool:
    """Is one of these None, or maybe None, where the other is something else?"""
    others = [value for value in (x, y) if not is_none(value)]
    if not others or x is UNDEFINED or y is UNDEFINED or not all(map(can_be_optional, others)):
        return False
    return len(others) == 1 or is_optional(x) or is_optional(y)


def as_optional(value: Any, like: Any) -> TupleValue:
    """The value beside its flag; for None, a place for what `like` is."""
    if is_optional(value):
        return value
    if is_none(value):
        return TupleValue((constant(False), _place(like.items[1] if is_optional(like) else like)), OPTIONAL)
    return TupleValue((constant(True), value), OPTIONAL)


def _place(value: Any) -> Any:
    """Where a value of this kind will be, with nothing in it."""
    if isinstance(value, TupleValue):
        return TupleValue(tuple(map(_place, value.items)), value.kind)
    return UNDEFINED


def is_nothing(value: Any) -> bool:
    """Is it the place of a value that is None?"""
    return (
        isinstance(value, TupleValue)
        and bool(value.items)
        and all(item is UNDEFINED or is_nothing(item) for item in value.items)
    )


def where_known(value: Any) -> Any:
    """The value itself, where it is known not to be None."""
    flag = value.items[0] if is_optional(value) else None
    return value.items[1] if flag is not None and flag.is_constant and flag.value else value


def refuse_yet(interpreter: Interpreter, node: ast.expr, value: Any) -> None:
    """To compute with what is None at the head of a loop: the rest of the loop may tell what else it is."""
    match node:
        case ast.Name(id=name):
            at_heads = [names.get(name) for frame, names in interpreter.none_ahead if frame is interpreter.frame]
            is_open = any(held is value for held in at_heads)
        case ast.Subscript():  # of a list in which nothing is yet
            is_open = any(is_of_none(held) for heads in interpreter.list_heads for held in heads.values())
        case _:
            is_open = False
    if is_open:
        help = ("give it a value ahead of the loop",)
        error = UnsupportedError(f"{ast.unparse(node)} is None here", span=interpreter.build.span, help=help)
        interpreter.early_reads.append(error)
        raise NotYetKnown


COMPARED = "what is compared is None here"
IN_NUMPY = "what NumPy is to compute with is None here"


def used(interpreter: Interpreter, name: str, value: TupleValue) -> Any:
    """The value of a name that must not be None here."""
    return unless_none(interpreter.build, value, f"{name} is None here, and only `is None` can be asked of it")


def unless_none(build: Builder, value: TupleValue, message: str) -> Any:
    flag, held = value.items
    if not (flag.is_constant and flag.value):
        message += place(build.span)
        build.emit(If(negated(flag.expr), (Raise("RuntimeTypeError", message),)))
    return held


IS_NONE, IS_SOMETHING = (ast.Is, ast.Eq), (ast.IsNot, ast.NotEq)


def asked(op: ast.cmpop, x: Any, y: Any) -> Scalar | None:
    """x is None, x is not None: of what may be None.  (x == None asks an array for each of its elements.)"""
    if not isinstance(op, IS_NONE + IS_SOMETHING) or not (is_optional(x) and is_none(y)):
        return None
    flag, held = x.items
    if isinstance(op, (ast.Eq, ast.NotEq)) and not isinstance(held, Scalar):
        return None
    if isinstance(op, IS_SOMETHING) or flag.is_constant:
        return flag if isinstance(op, IS_SOMETHING) else constant(not flag.value)
    return Scalar(negated(flag.expr), weak=True)


def _name_asked_for(node: ast.expr) -> str | None:
    match node:
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq()],
            comparators=[ast.Constant(value=None)],
        ):
            return name
    return None


def names_with_values(test: ast.expr, holds: bool) -> set[str]:
    """The names that are not None where a test holds, or where it does not."""
    match test:
        case ast.Name(id=tested):
            return {tested} if holds else set()  # None is false
        case ast.Compare(ops=[op]) if (name := _name_asked_for(test)) is not None:
            return {name} if isinstance(op, IS_SOMETHING) == holds else set()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return names_with_values(operand, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) == holds:
            return set().union(*(names_with_values(value, holds) for value in values))
    return set()


@contextmanager
def known_there(interpreter: Interpreter, tests: list[ast.expr], holds: bool) -> Iterator[None]:
    """Where all of these tests hold, or none: the names that are not None then are what they are."""
    env = interpreter.env
    names = set().union(*(names_with_values(test, holds) for test in tests))
    held = {name: env[name] for name in sorted(names) if _may_be_none(env.get(name))}
    for name, value in held.items():
        env[name] = _not_none(value)
    seen = {name: env[name] for name in held}
    yield
    for name, value in held.items():
        now = env.get(name)
        if now is seen[name]:
            env[name] = value
        elif isinstance(value, TupleValue) and isinstance(now, TupleValue) and _is_same_object(now, seen[name]):
            env[name] = TupleValue((value.items[0], now.items[1]), OPTIONAL)  # changed in its place


def _is_same_object(x: TupleValue, y: Any) -> bool:
    """Are both of these one object, beside flags?"""
    if not (is_optional(x) and is_optional(y)):
        return False
    mine, theirs = (getattr(value.items[1], "identity", None) for value in (x, y))
    return mine is theirs and mine is not None


def _may_be_none(value: Any) -> bool:
    return is_optional(value) or (isinstance(value, OneOf) and any(map(is_none, value.options)))


def _not_none(value: TupleValue | OneOf) -> Any:
    if isinstance(value, TupleValue):
        return TupleValue((constant(True), value.items[1]), OPTIONAL)
    others = tuple(option for option in value.options if not is_none(option))
    if len(others) == 1:
        return others[0]
    number = value.number.expr
    first = next(k for k, option in enumerate(value.options) if is_none(option))
    if first < len(others):
        behind = Call("gt", (number, affine.integer(first)), BOOL)
        number = select(behind, affine.sub(number, affine.ONE), number)
    return OneOf(Scalar(number, weak=True), others)
