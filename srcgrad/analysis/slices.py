"""What a nest of loops computes for one of its additions, as a nest by itself, of which nothing else is in the way.

for i in range(n):                          for i in range(n):
    g = v[i] / 9.0                              for a in range(3):
    for a in range(3):             →                g = v[i] / 9.0
        w_b[a] += g * x[i + a]                      x_b[i + a] += g * w[a]
        x_b[i + a] += g * w[a]

What is computed by a loop of its own ahead of that, or is dear, is kept by an iteration of the loops around both, which
are the `head`.  Nothing that a slice reads may be written in the nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeGuard

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Expr, Load, Span, Var, all_of, negated
from ..ir.names import Names
from ..ir.nodes import AddTo, Alloc, Assign, Block, Comment, For, If, Raise, Stmt, Store
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    substituted,
    variables,
    with_blocks,
)
from .additions import DEAREST, cost_of
from .lives import is_set


@dataclass(frozen=True)
class Step:
    """On the way to a statement: its place in a block, and whose block that is (of an `If`: which one)."""

    block: Block
    position: int
    owner: Stmt | None
    branch: int = 0

    @property
    def ahead(self) -> Block:
        return self.block[: self.position]


Way = tuple[Step, ...]
LARGEST_DIVISOR = 8  # of what is said by a quotient and what is left


@dataclass(frozen=True)
class Kept:
    """A number that an iteration of the head has ahead of a statement, and the element that it is kept in."""

    at: Step
    var: Var
    place: Load


@dataclass(frozen=True)
class Slice:
    """The loops around additions, and what an iteration computes for them.

    `asked`: what has to hold for there to be such an addition at all; else the nest raises, or has none.
    """

    loops: tuple[For, ...]
    body: Block
    kept: tuple[Kept, ...]
    asked: tuple[Expr, ...]


def ways_to_additions(block: Block, way: Way = (), owner: Stmt | None = None, branch: int = 0) -> Iterator[Way]:
    for position, stmt in enumerate(block):
        here = (*way, Step(block, position, owner, branch))
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
            yield here
        for number, inner in enumerate(blocks(stmt)):
            yield from ways_to_additions(inner, here, stmt, number)


def addition_of(way: Way) -> AddTo:
    stmt = way[-1].block[way[-1].position]
    assert isinstance(stmt, AddTo) and isinstance(stmt.target, Load)
    return stmt


def stores(kept: Iterable[Kept], span: Span | None) -> tuple[Block, dict[int, Block]]:
    """The memory for numbers that iterations keep, and what stores them ahead of which statements."""
    allocated: list[Stmt] = []
    stored: dict[int, Block] = {}
    for one in kept:
        array, at = one.place.array, id(one.at.block[one.at.position])
        allocated.append(Alloc(array, array.dims, span=span))
        stored[at] = (*stored.get(at, ()), Store(array, one.place.index, one.var, checked=False, natural=True))
    return tuple(allocated), stored


def with_changes(block: Block, instead: Mapping[int, Block], ahead: Mapping[int, Block]) -> Block:
    """The block with others in the place of statements, or ahead of them, by their ids; what is empty then goes."""
    out: list[Stmt] = []
    for stmt in block:
        out += ahead.get(id(stmt), ())
        inner = blocks(stmt)
        left = tuple(with_changes(each, instead, ahead) for each in inner)
        if id(stmt) in instead:
            out += instead[id(stmt)]
        elif left == inner:
            out.append(stmt)
        elif any(left):
            out.append(with_blocks(stmt, left))
    return tuple(out)


def head_of(nest: For) -> tuple[For, ...]:
    """The independent loops right within each other, from the outermost one on, but for one with no loop in it."""
    out = [nest]
    while True:
        inside = [stmt for stmt in out[-1].body if not isinstance(stmt, Comment)]
        if len(inside) != 1 or not isinstance(inside[0], For) or inside[0].ordered:
            return tuple(out)
        if not any(isinstance(stmt, For) for stmt in statements(inside[0].body)):
            return tuple(out)
        out.append(inside[0])


def slice_of(
    ways: Sequence[Way],
    head: Sequence[For],
    may_be_read: Callable[[Load], bool],
    place_for: Callable[[Var], Load],
    names: Names,
    dearest: int = DEAREST,
) -> Slice | None:
    """Of additions in one block.  None where they take what another iteration has left, or memory that changes."""
    last = ways[-1][-1]
    body: Block = ()
    wanted: set[Var] = set()
    loops: list[For] = []
    kept: list[Kept] = []
    asked: dict[Expr, None] = {}
    changing = numbers_set((head[0],))
    for depth, step in reversed(list(enumerate(ways[-1]))):
        around = [each.owner for each in ways[-1][: depth + 1] if isinstance(each.owner, For)]
        if step is not last and len(around) == len(head):
            dear = _dear(wanted, step.ahead, may_be_read, dearest)
            if not all(is_set(var, step.ahead) for var in dear):
                return None
            own = {var: Var(names.fresh(var.name), var.dtype) for var in dear}
            here = [Kept(step, var, place_for(var)) for var in dear]
            body = (*(Assign(own[one.var], one.place) for one in here), *substituted(body, own))
            wanted -= own.keys()
            kept += here
        added = [way[-1].position for way in ways] if step is last else []
        found = _backwards(step.block[: step.position + (step is last)], wanted, added)
        if found is None:
            return None
        more, wanted = found
        for stmt in reversed(more):
            if not is_guard(stmt):
                body = (stmt, *body)
            elif not loads(stmt.condition) and not variables(stmt.condition) & changing:
                asked[negated(stmt.condition)] = None
            else:
                body = (If(negated(stmt.condition), body, span=stmt.span),)
        match step.owner:
            case For(step=by) if not affine.same(by, affine.ONE):
                return None
            case For() as loop:
                wanted = (wanted - {loop.index}) | variables(loop.start) | variables(loop.stop)
                loop, body, under = _of_steady_length(loop, body, names)
                body = body if under is None else (If(under, body, span=loop.span),)
                if wanted & numbers_set(loop.body):  # what another iteration has left
                    return None
                loops.insert(0, loop)
            case If(condition=condition, span=span):
                body = (If(condition, body, span=span) if step.branch == 0 else If(condition, (), body, span=span),)
                wanted |= variables(condition)
    read = (load for stmt in statements(body) for expr in expressions(stmt) for load in loads(expr))
    if not all(map(may_be_read, read)):
        return None
    for loop in loops:
        loops, body = _without_quotients(loop, loops, body, names)
    return Slice(tuple(loops), body, tuple(kept), tuple(asked))


def _without_quotients(loop: For, loops: list[For], body: Block, names: Names) -> tuple[list[For], Block]:
    """Of elements k // 2 + a the loop over k is one over p, and one over what is left: k is 2 * p + left."""
    targets = [s.target for s in statements(body) if isinstance(s, AddTo) and isinstance(s.target, Load)]
    nodes = [node for target in targets for part in target.index for node in subexpressions(part)]
    by = {
        node.args[1]
        for node in nodes
        if isinstance(node, Call) and node.op == "floordiv" and node.args[0] == loop.index
    }
    if len(by) != 1 or loop.start != affine.ZERO or any(variables(e.stop) & {loop.index} for e in loops):
        return loops, body
    (divisor,) = by
    if not isinstance(divisor, Const) or not 1 < divisor.value <= LARGEST_DIVISOR:
        return loops, body
    whole, left = Var(names.fresh(f"{loop.index.name}_group"), INT64), Var(names.fresh("left"), INT64)
    number = affine.add(affine.mul(divisor, whole), left)

    def said(node: Expr) -> Expr:
        match node:
            case Call(op="floordiv", args=(x, y)) if x == loop.index and y == divisor:
                return whole
        return node

    body = rewrite_block(body, lambda stmt: (map_expressions(stmt, lambda expr: rewrite(expr, said)),))
    body = (If(Call("lt", (number, loop.stop), BOOL), substituted(body, {loop.index: number}), span=loop.span),)
    end = affine.floordiv(affine.add(loop.stop, affine.integer(divisor.value - 1)), divisor.value)
    both = [replace(loop, index=whole, stop=end), replace(loop, index=left, stop=divisor)]
    return [each for one in loops for each in (both if one is loop else [one])], body


def is_guard(stmt: Stmt) -> TypeGuard[If]:
    """Does it raise, or nothing?  What comes behind it runs where it does not."""
    return isinstance(stmt, If) and not stmt.orelse and all(isinstance(s, (Comment, Raise)) for s in stmt.then)


def _of_steady_length(loop: For, body: Block, names: Names) -> tuple[For, Block, Expr | None]:
    """range(max(i - 2, 0), min(i + 3, n)) is i - 2 + turn, for turn in range(5), as far as 0 <= i - 2 + turn < n.

    Also, range(min(2 * i + 3, n) - 2 * i) is range(3), as far as 2 * i + k < n.
    """
    if isinstance(affine.sub(loop.stop, loop.start), Const):
        return loop, body, None
    for start, least in _ends(loop.start, ("maximum", "max")):
        for stop, most in _ends(loop.stop, ("minimum", "min")):
            if not isinstance(affine.sub(stop, start), Const):
                continue
            index: Expr = loop.index
            if not isinstance(start, Const):
                own, turn = loop.index, Var(names.fresh("turn"), INT64)
                index = affine.add(start, turn)
                loop = replace(loop, index=turn, start=affine.ZERO, stop=affine.sub(stop, start))
                body = substituted(body, {own: index})
            else:
                loop = replace(loop, start=start, stop=stop)
            low = None if least is None else Call("le", (least, index), BOOL)
            high = None if most is None else Call("lt", (index, most), BOOL)
            return loop, body, all_of((low, high))
    return loop, body, None


def _ends(bound: Expr, ops: tuple[str, str]) -> Iterator[tuple[Expr, Expr | None]]:
    """The two of which a bound is the greater, or the less one, each with the other."""
    yield bound, None
    for term, count in affine.affine(bound)[0]:
        if isinstance(term, Call) and term.op in ops and count == 1:
            x, y = (affine.add(affine.sub(bound, term), each) for each in term.args)
            yield x, y
            yield y, x


def _backwards(ahead: Block, wanted: Set[Var], added: Sequence[int] = ()) -> tuple[Block, set[Var]] | None:
    """The statements that compute these numbers, and the numbers that those need; None where it takes others than sums.

    `added`: where there are statements that belong to it anyway.
    """
    wanted = set(wanted)
    out: list[Stmt] = []
    for position, stmt in reversed(list(enumerate(ahead))):
        if position in added:
            assert isinstance(stmt, AddTo) and isinstance(stmt.target, Load)
            wanted = wanted.union(variables(stmt.value), *map(variables, stmt.target.index))
        elif is_guard(stmt):
            wanted |= variables(stmt.condition)
        elif not wanted & numbers_set((stmt,)):
            continue
        elif isinstance(stmt, Assign):
            wanted = (wanted - {stmt.var}) | variables(stmt.value)
        elif isinstance(stmt, AddTo):
            wanted |= variables(stmt.value)
        else:
            return None
        out.append(stmt)
    return tuple(reversed(out)), wanted


def _dear(wanted: Set[Var], ahead: Block, may_be_read: Callable[[Load], bool], dearest: int) -> list[Var]:
    """Which of the numbers are not to be computed again."""
    out = []
    for var in sorted(wanted & numbers_set(ahead), key=lambda var: var.name):
        found = _backwards(ahead, {var})
        needed = () if found is None else found[0]
        read = (load for stmt in needed for expr in expressions(stmt) for load in loads(expr))
        if found is None or cost_of(needed, var) > dearest or not all(map(may_be_read, read)):
            out.append(var)
    return out


__all__ = [
    "Kept", "Slice", "Step", "Way",
    "addition_of", "head_of", "is_guard", "slice_of", "stores", "ways_to_additions", "with_changes",
]  # fmt: skip
