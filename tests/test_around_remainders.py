"""Places around the ends of axes whose lengths are multiples of a number: compared with all pairs of iterations."""

from __future__ import annotations

import itertools
import random

from srcgrad.analysis.effects import Access
from srcgrad.analysis.ranges import Ranges
from srcgrad.analysis.remainders import Known, Remainder
from srcgrad.analysis.signs import Signs
from srcgrad.ir import affine
from srcgrad.ir.expressions import FLOAT64, INT64, Array, Call, Const, Expr, Var
from srcgrad.ir.nodes import For, Function, Store
from srcgrad.ir.wraps import wrap

I, J, N, M, C = (Var(name, INT64) for name in ("i", "j", "n", "m", "c"))
SIGNS = Signs(Function("f", (), (), ()), never_negative=True)


def place(rng: random.Random, index: Var, length: Var) -> tuple[Expr, int]:
    """A place, and how far around the axis it is."""
    step = rng.choice((0, 0, 0, -1, 1, 1, 2))
    at = affine.add(index, affine.integer(step))
    if step == 0:
        return index, 0
    if rng.random() < 0.2:
        return Call("mod", (at, length), INT64), step
    return wrap("wrap_low" if step < 0 else "wrap_high", at, length), step


def test_no_two_iterations_meet_where_it_is_said() -> None:
    rng, said = random.Random(2), 0
    array = Array("a", FLOAT64, (N, M))
    for _ in range(2400):
        modulus = rng.choice((2, 2, 3, 4))
        count, times = rng.choice((1, 1, -1, 2)), rng.choice((1, 1, -1, 2))
        colour = affine.add(affine.mul(affine.integer(count), I), affine.mul(affine.integer(times), J))
        divides = [rng.choice((modulus, modulus, 2 * modulus, 1, 2)) for _ in range(2)]
        known: Known = (
            Remainder(affine.sub(colour, C), modulus),
            *(Remainder(length, by) for length, by in zip((N, M), divides, strict=True) if by > 1),
        )
        (p, p_steps), (q, q_steps) = (
            tuple(zip(*(place(rng, index, length) for index, length in ((I, N), (J, M))), strict=True))
            for _ in range(2)
        )
        body = tuple(Store(array, at, Const(0.0, FLOAT64)) for at in (p, q))
        inner = For(J, affine.ZERO, M, affine.ONE, body)
        loop = For(I, affine.ZERO, N, affine.ONE, (inner,))
        a, b = (Access(array, at, True, under=known) for at in (p, q))
        for ranges, moves in ((Ranges((), loop, SIGNS), 0), (Ranges((loop,), inner, SIGNS), 1)):
            if not ranges.never_meet(a, b):
                continue
            said += 1
            for n, m, c in itertools.product(range(1, 7), range(1, 7), range(modulus)):
                if n % divides[0] or m % divides[1]:
                    continue
                runs = [
                    (i, j)
                    for i, j in itertools.product(range(n), range(m))
                    if (count * i + times * j - c) % modulus == 0
                ]
                owner: dict[tuple[int, int], set[tuple[int, int]]] = {}
                for i, j in runs:
                    owner.setdefault(((i + p_steps[0]) % n, (j + p_steps[1]) % m), set()).add((i, j))
                for i, j in runs:
                    for other in owner.get(((i + q_steps[0]) % n, (j + q_steps[1]) % m), ()):
                        same = other[0] == i if moves == 0 else other[0] != i or other[1] == j
                        assert same, (p, q, known, n, m, c, (i, j), other)
    assert said > 180


def test_half_of_what_goes_around_is_not_half_of_it() -> None:
    """i + (c % n) // 2 and i + c // 2 + 1: for n = 2 and c = 2 these are i and i + 2."""
    array = Array("a", FLOAT64, (N, M))
    known: Known = (Remainder(I, 2), Remainder(N, 2))
    two = affine.integer(2)
    halves = (Call("floordiv", (x, two), INT64) for x in (Call("mod", (C, N), INT64), C))
    p, q = (affine.add(I, half) for half in halves)
    loop = For(I, affine.ZERO, N, affine.ONE, ())
    places = ((p, J), (affine.add(q, affine.ONE), J))
    a, b = (Access(array, at, True, under=known) for at in places)
    assert not Ranges((), loop, SIGNS).never_meet(a, b)
    around = Call("mod", (affine.add(I, affine.ONE), N), INT64)
    c, d = (Access(array, (at, J), True, under=known) for at in (I, around))
    assert Ranges((), loop, SIGNS).never_meet(c, d)
