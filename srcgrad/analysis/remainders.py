"""What is known of remainders where memory is touched, and accesses that never meet because theirs differ.

for i in range(1, n - 1):
    for j in range(1, m - 1):
        if (i + j) % 2 == c:            i + j - c = 0 (mod 2) wherever u is touched: the neighbours that are read belong
            u[i, j] = u[i - 1, j] + …   to no iteration that writes (red and black)

for j in range(first, m, 2):            j - first = 0 (mod 2)

Of bits, and of the order of indices that are made of them, what is asked is known too (`bits.py`):

for b in range(n):
    if b & h == 0:                      b & h is 0
        p = b | h
for i in range(n):
    if i % (2 * h) < h:                 h - 1 - i % (2 * h) is not negative
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from itertools import product
from math import gcd
from typing import Any

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Expr, Var
from ..ir.naturals import remainder
from ..ir.nodes import For, If, Stmt
from ..ir.walk import loads, subexpressions, substitute, variables

Place = tuple[Expr | None, ...]


@dataclass(frozen=True)
class Remainder:
    """`expr` is a multiple of `modulus`; its variables are what they are at the access."""

    expr: Expr
    modulus: int


@dataclass(frozen=True)
class Zero:
    """`expr` is 0."""

    expr: Expr


@dataclass(frozen=True)
class Natural:
    """`expr` is not negative."""

    expr: Expr


@dataclass(frozen=True)
class Asked:
    """A condition that has a name, and whether it holds: what it says is known where the name is given."""

    expr: Expr
    holds: bool


Known = tuple[Remainder | Zero | Natural | Asked, ...]
OF_BITS = ("bitand", "bitor", "bitxor", "invert", "lshift", "rshift")


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
        case Var():
            return (Asked(condition, holds),)
        case Call(op="and", args=(x, y)) if holds and condition.dtype == BOOL:
            return _where(x, True) + _where(y, True)
        case Call(op="or", args=(x, y)) if not holds and condition.dtype == BOOL:
            return _where(x, False) + _where(y, False)
        case Call(op="not", args=(x,)):
            return _where(x, not holds)
        case Call(op="eq" | "ne" as op, args=(x, rest)) if x.dtype == rest.dtype == INT64:
            return () if loads(x) or loads(rest) else _of_equality(x, rest, (op == "eq") == holds)
        case Call(op="lt" | "le" | "gt" | "ge" as op, args=(x, y)) if x.dtype == y.dtype == INT64:
            if op in ("gt", "ge"):
                x, y = y, x
            if not holds:
                x, y = y, x
            if loads(x) or loads(y) or not _may_be_of_parts(x, y):
                return ()
            return (Natural(affine.sub(affine.sub(y, x), affine.integer(int((op in ("lt", "gt")) == holds)))),)
    return ()


def _of_equality(x: Expr, rest: Expr, is_equal: bool) -> Known:
    parts = remainder(x)
    if parts is not None and parts[1] > 1:
        if is_equal:
            return (Remainder(affine.sub(parts[0], rest), parts[1]),)
        if parts[1] == 2 and isinstance(rest, Const) and rest.value in (0, 1):
            return (Remainder(affine.sub(parts[0], affine.integer(1 - int(rest.value))), 2),)
    elif is_equal and rest == affine.ZERO and isinstance(x, Call) and x.op == "bitand":
        return (Zero(x),)
    return ()


def _may_be_of_parts(x: Expr, y: Expr) -> bool:
    """Is there anything in it of an index, but for the index itself, or may a name stand for that?"""
    nodes = [node for side in (x, y) for node in subexpressions(side)]
    return any(isinstance(node, Call) and node.op in ("mod", *OF_BITS) for node in nodes) or (
        isinstance(x, Var) and isinstance(y, Var)
    )


def steady(known: Known, changed: Set[Var]) -> Known:
    """What is said of variables that the statements do not change."""
    return tuple(each for each in known if not variables(each.expr) & changed)


def ahead_of(known: Known, values: Mapping[Any, Expr], changed: Set[Var]) -> Known:
    """The same, by what the variables have been made of, as far as the statements do not change that."""
    made_of = {v: value for v, value in values.items() if v not in changed and not variables(value) & changed}
    out: list[Remainder | Zero | Natural | Asked] = []
    for each in known:
        if not isinstance(each, Asked):
            out.append(replace(each, expr=substitute(each.expr, made_of)))
        elif each.expr in made_of:
            out += _where(made_of[each.expr], each.holds)
        else:
            out.append(each)
    return tuple(out)


def never_meet(p: Place, p_known: Known, q: Place, q_known: Known, varies: Set[Var]) -> bool:
    """Do remainders tell the elements apart, of whatever two iterations?  `varies`: what differs between those."""
    p_left, q_left = ([x for x in known if isinstance(x, Remainder)] for known in (p_known, q_known))
    moduli = {x.modulus for x in p_left} & {y.modulus for y in q_left}
    for modulus in moduli:
        fixed = {x.expr for x in (*p_left, *q_left) if x.modulus % modulus == 0 and not variables(x.expr) & varies}
        apart = _steps(_once_around(p, fixed), _once_around(q, fixed), varies)
        for x, y in product(p_left, q_left):
            if x.modulus == y.modulus == modulus and _contradict(x, y, apart, varies):
                return True
    return False


def _once_around(place: Place, multiples: Set[Expr]) -> Place:
    """Numbers of the same remainders: to go around an axis of such a length changes none.

    In sums and multiples alone: half of x % n is not half of x.
    """

    def straight(expr: Expr) -> Expr:
        terms, constant = affine.affine(expr)
        out: Expr = affine.integer(constant)
        for term, count in terms:
            match term:
                case Call(op="wrap_low" | "wrap_high" | "mod", args=(x, n)) if n in multiples:
                    term = straight(x)
            out = affine.add(out, affine.mul(affine.integer(count), term))
        return out

    return tuple(None if part is None else straight(part) for part in place) if multiples else place


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
