"""A constant of another kind that is returned where there is nothing to compute, raises when a run comes to it.

def spread(x):                          def spread(x):
    if len(x) < 2:                          if len(x) < 2:
        return 0.0                 →            raise RuntimeUnsupportedError("…")
    return x - x.mean()                     return x - x.mean()

The result of what is generated is of one kind, and no derivative goes to a constant.  Where neither side is one, or
what is raised would be caught, the function is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import HELP, place
from ...ir import affine
from ...ir.expressions import Span
from ...ir.nodes import Raise, Stmt
from .. import identities, optional
from ..array_values import ArrayValue
from ..syntax.flow import RESULT
from ..values import Items, Scalar, Static, TupleValue

if TYPE_CHECKING:
    from ..builder import Builder

MESSAGE = "the function returns values of different kinds on different paths, and what is generated has the other one"
ADVICE = "return one kind on every path, e.g. an array without elements where there is nothing to compute"

Side = tuple[list[Stmt], dict[str, Any], Span | None]


def raising(build: Builder, of_the_function: bool, *sides: Side) -> int | None:
    """Which of two branches returns a constant of another kind: it ends in an exception now.

    `of_the_function`: what is returned is its result.  Of several that another function returns, some may be left.
    """
    results = [env.get(RESULT) for _, env, _ in sides]
    if any(result is None for result in results) or build.would_catch(NotImplementedError):
        return None
    for k, (block, _, span) in enumerate(sides):
        constant, other = results[k], results[1 - k]
        are_left = not of_the_function and isinstance(constant, TupleValue) and isinstance(other, TupleValue)
        if not are_left and is_constant(constant) and not is_constant(other) and is_of_another_kind(constant, other):
            block.append(Raise("RuntimeUnsupportedError", HELP.join([MESSAGE, ADVICE]) + place(span), span=span))
            return k
    return None


def is_constant(value: Any) -> bool:
    match value:
        case Scalar():
            return value.is_constant
        case TupleValue(items=items):
            return all(map(is_constant, items))
        case ArrayValue(dims=dims):
            return any(affine.same(dim, affine.ZERO) for dim in dims)
    return isinstance(value, Static)


def is_of_another_kind(constant: Any, other: Any) -> bool:
    """Can the two not be merged?  (None beside anything else can.)"""
    match constant, other:
        case Scalar(), ArrayValue(dims=dims):
            return bool(dims)
        case Scalar(), TupleValue() | Items():
            return not optional.is_optional(other)
        case ArrayValue(), ArrayValue():
            return constant.ndim != other.ndim
        case (TupleValue(), Scalar() | ArrayValue()) | (ArrayValue(), Scalar() | TupleValue() | Items()):
            return not optional.is_optional(other)
        case TupleValue(), TupleValue() | Items() if identities.is_list(constant) and identities.is_list(other):
            return False
        case TupleValue(items=items), TupleValue(items=others):
            if constant.kind != other.kind or len(items) != len(others):
                return not (optional.is_optional(constant) or optional.is_optional(other))
            return any(map(is_of_another_kind, items, others))
    return False
