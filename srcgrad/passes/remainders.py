"""What is known of remainders where memory is touched, and accesses that never meet because theirs differ.

for i in range(1, n - 1):
    for j in range(1, m - 1):
        if (i + j) % 2 == c:            i + j - c = 0 (mod 2) wherever u is touched: the neighbours that are read belong
            u[i, j] = u[i - 1, j] + …   to no iteration that writes (red and black)

for j in range(first, m, 2):            j - first = 0 (mod 2)
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from ..ir import affine
from ..ir.expressions import BOOL, Call, Const, Expr, Var
from ..ir.naturals import remainder
from ..ir.nodes import For, If, Stmt
from ..ir.walk import loads, substitute, variables

Place = tuple[Expr | None, ...]


@dataclass(frozen=True)
class Remainder:
    """`expr` is a multiple of `modulus`; its variables are what they are at the access."""

    expr: Expr
    modulus: int


Known = tuple[Remainder, ...]


def known_in(stmt: Stmt) -> tuple[Known, ...]:
    """What a statement makes known in each of its blocks, where that does not change what is said of."""
    match stmt:
        case If(condition=condition):
            return _where(condition, True), _where(condition, False)
        case For(index=index, start=start, step=Const(value=step)) if abs(step) > 1 and not loads(start):
            return ((Remainder(affine.sub(index, start), abs(int(step))),),)
    return ()


def _where(condition: Expr, holds: bool) -> Known:
    match condition:
        case Call(op="and", args=(x, y)) if holds and condition.dtype == BOOL:
            return _where(x, True) + _where(y, True)
        case Call(op="or", args=(x, y)) if not holds and condition.dtype == BOOL:
            return _where(x, False) + _where(y, False)
        case Call(op="not", args=(x,)):
            return _where(x, not holds)
        case Call(op="eq" | "ne" as op, args=(Call(op="mod", args=(x, Const(value=modulus))), rest)):
            if loads(x) or loads(rest) or rest.dtype.kind not in "iu" or x.dtype.kind not in "iu" or modulus < 2:
                return ()
            if (op == "eq") == holds:
                return (Remainder(affine.sub(x, rest), int(modulus)),)
            if modulus == 2 and isinstance(rest, Const) and rest.value in (0, 1):
                return (Remainder(affine.sub(x, affine.integer(1 - int(rest.value))), 2),)
    return ()


def steady(known: Known, changed: Set[Var]) -> Known:
    """What is said of variables that the statements do not change."""
    return tuple(each for each in known if not variables(each.expr) & changed)


def ahead_of(known: Known, values: Mapping[Any, Expr], changed: Set[Var]) -> Known:
    """The same, by what the variables have been made of, as far as the statements do not change that."""
    made_of = {var: value for var, value in values.items() if not variables(value) & changed}
    return tuple(replace(each, expr=substitute(each.expr, made_of)) for each in known)


def never_meet(p: Place, p_known: Known, q: Place, q_known: Known, varies: Set[Var]) -> bool:
    """Do remainders tell the elements apart, of whatever two iterations?  `varies`: what differs between those."""
    apart = _steps(p, q, varies)
    return any(_contradict(x, y, apart, varies) for x in p_known for y in q_known if x.modulus == y.modulus)


def _steps(p: Place, q: Place, varies: Set[Var]) -> dict[Expr, int]:
    """By how much variables of two iterations differ in which the indices are the same."""
    out: dict[Expr, int] = {}
    for x, y in zip(p, q, strict=True):
        gap = None if x is None or y is None else affine.difference(y, x)
        if gap is None:
            continue
        own = [(term, count) for term, count in affine.affine(x)[0] if loads(term) or variables(term) & varies]
        if len(own) == 1 and isinstance(own[0][0], Var) and abs(own[0][1]) == 1:
            out[own[0][0]] = gap * own[0][1]
    return out


def _contradict(x: Remainder, y: Remainder, apart: dict[Expr, int], varies: Set[Var]) -> bool:
    modulus = x.modulus
    own, other = (_without_multiples(each) for each in (x, y))
    more = affine.difference(other, own)
    if more is None:
        return False
    step = -more
    for term, count in affine.affine(own)[0]:
        if loads(term) or variables(term) & varies:
            if term not in apart:
                return False
            step += count * apart[term]
    return step % modulus != 0


def leaves_a_remainder(expr: Expr) -> bool:
    """Is it never 0, whatever its variables are, as it is no multiple of what its terms are multiples of?

    (t + 1) % 2 - t % 2 is 1 (mod 2), and so is 1 - 2 * k.
    """
    terms, constant = affine.affine(expr)
    moduli = {parts[1] for term, _ in terms if (parts := remainder(term)) is not None}
    moduli |= {gcd(*(count for _, count in terms))} if constant else set()
    left = (_modulo(expr, modulus) for modulus in moduli if modulus > 1)
    return any(isinstance(rest, Const) and rest.value for rest in left)


def _without_multiples(known: Remainder) -> Expr:
    """Another number of the same remainder: x % 4 is x (mod 2), and 2 * x is 0."""
    return _modulo(known.expr, known.modulus)


def _modulo(expr: Expr, modulus: int) -> Expr:
    """Sums and multiples of remainders alone are looked through: half of x % 4 is not half of x."""
    out: Expr = affine.ZERO
    terms, constant = affine.affine(expr)
    for term, count in terms:
        parts = remainder(term)
        if parts is not None and parts[1] % modulus == 0:
            term = _modulo(parts[0], modulus)
        out = affine.add(out, affine.mul(affine.integer(count), term))
    terms, more = affine.affine(out)
    left = tuple((term, n) for term, count in terms if (n := count % modulus))
    return affine.from_affine(left, (constant + more) % modulus)
