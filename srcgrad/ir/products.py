"""Integers as sums of products of terms, multiplied out: what `affine` can't take apart.

lead((i + 1) * (n - i) + ((i + 1) * i >> 1), i * (n - i + 1) + (i * (i - 1) >> 1)) → n - i
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from . import affine
from .expressions import Call, Const, Expr

Product = tuple[Expr, ...]  # in order, each as often as it is a factor
Sum = dict[Product, Fraction]
LARGEST = 64  # products of a sum


@lru_cache(maxsize=65536)
def lead(x: Expr, y: Expr) -> Expr | None:
    """x - y, or twice that, as a sum of multiples of terms; None where products are left."""
    found = sum_of(affine.sub(x, y))
    if len(found) > LARGEST or any(len(product) > 1 for product in found):
        return None
    scale = 1 if all(count.denominator == 1 for count in found.values()) else 2
    if any((scale * count).denominator != 1 for count in found.values()):
        return None
    out: Expr = affine.integer(int(scale * found.pop((), Fraction(0))))
    for (term,), count in found.items():
        out = affine.add(out, affine.mul(affine.integer(int(scale * count)), term))
    return out


def multiplied_out(expr: Expr) -> Expr:
    """The expression as a sum of multiples of products; as it is where half of a product is left."""
    found = sum_of(expr)
    if len(found) > LARGEST or any(count.denominator != 1 for count in found.values()):
        return expr
    out: Expr = affine.integer(int(found.pop((), Fraction(0))))
    for product, count in found.items():
        out = affine.add(out, affine.mul(affine.integer(int(count)), affine.product(product)))
    return out


def sum_of(expr: Expr) -> Sum:
    """The products of which the expression is the sum, and how often each."""
    return {product: count for product, count in _multiplied_out(expr).items() if count}


def in_order(factors: Iterable[Expr]) -> Product:
    return tuple(sorted(factors, key=affine.order))


def _multiplied_out(expr: Expr) -> Sum:
    terms, constant = affine.affine(expr)
    total: Sum = {(): Fraction(constant)}
    for term, count in terms:
        for product, often in _of_term(term).items():
            total[product] = total.get(product, Fraction(0)) + count * often
    return total


def _of_term(term: Expr) -> Sum:
    match term:
        case Call(op="mul", args=(x, y)):
            return _times(_multiplied_out(x), _multiplied_out(y))
        case Call(op="rshift", args=(Call(op="mul", args=(x, y)), Const(value=1))):
            if affine.difference(x, y) in (1, -1):  # one of them is even
                return {product: count / 2 for product, count in _of_term(term.args[0]).items()}
    return {(term,): Fraction(1)}


def _times(one: Sum, other: Sum) -> Sum:
    out: Sum = {}
    for x, count in one.items():
        for y, often in other.items():
            product = in_order((*x, *y))
            out[product] = out.get(product, Fraction(0)) + count * often
    return out


__all__ = ["Product", "in_order", "lead", "multiplied_out", "sum_of"]
