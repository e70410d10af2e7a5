"""Elements of two iterations that are never one, by quotients and remainders of the loop's index, or by its bits.

for k in range(n // 2):                 for q: for r in range(h): the elements are apart for every other q, and for
    a = k // h * 2 * h + k % h          every other r of one q: so they are for every other k
    x[a], x[a + h] = …

for b in range(n):                      b and b | h are b but for the bits of h, of which b has none: either of them
    if b & h == 0:                      tells the iteration
        y[b], y[b | h] = …
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Dim, Expr, Var
from ..ir.nodes import For
from ..ir.walk import loads, substituted, variables
from .effects import Access, effects
from .quotients import Least, arithmetic, divided, divisors, factors_of, is_a_power, least_shifts
from .ranges import Ranges
from .remainders import Remainder, Zero

DEEPEST = 2  # quotients of quotients


def never_meet(ranges: Ranges, a: Access, b: Access, depth: int = 0) -> bool:
    """Do the accesses, of any two iterations of the loop that the ranges are of, mean different elements?"""
    return (
        ranges.never_meet(a, b)
        or (depth == 0 and are_apart_by_bits(ranges, a, b))
        or (depth < DEEPEST and are_apart_by_parts(ranges, a, b, depth))
    )


# ------------------------------------------------------------------------------------------------- quotient and rest


def are_apart_by_parts(ranges: Ranges, a: Access, b: Access, depth: int) -> bool:
    loop = ranges.loop
    if a.array != b.array or not isinstance(loop.step, Const):
        return False
    least = least_shifts((*_parts(a), *_parts(b)), ranges.is_natural)
    a, b = (_by_arithmetic(access, ranges, least) for access in (a, b))
    found = dict.fromkeys(divisors((*_parts(a), *_parts(b)), loop.index))
    return any(_are_apart_by(by, ranges, a, b, depth) for by in found if _is_steady(by, ranges, a.array))


def _is_steady(by: Expr, ranges: Ranges, array: Array) -> bool:
    """Is it one number in all iterations, greater than 0 where the array is touched?

    By 0 NumPy's integers are 0, and so are those of compiled code: all iterations touch one element.  Of an array with
    an axis that is 0 long none does.
    """
    if loads(by) or variables(by) & ranges.varies:
        return False
    return (
        is_a_power(by, ranges.signs.powers.__contains__)
        or ranges.is_natural(affine.sub(by, affine.ONE))
        or (_times(ranges, by) is not None and ranges.is_natural(by))
        or by in (*array.dims, *(Dim(array.name, axis) for axis in range(array.ndim)))
    )


def _times(ranges: Ranges, by: Expr) -> Expr | None:
    """n, of a loop up to n * by, which has no iteration where that is 0."""
    low, high = ranges.signs.ends(ranges.loop)
    terms, constant = affine.affine(affine.add(high, affine.ONE))
    if len(terms) != 1 or constant or not ranges.is_natural(low):
        return None
    ((term, count),) = terms
    factors = factors_of(term)
    if by not in factors:
        return None
    factors.remove(by)
    return affine.mul(affine.integer(count), affine.product(tuple(factors)))


def _parts(access: Access) -> Iterator[Expr]:
    """What has been computed where an element is touched."""
    yield from (part for part in access.index if part is not None)
    yield from (known.expr for known in access.under)


def _by_arithmetic(access: Access, ranges: Ranges, least: Least) -> Access:
    said = lambda expr: arithmetic(expr, ranges.signs.powers.__contains__, least)
    index = tuple(None if part is None or loads(part) else said(part) for part in access.index)
    return replace(access, index=index, under=tuple(replace(known, expr=said(known.expr)) for known in access.under))


def _are_apart_by(by: Expr, ranges: Ranges, a: Access, b: Access, depth: int) -> bool:
    if by not in ranges.in_parts:
        ranges.in_parts[by] = _parts_of(ranges, by)
    parts: Parts | None = ranges.in_parts[by]
    if parts is None:
        return False
    a, b = parts.said(a), parts.said(b)
    return all(never_meet(each, a, b, depth + 1) for each in (parts.of_quotients, parts.of_rests))


@dataclass(frozen=True)
class Parts:
    """A loop as two, over what its index is divided by a number, and over what that leaves."""

    index: Var
    by: Expr
    quotient: Var
    rest: Var
    of_quotients: Ranges
    of_rests: Ranges
    known: dict[Expr, Expr] = field(default_factory=dict)

    def said(self, access: Access) -> Access:
        """The access, by the two indices."""
        index = tuple(None if part is None else self.by_two(part) for part in access.index)
        under = (replace(known, expr=self.by_two(known.expr)) for known in access.under)
        return replace(access, index=index, under=tuple(under))

    def by_two(self, expr: Expr) -> Expr:
        if expr not in self.known:
            is_natural = self.of_quotients.is_natural
            self.known[expr] = divided(expr, self.index, self.by, self.quotient, self.rest, is_natural)
        return self.known[expr]


def _parts_of(ranges: Ranges, by: Expr) -> Parts | None:
    loop, index = ranges.loop, ranges.loop.index
    low, high = ranges.signs.ends(loop)
    ends = variables(low) | variables(high)
    if index in effects(loop.body).writes or ends & ranges.varies or loads(low) or loads(high):
        return None
    if not ranges.is_natural(low):
        return None
    quotient, rest = (Var(f"{index.name} {sign} {len(ranges.in_parts)}", INT64) for sign in ("//", "%"))
    body = substituted(loop.body, {index: affine.add(affine.mul(by, quotient), rest)})
    inner = For(rest, affine.ZERO, by, affine.ONE, body)
    last = Call("floordiv", (high, by), INT64)
    stop = _times(ranges, by) or affine.add(last, affine.ONE)
    outer = For(quotient, affine.ZERO, stop, affine.ONE, (inner,))
    array = ranges.array
    return Parts(
        index,
        by,
        quotient,
        rest,
        Ranges(ranges.around, outer, ranges.signs, array),
        Ranges((*ranges.around, outer), inner, ranges.signs, array),
    )


# ------------------------------------------------------------------------------------------------------------- bits


def are_apart_by_bits(ranges: Ranges, a: Access, b: Access) -> bool:
    """Does an element of either tell the iteration, as its index is that of the loop but for bits that are known?"""
    if a.array != b.array or ranges.loop.index in effects(ranges.loop.body).writes:
        return False
    clear = [_clear(access, ranges) for access in (a, b)]
    masks = clear[0] & clear[1]
    if not masks:
        return False
    is_told = lambda part: part is not None and _is_but_for(part, ranges.loop.index, masks)
    is_sure = lambda part: ranges.signs.never_negative or ranges.is_natural(part)
    return any(is_told(p) and is_told(q) and is_sure(p) and is_sure(q) for p, q in zip(a.index, b.index, strict=True))


def _clear(access: Access, ranges: Ranges) -> set[Expr]:
    """The masks of bits that the loop's index has none of where the element is touched, the same in all iterations."""
    out: set[Expr] = set()
    for known in access.under:
        match known:
            case Zero(expr=Call(op="bitand", args=(x, y))):
                out |= _masks(x if y == ranges.loop.index else y) if ranges.loop.index in (x, y) else set()
            case Remainder(expr=expr, modulus=2):
                if expr == ranges.loop.index:
                    out.add(affine.ONE)
                elif isinstance(expr, Call) and expr.op == "rshift" and expr.args[0] == ranges.loop.index:
                    out.add(affine.normal(Call("lshift", (affine.ONE, expr.args[1]), INT64)))
    return {mask for mask in out if not (loads(mask) or variables(mask) & ranges.varies)}


def _masks(mask: Expr) -> set[Expr]:
    match mask:
        case Call(op="bitor", args=(x, y)):
            return {mask} | _masks(x) | _masks(y)
    return {mask}


def _is_but_for(part: Expr, index: Var, masks: Set[Expr]) -> bool:
    """Is it the index, but for bits of these?"""
    if part == index:
        return True
    match part:
        case Call(op="bitor" | "bitxor", args=(x, y)):
            return (y in masks and _is_but_for(x, index, masks)) or (x in masks and _is_but_for(y, index, masks))
    return affine.sub(part, index) in masks  # where there is none of them, to add one is to set it


__all__ = ["never_meet"]
