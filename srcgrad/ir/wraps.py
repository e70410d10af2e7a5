"""Places that go around the ends of an axis: an index of the axis, moved by a step, and back into range.

wrap_low(i - s, n)      i - s + n if i - s < 0 else i - s        for 0 <= i < n, 0 <= s <= n
wrap_high(i + s, n)     i + s - n if i + s >= n else i + s       for 0 <= i < n, 0 <= s < n, or s = 1

They are made only where that is known, so that the result is one of 0 … n - 1; and each undoes what the other has done:
i = wrap_low(p - s, n) where p = wrap_high(i + s, n).
"""

from __future__ import annotations

from . import affine
from .expressions import INT64, Call, Expr, Var

INVERSE = {"wrap_low": "wrap_high", "wrap_high": "wrap_low"}


def is_wrap(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.op in INVERSE


def wrap(op: str, x: Expr, length: Expr) -> Call:
    return Call(op, (affine.normal(x), length), INT64)


def step_of(place: Expr, index: Var) -> Expr | None:
    """How far a place that goes around an axis is from an index; None for other places."""
    if isinstance(place, Call) and place.op in INVERSE:
        terms, constant = affine.affine(place.args[0])
        if dict(terms).get(index) == 1:
            return affine.from_affine(tuple(item for item in terms if item[0] != index), constant)
    return None


def back_from(index: Var, place: Call) -> Call:
    """Whose place is here, where that is the place of an index."""
    step = affine.sub(place.args[0], index)
    return wrap(INVERSE[place.op], affine.sub(index, step), place.args[1])


def unwound(expr: Expr) -> Expr:
    """The index itself, where a step leads back to it."""
    if isinstance(expr, Call) and expr.op in INVERSE:
        x, length = expr.args
        for term, count in affine.affine(x)[0]:
            if count == 1 and isinstance(term, Call) and term.op == INVERSE[expr.op] and term.args[1] == length:
                start = affine.add(term.args[0], affine.sub(x, term))
                if isinstance(start, Var):
                    return start
    return expr
