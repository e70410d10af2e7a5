"""Indices by quotient and remainder of what a loop counts: what its bits are, too, where there is a power of two.

for k in range(n // 2):                     k is h * q + r, 0 <= r < h
    a = k // h * 2 * h + k % h              2 * h * q + r
    b = a + h                               2 * h * q + r + h
a = (k >> s) << (s + 1) | k & (1 << s) - 1  the same, with h = 1 << s

1 << s + 1 is 2 * (1 << s) only where s is not negative: where nobody knows that, the least of what is shifted by says
what all of them are multiples of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from ..ir import affine, products
from ..ir.expressions import INT64, LAZY, Call, Const, Expr, Var
from ..ir.naturals import remainder
from ..ir.walk import children, rewrite, subexpressions, substitute, variables

Holds = Callable[[Expr], bool]
Least = Mapping[Expr, int]  # of s, the k of which s + k is not negative
BITWISE = ("bitand", "bitor", "bitxor", "invert", "lshift", "rshift")


def least_shifts(exprs: Iterable[Expr], is_natural: Holds) -> Least:
    """The least that is added to what numbers are shifted by in expressions that are all computed: no sum is negative.

    0, of what is natural by itself.
    """
    out: dict[Expr, int] = {}
    for expr in exprs:
        for node in _computed(expr):
            if isinstance(node, Call) and node.op in ("lshift", "rshift"):
                terms, constant = affine.affine(node.args[1])
                unknown = affine.from_affine(terms, 0)
                out[unknown] = 0 if is_natural(unknown) else min(constant, out.get(unknown, constant))
    return out


def _computed(expr: Expr) -> Iterator[Expr]:
    """The expression and all in it, but for what a choice may leave alone."""
    yield expr
    parts = children(expr)
    for part in parts[:1] if isinstance(expr, Call) and expr.op in LAZY else parts:
        yield from _computed(part)


def arithmetic(expr: Expr, is_power: Holds, least: Least) -> Expr:
    """The same, with quotients, remainders and products in the place of bits, where one number is a power of two."""
    if not any(isinstance(node, Call) and node.op in BITWISE for node in subexpressions(expr)):
        return expr
    return rewrite(expr, lambda node: _arithmetic(node, is_power, least) if isinstance(node, Call) else node)


def _arithmetic(call: Call, is_power: Holds, least: Least) -> Expr:
    if call.dtype != INT64:
        return call
    match call:
        case Call(op="invert", args=(x,)):
            return affine.sub(affine.integer(-1), x)
        case Call(op="lshift", args=(x, n)) if (power := _shifted(n, least)) is not None and call != power:
            return _product(power, x)
        case Call(op="rshift", args=(x, n)) if (power := _shifted(n, least)) is not None:
            return Call("floordiv", (x, power), INT64)
        case Call(op="bitand" | "bitor" | "bitxor" as op, args=(x, y)):
            return _of_bits(op, x, y, is_power) or _of_bits(op, y, x, is_power) or call
    return call


def _shifted(n: Expr, least: Least) -> Expr | None:
    """1 << n, as a multiple of 1 << m for the least m, of which n is so much more."""
    terms, constant = affine.affine(n)
    first = least.get(affine.from_affine(terms, 0), constant) if terms else 0
    if not 0 <= constant - first < 62:
        return None
    factor = affine.integer(2 ** (constant - first))
    if not terms:
        return factor
    return _product(factor, Call("lshift", (affine.ONE, affine.from_affine(terms, first)), INT64))


def _of_bits(op: str, x: Expr, y: Expr, is_power: Holds) -> Expr | None:
    """An operation on bits, where the second number is a power of two, or what is less or greater than that."""
    quotient = lambda by: Call("mod", (Call("floordiv", (x, by), INT64), affine.integer(2)), INT64)
    rest = lambda by: Call("mod", (x, by), INT64)
    if is_a_power(y, is_power):
        bit = _product(y, quotient(y))  # which is there, or not
        if op == "bitand":
            return bit
        return affine.sub(affine.add(x, y), bit if op == "bitor" else affine.mul(affine.integer(2), bit))
    if op == "bitand":
        if is_a_power(power := affine.add(y, affine.ONE), is_power):
            return rest(power)
        if is_a_power(power := affine.sub(affine.ZERO, y), is_power):
            return affine.sub(x, rest(power))
        if is_a_power(power := affine.sub(affine.integer(-1), y), is_power):
            return affine.sub(x, _product(power, quotient(power)))
    match y:  # what is below a power, and multiples of that
        case Call(op="mod", args=(_, power)) if op != "bitand" and is_a_power(power, is_power):
            if is_multiple(x, power):
                return affine.add(x, y)
    return None


def is_a_power(expr: Expr, is_power: Holds) -> bool:
    """Is it a power of two?"""
    terms, constant = affine.affine(expr)
    match terms:
        case ():
            return constant > 0 and constant & (constant - 1) == 0
        case ((term, count),) if constant == 0:
            return count > 0 and count & (count - 1) == 0 and (_is_one_shifted(term) or is_power(term))
    return False


def _is_one_shifted(term: Expr) -> bool:
    return isinstance(term, Call) and term.op == "lshift" and term.args[0] == affine.ONE


def is_multiple(x: Expr, by: Expr) -> bool:
    return _by_base(_multiplied_out(x), by)[1] == affine.ZERO


def without_bits_twice(expr: Expr) -> Expr:
    """x ^ h ^ h is x."""
    if not any(isinstance(node, Call) and node.op == "bitxor" for node in subexpressions(expr)):
        return expr

    def once(node: Expr) -> Expr:
        match node:
            case Call(op="bitxor", args=(Call(op="bitxor", args=(x, mask)), other)) if mask == other:
                return x
        return node

    return affine.normal(rewrite(expr, once))


def divisors(exprs: Iterable[Expr], index: Var) -> Iterator[Expr]:
    """What the index is divided by."""
    for expr in exprs:
        for node in _computed(expr):
            match node:
                case Call(op="floordiv" | "mod", args=(x, by)) if node.dtype == INT64 and index in variables(x):
                    yield affine.normal(by)
                case Call() if (parts := remainder(node)) is not None and index in variables(parts[0]):
                    yield affine.integer(parts[1])


def divided(expr: Expr, index: Var, by: Expr, quotient: Var, rest: Var, is_natural: Holds) -> Expr:
    """The expression of the index, where that is by * quotient + rest.  `is_natural`: is something proved to be?"""
    if index not in variables(expr):
        return expr
    whole = affine.add(_product(by, quotient), rest)

    def simpler(node: Expr) -> Expr:
        if not isinstance(node, Call) or node.dtype != INT64:
            return node
        if (parts := remainder(node)) is not None:
            node = Call("mod", (parts[0], affine.integer(parts[1])), INT64)
        match node:
            case Call(op="floordiv" | "mod" as op, args=(x, other)):
                return _quotient_or_rest(op, _multiplied_out(x), affine.normal(other), by, is_natural) or node
        return node

    return _multiplied_out(rewrite(substitute(expr, {index: whole}), simpler))


def _quotient_or_rest(op: str, x: Expr, other: Expr, by: Expr, is_natural: Holds) -> Expr | None:
    times = _times(other, by)
    high, low = _by_base(x, by)
    room = affine.sub(affine.sub(by, affine.ONE), low)
    if times is not None and is_natural(low) and is_natural(room):
        above = high if times == 1 and op == "floordiv" else affine.ZERO if times == 1 else by_number(op, high, times)
        return above if op == "floordiv" else affine.add(_product(by, above), low)
    return by_number(op, x, int(other.value)) if isinstance(other, Const) and other.value > 0 else None


def by_number(op: str, x: Expr, by: int) -> Expr:
    """x // by or x % by: 2 * q + 1 is q twice, and 1."""
    terms, constant = affine.affine(x)
    whole = affine.from_affine(tuple((t, c // by) for t, c in terms if c % by == 0), constant // by)
    left = affine.from_affine(tuple(item for item in terms if item[1] % by), constant % by)
    if isinstance(left, Const):
        return whole if op == "floordiv" else left
    rest = Call(op, (left, affine.integer(by)), INT64)
    return affine.add(whole, rest) if op == "floordiv" else rest


def _times(x: Expr, by: Expr) -> int | None:
    """n, of an x that is n * by."""
    if isinstance(x, Const) and isinstance(by, Const):
        return int(x.value) // int(by.value) if x.value > 0 and by.value > 0 and x.value % by.value == 0 else None
    (x_terms, x_constant), (terms, constant) = affine.affine(x), affine.affine(by)
    if len(x_terms) != 1 or len(terms) != 1 or x_constant or constant:
        return None
    (term, count), (other, often) = *x_terms, *terms
    return count // often if term == other and often > 0 and count % often == 0 and count > 0 else None


def _by_base(expr: Expr, base: Expr) -> tuple[Expr, Expr]:
    """x and y, of an expression, multiplied out, that is x * base + y: q and h * q + r of 3 * h * q + r by 2 * h."""
    terms, constant = affine.affine(expr)
    if isinstance(base, Const):
        by = int(base.value)
        high = affine.from_affine(tuple((t, c // by) for t, c in terms if c // by), constant // by)
        low = affine.from_affine(tuple((t, c % by) for t, c in terms if c % by), constant % by)
        return high, low
    base_terms, base_constant = affine.affine(base)
    high, low = affine.ZERO, expr
    if len(base_terms) != 1 or base_constant:
        return high, low
    ((unit, often),) = base_terms
    for term, count in terms:
        factors = [unit] if term == unit else factors_of(term)
        if unit in factors and count // often:
            factors.remove(unit)
            more = affine.mul(affine.integer(count // often), affine.product(tuple(factors)))
            high = affine.add(high, more)
            low = affine.sub(low, affine.mul(affine.integer(count // often * often), term))
    return high, low


def factors_of(term: Expr) -> list[Expr]:
    match term:
        case Call(op="mul", args=(x, y)):
            return [*factors_of(x), *factors_of(y)]
    return [term]


def _product(x: Expr, y: Expr) -> Expr:
    return _multiplied_out(Call("mul", (x, y), INT64))


@lru_cache(maxsize=65536)
def _multiplied_out(expr: Expr) -> Expr:
    return products.multiplied_out(expr) if expr.dtype == INT64 else expr


__all__ = [
    "arithmetic",
    "by_number",
    "divided",
    "divisors",
    "factors_of",
    "is_a_power",
    "least_shifts",
    "without_bits_twice",
]
