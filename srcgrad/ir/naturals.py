"""Proofs that integers are not negative: bounds in the place of terms, and products multiplied out.

n * m - 1 - (i * m + j), i < n, j < m      →  n * m - 1 - ((n - 1) * m + m - 1)  →  0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from . import products
from .affine import ZERO, add, affine, from_affine, integer, mul, sub
from .expressions import INT64, Call, Const, Expr

STEPS = 32  # substitutions of a bound for a term, in one proof
Holds = Callable[[Expr], bool]
Bound = Callable[[Expr, bool], "Expr | None"]


def proved_by_bounds(expr: Expr, holds: Holds, bound: Bound, rank: Callable[[Expr], int]) -> bool:
    """Does something hold of the expression, or of what it is at least, with bounds in place of its terms?

    `bound(term, True)` is the least value of a term, `bound(term, False)` the greatest; terms of low `rank` go first.
    The greater of two numbers is either of them at least: one after the other is tried; and then the greater one by
    itself, of which something may be known.
    """
    if _is_proved(expr, holds, bound, rank, iter(range(STEPS))):
        return True
    chosen = [bool(_either(term, count > 0)) for term, count in affine(expr)[0]]
    return any(chosen) and not all(chosen) and _is_proved(expr, holds, bound, rank, iter(range(STEPS)), whole=True)


def _is_proved(
    expr: Expr,
    holds: Holds,
    bound: Bound,
    rank: Callable[[Expr], int],
    steps_left: Iterator[int],
    whole: bool = False,
) -> bool:
    """`whole`: the greater of two numbers stays what it is as long as there are others."""
    if next(steps_left, None) is None:
        return False
    expr = _without_products(expr)
    if holds(expr):
        return True
    terms, constant = affine(expr)
    for term, count in sorted(terms, key=lambda item: (bool(_either(item[0], item[1] > 0)) is whole, rank(item[0]))):
        ends = _either(term, count > 0) or (bound(term, count > 0),)
        if ends == (ZERO,) and count > 0:
            ends = (ZERO, *_nearer(term, holds, bound))
        if None not in ends:
            rest = from_affine(tuple(item for item in terms if item[0] != term), constant)
            further = (add(rest, mul(integer(count), end)) for end in ends if end is not None)
            return any(_is_proved(each, holds, bound, rank, steps_left, whole) for each in further)
    return False


@lru_cache(maxsize=65536)
def _without_products(expr: Expr) -> Expr:
    """The same, where products cancel when they are multiplied out."""
    if not any(_is_product(term) for term, _ in affine(expr)[0]):
        return expr
    out = products.multiplied_out(expr)
    return out if len(affine(out)[0]) < len(affine(expr)[0]) else expr


def has_products(expr: Expr) -> bool:
    """Is it a sum of several products, which may cancel?"""
    return sum(_is_product(term) for term, _ in affine(expr)[0]) > 1


def _is_product(term: Expr) -> bool:
    return isinstance(term, Call) and term.op == "mul"


def _either(term: Expr, low: bool) -> tuple[Expr, ...]:
    """The numbers of which a term is the greater one, or the less one, where it is bounded by either."""
    match term:
        case Call(op="maximum" | "max", args=args) if low:
            return args
        case Call(op="minimum" | "min", args=args) if not low:
            return args
    return ()


def _nearer(term: Expr, holds: Holds, bound: Bound) -> Iterator[Expr]:
    """What a product that is not negative is at least, as a part of a factor is more than that: i * w >= w, i >= 1."""
    if not isinstance(term, Call) or term.op != "mul":
        return
    for factor, other in (term.args, reversed(term.args)):
        if not holds(other):
            continue
        for part, count in affine(factor)[0]:
            ends = _nearer(part, holds, bound) if _is_product(part) and count > 0 else iter((bound(part, count > 0),))
            yield from (
                mul(add(sub(factor, mul(integer(count), part)), mul(integer(count), end)), other)
                for end in ends
                if end is not None and end != ZERO
            )


def remainder(term: Expr) -> tuple[Expr, int] | None:
    """x and n of a term that is x % n, for a number n > 0: x & 3 is x % 4, of negative numbers too."""
    match term:
        case Call(op="mod", args=(x, Const(value=n))) if term.dtype == INT64 and n > 0:
            return x, int(n)
        case Call(op="bitand", args=(x, Const(value=n)) | (Const(value=n), x)) if term.dtype == INT64:
            return (x, int(n) + 1) if n >= 0 and not n & (n + 1) else None
    return None


def bound_of_parts(term: Expr, low: bool, is_natural: Holds, bound: Bound | None = None) -> Expr | None:
    """The least or the greatest value of a term that is made of others, where natural numbers, or `bound`s, say one."""
    match term:
        case Call(op="floordiv" | "rshift", args=(x, Const(value=by))) if by > 0 and is_natural(x):
            return ZERO if low else x
        case Call(op="mod" | "bitand") if (parts := remainder(term)) is not None:
            return ZERO if low else integer(parts[1] - 1)
        case Call(op="mul", args=(x, y)):
            if low and is_natural(x) and is_natural(y):
                return ZERO
            for factor, other in ((x, y), (y, x)) if bound is not None else ():
                end = _end_of(factor, low, bound)  # type: ignore[arg-type]
                if end is not None and is_natural(other):
                    return mul(end, other)
    return None


def _end_of(expr: Expr, low: bool, bound: Bound) -> Expr | None:
    """The expression with the first bound that there is for one of its terms."""
    terms, _ = affine(expr)
    for term, count in terms:
        end = bound(term, low == (count > 0)) if not _is_product(term) else None
        if end is not None:
            return add(sub(expr, mul(integer(count), term)), mul(integer(count), end))
    return None


__all__ = ["bound_of_parts", "has_products", "proved_by_bounds", "remainder"]
