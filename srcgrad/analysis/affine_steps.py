"""What the iterations of a loop make of numbers that they pass on, where that is affine in them: s → M s + b.

    for i in range(n):                 s is passed on; of each iteration:    b:  u = x[i]          M:  u = a * s
        u = a * s + x[i]         →                                               s = u + 1.0           s = u
        y[i] = sin(u)
        s = u + 1.0

Of several iterations b is what they make of zeros, and a column of M what they make of a one among zeros without the
terms that s is not in.  (That is the tangent of s, in the direction of what it was at first.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..ir.expressions import Call, Const, Expr, Var, compare, select
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, Comment, For, If, Stmt
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    statements,
    substituted,
    variables,
    with_blocks,
    with_fields,
    written_place,
)
from .effects import effects
from .lives import is_private

MOST = 4  # numbers that are passed on


class NotAffine(Exception):
    """What an iteration passes on is no affine function of what it was given."""


@dataclass(frozen=True)
class AffineSteps:
    """`carried`: the numbers passed on.  `needed`: the statements of the body that make them.

    `depends`: what is made of them on the way.
    """

    carried: tuple[Var, ...]
    needed: Block
    depends: frozenset[Var]

    def of(self, starts: Sequence[Start], names: Names) -> tuple[Block, list[Image]]:
        """An iteration for several starts at one time, and what is what in it.

        Raises
        ------
        NotAffine
        """
        return _Images(self, starts, names).made()


@dataclass(frozen=True)
class Start:
    """What carried numbers are at first (zero, but for these); `with_terms`: terms are added that they are not in."""

    values: Mapping[Var, Expr]
    with_terms: bool


@dataclass(frozen=True)
class Image:
    """What each carried number is called (those that stay zero have no name), and what it is at first.

    `constant`: those that stay what they are at first.
    """

    called: Mapping[Var, Var]
    first: Mapping[Var, Expr]
    constant: frozenset[Var]


def affine_steps(loop: For, memory: Mapping[str, str], names: Names) -> AffineSteps | None:
    """How a loop passes on numbers; None where it passes on none, or where that is not affine.

    `memory`: which memory each array is a handle on.
    """
    inside = effects(loop.body)
    set_here = inside.writes - inside.indices
    carried = tuple(sorted((v for v in set_here - inside.sums if not is_private(v, loop.body)), key=lambda v: v.name))
    if not carried or len(carried) > MOST or any(v.dtype.kind not in "fi" for v in carried):
        return None
    needed = slice_of(loop.body, set(carried))
    if not all(isinstance(s, (AddTo, Assign, For, If)) for s in statements(needed)):
        return None
    if _reads_what_is_written(needed, loop.body, memory):
        return None
    needed = _told_apart(needed, set(carried), names)
    depends = _made_of(set(carried), needed)
    return AffineSteps(carried, needed, frozenset(depends))


def slice_of(body: Block, wanted: set[Var]) -> Block:
    """The statements of the body that the wanted numbers come from."""
    while True:
        kept = _kept(body, wanted)
        more = set().union(*(effects((s,)).reads for s in kept)) | wanted
        if more == wanted:
            return kept
        wanted = more


def _kept(body: Block, wanted: set[Var]) -> Block:
    out: list[Stmt] = []
    for stmt in body:
        if blocks(stmt):
            inner = tuple(_kept(block, wanted) for block in blocks(stmt))
            if any(inner):
                out.append(with_blocks(stmt, inner))
        elif not isinstance(stmt, Comment) and written_place(stmt) is None and effects((stmt,)).writes & wanted:
            out.append(stmt)
    return tuple(out)


def _reads_what_is_written(needed: Block, body: Block, memory: Mapping[str, str]) -> bool:
    """Does the slice read memory that an iteration may have written by then?"""
    group = lambda name: memory.get(name, name)
    made: set[str] = set()
    wanted = {s for s in statements(needed) if not blocks(s)}
    for stmt in body:
        inner = list(statements((stmt,)))
        here = {group(place.array.name) for s in inner if (place := written_place(s))}
        uses = {group(load.array.name) for s in inner if s in wanted for e in expressions(s) for load in loads(e)}
        uses |= {group(load.array.name) for s in inner if blocks(s) for e in expressions(s) for load in loads(e)}
        if uses & (made | (here if blocks(stmt) else set())):
            return True
        made |= here
    return False


def _told_apart(needed: Block, carried: set[Var], names: Names) -> Block:
    """A number that is set again is another one: one of them may depend on what is passed on, and the other not."""
    again = Counter(stmt.var for stmt in needed if isinstance(stmt, Assign))
    inside = set().union(*(effects((stmt,)).writes for stmt in needed if blocks(stmt)))
    now: dict[Var, Expr] = {}
    out: list[Stmt] = []
    for stmt in needed:
        (here,) = substituted((stmt,), now)
        if isinstance(stmt, Assign) and stmt.var not in carried | inside and again[stmt.var] > 1:
            now[stmt.var] = Var(names.fresh(stmt.var.name), stmt.var.dtype)
            here = with_fields(here, {"var": now[stmt.var]})
        out.append(here)
    return tuple(out)


def _made_of(found: set[Var], body: Block) -> set[Var]:
    """What is computed from these numbers, or chosen by them."""
    while True:
        more = set(found)
        for stmt in statements(body):
            if isinstance(stmt, Assign) and variables(stmt.value) & more:
                more.add(stmt.var)
            elif isinstance(stmt, AddTo) and variables(stmt.value) & more:
                more.add(stmt.target)  # type: ignore[arg-type]
        if more == found:
            return found
        found = more


class _Images:
    """Goes through the statements, each for all starts."""

    def __init__(self, steps: AffineSteps, starts: Sequence[Start], names: Names) -> None:
        self.steps, self.starts, self.names = steps, starts, names
        self.called: list[dict[Var, Var]] = [{} for _ in starts]
        set_here = [s for s in statements(steps.needed) if isinstance(s, (Assign, AddTo))]
        often = Counter(s.var if isinstance(s, Assign) else s.target for s in set_here)
        once = [s for s in set_here if isinstance(s, Assign) and often[s.var] == 1 and s.var not in steps.carried]
        self.values = {s.var: s.value for s in once}  # whatever the place
        self.reached = [  # what is not zero throughout
            steps.depends if start.with_terms else _made_of(set(start.values), steps.needed) for start in starts
        ]
        self.zero: list[set[Var]] = []  # what is zero at this place, whichever iteration it is
        self.same: list[dict[Var, Var]] = []  # numbers that are others, and those

    def made(self) -> tuple[Block, list[Image]]:
        carried = set(self.steps.carried)
        passed = [set(start.values) for start in self.starts]  # what may not be zero at the start of an iteration
        while True:
            self.zero = [set(self.steps.depends - found) for found in passed]
            self.same = [{} for _ in self.starts]
            body = self.block(self.steps.needed)
            body += tuple(stmt for which in range(len(self.starts)) for stmt in self.passed_on(which))
            left = [carried - zero for zero in self.zero]
            if all(new <= found for new, found in zip(left, passed, strict=True)):
                break
            passed = [new | found for new, found in zip(left, passed, strict=True)]
        set_here = effects(body).writes
        images: list[Image] = []
        for which, (start, found) in enumerate(zip(self.starts, passed, strict=True)):
            called = {v: self.name(v, which) for v in self.steps.carried if v in found}
            constant = frozenset(v for v, name in called.items() if name not in set_here)
            images.append(Image(called, {v: start.values.get(v, _zero(v)) for v in called}, constant))
        return body, images

    def passed_on(self, which: int) -> Block:
        """What is passed on, under its own name."""
        for var in self.same[which].keys() - set(self.steps.carried):
            del self.same[which][var]
        return self.written_down(which)

    def written_down(self, which: int) -> Block:
        """Numbers that are others, under their own names."""
        same, out = self.same[which], list[Stmt]()
        while same:
            free = next((var for var in same if self.name(var, which) not in same.values()), None)
            if free is None:  # numbers that change places
                var, other = next(iter(same.items()))
                same[var] = Var(self.names.fresh(var.name), var.dtype)
                out.append(Assign(same[var], other))
            else:
                out.append(Assign(self.name(free, which), same.pop(free)))
        return tuple(out)

    def name(self, var: Var, which: int) -> Var:
        called = self.called[which]
        if var not in called:
            called[var] = Var(self.names.fresh(var.name), var.dtype)
        return called[var]

    def block(self, block: Block) -> Block:
        return tuple(made for stmt in block for made in self.statement(stmt))

    def statement(self, stmt: Stmt) -> Block:
        if not isinstance(stmt, (Assign, AddTo)):
            return self.compound(stmt)
        var = stmt.var if isinstance(stmt, Assign) else stmt.target
        assert isinstance(var, Var)
        if var not in self.steps.depends:
            return (stmt,)
        out: list[Stmt] = []
        for which in range(len(self.starts)):
            out += self.changed(var, stmt, which)
        return tuple(out)

    def changed(self, var: Var, stmt: Assign | AddTo, which: int) -> Block:
        same, zero = self.same[which], self.zero[which]
        was_zero = var in zero
        name = self.called[which].get(var)
        other = self.image(stmt.value, which)
        if isinstance(stmt, Assign) and isinstance(other, Var) and other in self.called[which].values():
            zero.discard(var)  # another number, by its name
            same.pop(var, None)
            same |= {} if other == name else {var: other}
            return ()
        ahead = self.written_down(which) if name in same.values() else ()
        value = self.image(stmt.value, which)
        if value is None and (was_zero or isinstance(stmt, AddTo)):
            return ahead
        name, start = self.name(var, which), same.pop(var, None)
        if value is None:
            zero.add(var)
            return (*ahead, Assign(name, _zero(var)))
        zero.discard(var)
        if was_zero or isinstance(stmt, Assign):
            return (*ahead, Assign(name, value))
        return (*ahead, AddTo(name, value, stmt.reorder) if start is None else Assign(name, start + value))

    def all_written_down(self) -> list[Stmt]:
        return [stmt for which in range(len(self.starts)) for stmt in self.written_down(which)]

    def compound(self, stmt: Stmt) -> Block:
        """A branch or a loop: what is set in it is taken for a number that is not zero, in it and behind it."""
        if any(variables(e) & self.steps.depends for e in expressions(stmt)):
            raise NotAffine  # which way an iteration goes depends on what is passed on
        set_here = set().union(*(effects(block).writes for block in blocks(stmt))) & self.steps.depends
        ahead = self.all_written_down()
        for which, zero in enumerate(self.zero):
            newly = sorted(set_here & zero & self.reached[which], key=lambda v: v.name)
            ahead += [Assign(self.name(v, which), _zero(v)) for v in newly]
        before = [zero - (set_here & reached) for zero, reached in zip(self.zero, self.reached, strict=True)]
        inner: list[Block] = []
        for block in blocks(stmt):
            self.zero = [set(zero) for zero in before]
            inner.append((*self.block(block), *self.all_written_down()))
        self.zero = before
        return (*ahead, with_blocks(stmt, tuple(inner)))

    def image(self, expr: Expr, which: int) -> Expr | None:
        """What becomes of the expression; None: zero."""
        is_free = lambda e: not variables(e) & self.steps.depends
        if is_free(expr):
            return expr if self.starts[which].with_terms else None
        match expr:
            case Var():
                return None if expr in self.zero[which] else self.same[which].get(expr) or self.name(expr, which)
            case Call(op="add", args=(x, y)):
                one, other = self.image(x, which), self.image(y, which)
                return other if one is None else one if other is None else one + other
            case Call(op="sub", args=(x, y)):
                one, other = self.image(x, which), self.image(y, which)
                return one if other is None else -other if one is None else one - other
            case Call(op="neg", args=(x,)):
                one = self.image(x, which)
                return None if one is None else -one
            case Call(op="mul", args=(x, y)) if is_free(x):
                other = self.image(y, which)
                return None if other is None else x * other
            case Call(op="mul" | "div", args=(x, y)) if is_free(y):
                one = self.image(x, which)
                return None if one is None else Call(expr.op, (one, y), expr.dtype)
            case Call(op="select", args=(Call(op="ne", args=(g, Const(value=0))), x, Const(value=0))) if (
                self.is_multiple(x, g)
            ):  # of which 0 * inf shall be 0: where nothing is infinite it is the multiple itself
                one, other = self.image(g, which), self.image(x, which)
                return None if one is None or other is None else select(compare("ne", one, 0.0), other, 0.0)
            case Call(op="select", args=(condition, x, y)) if is_free(condition):
                parts = self.image(x, which), self.image(y, which)
                none = Const(expr.dtype.type(0).item(), expr.dtype)
                return None if parts == (None, None) else select(condition, *(none if e is None else e for e in parts))
        raise NotAffine

    def is_multiple(self, x: Expr, g: Expr) -> bool:
        """Is x a multiple of g, by numbers that do not depend on what is passed on?"""
        is_free = lambda e: not variables(e) & self.steps.depends
        if not variables(g) & self.steps.depends <= self.values.keys():
            return False
        match x:
            case _ if x == g:
                return True
            case Var():
                return x in self.values and self.is_multiple(self.values[x], g)
            case Call(op="neg", args=(y,)):
                return self.is_multiple(y, g)
            case Call(op="add" | "sub", args=(y, z)):
                return self.is_multiple(y, g) and self.is_multiple(z, g)
            case Call(op="mul", args=(y, z)) if is_free(y):
                return self.is_multiple(z, g)
            case Call(op="mul" | "div", args=(y, z)) if is_free(z):
                return self.is_multiple(y, g)
        return False


def _zero(var: Var) -> Const:
    return Const(var.dtype.type(0).item(), var.dtype)


__all__ = ["AffineSteps", "Image", "NotAffine", "Start", "affine_steps", "slice_of"]
