"""Which iterations are apart by quotients, remainders and bits of the loop's index: compared with all pairs of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.analysis.apart import Apart, Bounded
from srcgrad.analysis.defined_indices import accesses_by_definition
from srcgrad.analysis.effects import Access
from srcgrad.analysis.quotients import divisors, least_shifts
from srcgrad.analysis.signs import Signs
from srcgrad.ir import affine
from srcgrad.ir.expressions import BOOL, FLOAT64, INT64, Array, Call, Const, Expr, Var
from srcgrad.ir.nodes import Assign, Block, For, Function, If, Stmt, Store
from srcgrad.testing import check_grad

I, J, H, G, P, S, N = (Var(name, INT64) for name in ("i", "j", "h", "g", "p", "s", "n"))
ARRAY = Array("a", FLOAT64, (N,))
OPERATIONS: Mapping[str, Callable[..., int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "floordiv": lambda x, y: x // y if y else 0,
    "mod": lambda x, y: x % y if y else 0,
    "bitand": lambda x, y: x & y,
    "bitor": lambda x, y: x | y,
    "bitxor": lambda x, y: x ^ y,
    "invert": lambda x: ~x,
    "lshift": lambda x, y: x << y,
    "rshift": lambda x, y: x >> y,
    "maximum": max,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "and": lambda x, y: x and y,
    "not": lambda x: not x,
}


def value(expr: Expr, at: Mapping[Expr, int]) -> Any:
    match expr:
        case Const(value=number):
            return number
        case Var():
            return at[expr]
        case Call(op=op, args=args):
            return OPERATIONS[op](*(value(arg, at) for arg in args))
    raise AssertionError(expr)


def of(op: str, x: Expr, y: Expr) -> Expr:
    return Call(op, (x, y), BOOL if op in ("eq", "ne", "lt", "le", "and") else INT64)


class Nests:
    """Random loops over i, perhaps with one over j in them, which touch two elements, perhaps under a condition."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def number(self, low: int, high: int) -> Expr:
        return affine.integer(self.rng.randint(low, high))

    def divisor(self) -> Expr:
        """What is divided by: h, a power of two or any number, a multiple of it, or a number."""
        pick = self.rng.random()
        if pick < 0.75:
            return affine.mul(self.number(1, 3), self.unit)
        return self.number(1, 5)

    def part(self) -> Expr:
        rng, i = self.rng, self.rng.choice((I, I, I, J)) if self.is_nested else I
        d = self.divisor()
        count = rng.choice((self.number(-1, 3), self.unit, affine.mul(self.number(1, 2), self.unit)))
        few = affine.add(S, self.number(-1, 1)) if rng.random() < 0.3 else S
        return rng.choice(
            (
                lambda: i,
                lambda: of("mul", of("floordiv", i, d), count),
                lambda: of("mul", of("mul", self.number(1, 3), of("floordiv", i, d)), d),
                lambda: of("mod", i, d),
                lambda: affine.mul(self.number(-1, 2), of("mod", i, d)),
                lambda: self.unit,
                lambda: self.number(-1, 3),
                lambda: of("lshift", of("rshift", i, few), affine.add(few, self.number(0, 1))),
                lambda: of("bitand", i, affine.sub(d, affine.ONE)),
                lambda: of("bitand", i, d),
                lambda: of("bitand", i, Call("invert", (affine.sub(self.unit, affine.ONE),), INT64)),
            )
        )()

    def place(self) -> Expr:
        rng = self.rng
        if rng.random() < 0.35:
            out: Expr = I
            for _ in range(rng.randint(0, 2)):
                mask = rng.choice((self.unit, self.unit, G, of("bitor", self.unit, G), self.number(1, 4)))
                out = rng.choice((of("bitor", out, mask), of("bitxor", out, mask), affine.add(out, mask)))
            return out
        out = self.part()
        for _ in range(rng.randint(0, 2)):
            op = rng.choice(("add", "add", "add", "add", "sub", "bitor", "bitxor"))
            out = affine.add(out, self.part()) if op == "add" else of(op, out, self.part())
        return out

    def condition(self, p: Expr) -> Expr:
        rng, d = self.rng, self.divisor()
        mask = rng.choice((self.unit, self.unit, G, of("bitor", self.unit, G), self.number(1, 4)))
        either = rng.choice((affine.ZERO, affine.ZERO, affine.ONE))
        return rng.choice(
            (
                lambda: of("eq", of("bitand", I, mask), affine.ZERO),
                lambda: Call("not", (of("ne", of("bitand", I, mask), affine.ZERO),), BOOL),
                lambda: of("ne", of("bitand", I, mask), affine.ZERO),
                lambda: of("eq", of("mod", of("floordiv", I, self.unit), affine.integer(2)), either),
                lambda: of("eq", of("bitand", of("rshift", I, S), affine.ONE), either),
                lambda: of("lt", of("mod", I, d), self.unit),
                lambda: of("le", self.unit, of("mod", I, d)),
                lambda: of("lt", I, p),
                lambda: of("lt", I, of("bitxor", I, mask)),
                lambda: of("lt", p, I),
                lambda: of("eq", of("mod", I, self.number(2, 3)), either),
            )
        )()

    def __iter__(self) -> Iterator[tuple[Function, For, Block]]:
        rng = self.rng
        while True:
            self.is_power = rng.random() < 0.5
            self.unit = rng.choice((H, H, of("lshift", affine.ONE, S))) if self.is_power else H
            self.is_nested = rng.random() < 0.2
            ahead: Block = (
                Assign(H, of("lshift", affine.ONE, S) if self.is_power else of("maximum", P, self.number(0, 1))),
                Assign(G, of("maximum", N, affine.ZERO)),
            )
            first = self.place()
            second = self.place() if rng.random() < 0.4 else affine.add(first, rng.choice((self.unit, self.divisor())))
            if rng.random() < 0.3:
                first, second = I, self.place()
            q = Var("q", INT64)
            stores: list[Stmt] = [Assign(q, second)]
            stores += [Store(ARRAY, (at,), Const(0.0, FLOAT64)) for at in rng.sample((first, q), 2)]
            body: Block = tuple(stores)
            if rng.random() < 0.6:
                asked = self.condition(q)
                if rng.random() < 0.3:
                    asked = of("and", asked, self.condition(q))
                named = Var("asked", BOOL)
                if rng.random() < 0.3:
                    body = (body[0], Assign(named, asked), If(named, body[1:]))
                else:
                    body = (body[0], If(asked, body[1:]))
                if rng.random() < 0.2 and isinstance(body[-1], If):
                    body = (*body[:-1], If(body[-1].condition, (), body[-1].then))
            if self.is_nested:
                body = (For(J, affine.ZERO, self.number(1, 4), affine.ONE, body),)
            first_index, last = rng.randint(0, 2), rng.randint(6, 16)
            upwards = rng.random() < 0.8
            loop = For(
                I,
                affine.integer(first_index if upwards else last),
                affine.integer(last if upwards else first_index - 1),
                affine.integer(rng.choice((1, 1, 1, 1, 2)) * (1 if upwards else -1)),
                body,
            )
            yield Function("f", (P, S, N), (*ahead, loop), ()), loop, ahead


def touched(loop: For, at: dict[Expr, int]) -> Iterator[tuple[int, int]]:
    """Each iteration with each element that it touches: the number of the statement, and the index."""

    def run(block: Block, here: dict[Expr, int], found: list[int]) -> None:
        for stmt in block:
            match stmt:
                case Assign(var=var, value=made):
                    here[var] = value(made, here)
                case If(condition=condition, then=then, orelse=orelse):
                    run(then if value(condition, here) else orelse, here, found)
                case For(index=index):
                    for j in range(*(value(part, here) for part in (stmt.start, stmt.stop, stmt.step))):
                        run(stmt.body, {**here, index: j}, found)
                case Store(index=(place,)):
                    found.append(value(place, here))

    for i in range(*(value(part, at) for part in (loop.start, loop.stop, loop.step))):
        found: list[int] = []
        try:
            run(loop.body, {**at, I: i}, found)
        except (ValueError, OverflowError):
            continue  # it raises, whoever else runs
        yield from ((i, place) for place in found)


def meets(loop: For, ahead: Block, natural: bool) -> str | None:
    """What two iterations of the loop have in common, for some values of the names."""
    for s, p, g in itertools.product((0, 1, 2, -1), (0, 1, 2, 3, 5), (0, 1, 2, 5)):
        at: dict[Expr, int] = {S: s, P: p, N: g}
        try:
            at |= {stmt.var: value(stmt.value, at) for stmt in ahead if isinstance(stmt, Assign)}
        except ValueError:
            continue  # a shift by a number below 0
        owners: dict[int, int] = {}
        length = 40
        for i, place in touched(loop, at):
            if not -length <= place < length or (natural and place < 0):
                continue  # an error; or there is none below 0
            if owners.setdefault(place % length, i) != i:
                return f"{owners[place % length]} and {i} meet in {place}, with {at}"
    return None


def compared(seed: int, count: int) -> int:
    """Of how many nests is it said that all their iterations are apart?"""
    said = 0
    for function, loop, ahead in itertools.islice(Nests(seed), count):
        values = {stmt.var: stmt.value for stmt in ahead if isinstance(stmt, Assign)}
        for natural in (False, True):
            signs = Signs(function, never_negative=natural)
            apart = Apart((Bounded.of(loop, values),), values, signs, {})
            accesses: list[Access] = accesses_by_definition(loop.body)
            if all(apart.never_meet(a, b) for a in accesses for b in accesses):
                said += 1
                found = meets(loop, ahead, natural)
                assert found is None, (found, loop, ahead)
    return said


def test_no_two_iterations_meet_where_it_is_said() -> None:
    assert compared(0, 140) > 10


def by_one_more(x, s):
    """For s = -1, each iteration reads what the one before has written."""
    x = x.copy()
    h = 1 << (s + 1)
    for k in range(len(x) // 4):
        a = 4 * (k // 2) + 2 * (k % 2)
        x[a + h + 1] = x[a] * x[a + h + 1]
    return x


def by_bits_of_one_more(x, s):
    x = x.copy()
    h = 1 << (s + 1)
    for k in range(len(x) // 4):
        a = (k >> (s + 2) << (s + 2)) + (k & ((1 << (s + 2)) - 1))
        x[2 * a + h + 1] = x[2 * a] * x[2 * a + h + 1]
    return x


@pytest.mark.parametrize("function", [by_one_more, by_bits_of_one_more], ids=lambda f: f.__name__)
@pytest.mark.parametrize("s", [-1, 0, 1])
def test_one_shifted_by_one_more_may_be_odd(function: Callable[..., Any], s: int) -> None:
    """1 << s + 1 is 2 * (1 << s) for no s below 0, where there is no such number."""
    check_grad(grad(function, wrt=("x",), jit=False), np.random.default_rng(3).uniform(0.5, 1.5, 24), s)


def test_of_a_choice_neither_side_tells_what_is_divided_by() -> None:
    """Nor is a shift said not to be below 0."""
    asked = of("lt", affine.ZERO, H)
    choice = Call("select", (asked, of("floordiv", I, H), of("rshift", I, affine.sub(S, affine.ONE))), INT64)
    assert [*divisors([affine.add(choice, of("mod", I, G))], I)] == [G]
    assert least_shifts([choice, of("lshift", affine.ONE, affine.add(S, affine.ONE))], lambda _: False) == {S: 1}


def test_one_question_of_what_is_read_and_written() -> None:
    """And none of which of two elements is named first: 16 of them, read and written, are 136 pairs."""
    first = affine.add(of("mul", of("floordiv", I, H), affine.mul(affine.integer(2), H)), of("mod", I, H))
    loop = For(I, affine.ZERO, affine.integer(8), affine.ONE, (Store(ARRAY, (first,), Const(0.0, FLOAT64)),))
    ahead = Assign(H, of("maximum", P, affine.ONE))
    signs = Signs(Function("f", (P, S, N), (ahead, loop), ()))
    apart = Apart((Bounded.of(loop, {}),), {}, signs, {})
    places = [(first,), (affine.add(first, H),)]
    accesses = [Access(ARRAY, at, writes) for at in places for writes in (False, True)]
    assert all(apart.never_meet(a, b) for a in accesses for b in accesses)
    asked: list[Access] = []
    apart.are_apart = lambda a, b: not asked.append(a)  # type: ignore[method-assign, func-returns-value]
    assert all(apart.never_meet(a, b) for a in accesses for b in accesses) and not asked
