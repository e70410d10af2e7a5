"""Integer arithmetic on index expressions: folded as it is built, and compared as sums of terms.

add(sub(n, 1), 1) → n        same(mul(2, i) + 2, 2 * (i + 1)) → True
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from .expressions import BOOL, INT64, Axis, Call, Const, Dim, Expr, integer

ZERO, ONE = integer(0), integer(1)
Terms = tuple[tuple[Expr, int], ...]  # sorted by text; the constant stands apart


@lru_cache(maxsize=65536)
def affine(expr: Expr) -> tuple[Terms, int]:
    """The expression as a constant plus integer multiples of terms that it can't take apart."""
    match expr:
        case Const(value=value):
            return (), int(value)
        case Call(op="add", args=(x, y)):
            return _combine(x, y, 1)
        case Call(op="sub", args=(x, y)):
            return _combine(x, y, -1)
        case Call(op="neg", args=(x,)):
            return _combine(ZERO, x, -1)
        case Call(op="mul", args=(Const(value=k), x)) | Call(op="mul", args=(x, Const(value=k))):
            return _combine(ZERO, x, int(k))
    return ((expr, 1),), 0


@lru_cache(maxsize=65536)
def order(term: Expr) -> str:
    return repr(term)


def lead(x: Expr, y: Expr) -> tuple[Terms, int]:
    """x - y, as `affine` would give it."""
    return _combine(x, y, -1)


@lru_cache(maxsize=65536)
def _combine(x: Expr, y: Expr, factor: int) -> tuple[Terms, int]:
    terms_x, constant_x = affine(x)
    terms_y, constant_y = affine(y)
    total = dict(terms_x)
    for term, count in terms_y:
        total[term] = total.get(term, 0) + factor * count
    kept = tuple(sorted(((t, c) for t, c in total.items() if c), key=lambda item: order(item[0])))
    return kept, constant_x + factor * constant_y


@lru_cache(maxsize=65536)
def terms_of(expr: Expr) -> frozenset[Expr]:
    return frozenset(term for term, _ in affine(expr)[0])


@lru_cache(maxsize=65536)
def from_affine(terms: Terms, constant: int) -> Expr:
    """The shortest text: positive terms first, then negative ones, then the constant."""
    out: Expr | None = None
    for term, count in sorted(terms, key=lambda item: item[1] < 0):
        part = term if abs(count) == 1 else Call("mul", (integer(abs(count)), term), INT64)
        if out is None:
            out = part if count > 0 else Call("neg", (part,), INT64)
        else:
            out = Call("add" if count > 0 else "sub", (out, part), INT64)
    if out is None:
        return integer(constant)
    if constant:
        out = Call("add" if constant > 0 else "sub", (out, integer(abs(constant))), INT64)
    return out


@lru_cache(maxsize=65536)
def normal(expr: Expr) -> Expr:
    return from_affine(*affine(expr)) if expr.dtype == INT64 else expr


@lru_cache(maxsize=65536)
def add(x: Expr, y: Expr) -> Expr:
    return from_affine(*_combine(x, y, 1))


@lru_cache(maxsize=65536)
def sub(x: Expr, y: Expr) -> Expr:
    return from_affine(*_combine(x, y, -1))


@lru_cache(maxsize=65536)
def mul(x: Expr, y: Expr) -> Expr:
    if isinstance(x, Const):
        return from_affine(*_combine(ZERO, y, int(x.value)))
    if isinstance(y, Const):
        return from_affine(*_combine(ZERO, x, int(y.value)))
    (terms_x, constant_x), (terms_y, constant_y) = affine(x), affine(y)
    if len(terms_x) == len(terms_y) == 1 and constant_x == constant_y == 0:  # 2n * 3m is 6nm
        (term_x, count_x), (term_y, count_y) = *terms_x, *terms_y
        return from_affine(((Call("mul", (term_x, term_y), INT64), count_x * count_y),), 0)
    return Call("mul", (x, y), INT64)


def product(dims: tuple[Expr, ...]) -> Expr:
    out: Expr = ONE
    for dim in dims:
        out = mul(out, dim)
    return out


def maximum(x: Expr, y: Expr) -> Expr:
    if is_at_least(sub(x, y), 0):
        return x
    if is_at_least(sub(y, x), 0):
        return y
    (terms, constant), (others, least) = affine(x), affine(y)
    match terms:
        case ((Call(op="maximum", args=(inner, Const(value=other))), 1),) if not others:
            # max(max(n - 1, 0) - 1, 0) is max(n - 2, 0)
            return maximum(add(inner, integer(constant)), integer(max(int(other) + constant, least)))
    common = from_affine(tuple(term for term in terms if term in others), 0)
    if common != ZERO:
        return add(common, maximum(sub(x, common), sub(y, common)))
    return Call("maximum", (x, y), INT64)


def minimum(x: Expr, y: Expr) -> Expr:
    if is_at_least(sub(y, x), 0):
        return x
    return y if is_at_least(sub(x, y), 0) else Call("minimum", (x, y), INT64)


def floordiv(x: Expr, k: int) -> Expr:
    terms, constant = affine(x)
    if all(count % k == 0 for _, count in terms):
        return from_affine(tuple((t, c // k) for t, c in terms), constant // k)
    return Call("floordiv", (x, integer(k)), INT64)


def difference(x: Expr, y: Expr) -> int | None:
    """x - y where it is a known number."""
    terms, constant = _combine(x, y, -1)
    return None if terms else constant


def same(x: Expr, y: Expr) -> bool:
    return difference(x, y) == 0


@lru_cache(maxsize=65536)
def is_at_least(x: Expr, bound: int) -> bool:
    """Provably x >= bound: lengths are never negative."""
    terms, constant = affine(x)
    match terms:
        case ((Call(op="maximum" | "max", args=(y, z)), 1),) if constant < bound:
            return is_at_least(y, bound - constant) or is_at_least(z, bound - constant)
    if constant < bound:
        return False
    for term, count in terms:
        if count < 0:
            return any(is_at_least(lower, bound) for lower in _with_more_taken_away(x, term, -count))
    return all(_never_negative(term) for term, _ in terms)


def _with_more_taken_away(x: Expr, term: Expr, count: int) -> Iterator[Expr]:
    """What x is at least, where `count` times a quotient, or the less of two numbers, is taken away from it."""
    match term:
        case Call(op="minimum" | "min", args=others):
            pass
        case Call(op="floordiv", args=(n, Const(value=by))) if by > 0 and is_at_least(n, 0):
            quotients = (other for other, often in affine(x)[0] if often >= count and isinstance(other, Call))
            same_by = [other for other in quotients if other.op == "floordiv" and other.args[1] == term.args[1]]
            others = (*(other for other in same_by if is_at_least(sub(other.args[0], n), 0)), n)
        case _:
            others = ()
    for other in others:
        yield add(x, mul(integer(count), sub(term, other)))


def _never_negative(expr: Expr) -> bool:
    match expr:
        case Dim() | Axis() | Call(op="wrap_low" | "wrap_high"):
            return True
        case Call(op="maximum" | "max", args=(x, y)):
            return _never_negative(x) or _never_negative(y) or is_at_least(x, 0) or is_at_least(y, 0)
        case Call(op="minimum" | "min", args=(x, y)):
            return is_at_least(x, 0) and is_at_least(y, 0)
        case Call(op="mul", args=(x, y)):
            lead = difference(x, y)  # n (n + 1) is not negative, whatever n is
            return (is_at_least(x, 0) and is_at_least(y, 0)) or (lead is not None and abs(lead) <= 1)
        case Call(op="rshift", args=(x, Const())):
            return is_at_least(x, 0)
        case Call(op="floordiv", args=(x, Const(value=by))):
            return by > 0 and is_at_least(x, 0)
        case Call(op="select", args=(_, x, y)):
            return is_at_least(x, 0) and is_at_least(y, 0)
        case Const(value=value):
            return value >= 0
    return False


@lru_cache(maxsize=65536)
def decided(op: str, x: Expr, y: Expr) -> bool | None:
    """What a comparison of whole numbers comes to, where that is known."""
    match op:
        case "lt":
            return _is_at_least_or_not(sub(y, x), 1)
        case "le":
            return _is_at_least_or_not(sub(y, x), 0)
        case "gt":
            return _is_at_least_or_not(sub(x, y), 1)
        case "ge":
            return _is_at_least_or_not(sub(x, y), 0)
        case "eq" | "ne":
            if difference(x, y) == 0:
                return op == "eq"
            return op == "ne" if is_at_least(sub(x, y), 1) or is_at_least(sub(y, x), 1) else None
    return None


def _is_at_least_or_not(x: Expr, bound: int) -> bool | None:
    if is_at_least(x, bound):
        return True
    return False if is_at_least(sub(ZERO, x), 1 - bound) else None


def is_left_by_a_slice(expr: Expr) -> bool:
    """Is it the length of a part of an axis: max(n - 1, 0)?"""
    match expr:
        case Call(op="maximum", args=(part, Const(value=0))):
            return all(isinstance(term, Dim) for term in terms_of(part))
    return False


def equals(x: Expr, y: Expr) -> Expr:
    return Call("eq", (x, y), BOOL)
