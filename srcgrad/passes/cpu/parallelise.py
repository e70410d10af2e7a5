"""Independent loops are split into pieces, for several threads (only where the user asks for it).

    e = empty(k)                           in pieces low, high of range(n):        (adding to s, w_b of their own)
    for i in range(n):                         e = empty(k)
        for j in range(k): e[j] = …     →      for i in range(low, high):
        s += …; x_b[i] = …                         for j in range(k): e[j] = …
        w_b[j] += …                                s += …; x_b[i] = …
                                                   w_b[j] += …

`sharing` proves what iterations share.  Of scratch, and of a stack that an iteration leaves as it was, every piece has
its own.  Sums into an array are made in a copy per piece, or, where neighbours alone meet (a stencil), in one array by
pieces that are not neighbours.  The outermost loop that can be split is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from ...analysis.effects import Effects, effects
from ...analysis.sharing import Shared, Sharing
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Load, Var, both, integer
from ...ir.info import elementwise
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    CopyTo,
    For,
    Function,
    If,
    Library,
    NewStack,
    Parallel,
    Stmt,
    Store,
    While,
)
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite_block,
    subexpressions,
    substitute,
    variables,
    with_blocks,
)
from ...rules.costs import additions
from ...runtime.threads import WORTH
from .step_in_strips import Strips
from .sweeps_in_strips import NOTHING_OF_ITS_OWN, Own, Sweeps

UNKNOWN = Const(8, INT64)  # iterations of a loop whose length is not known ahead
PER_STRIP = 1 << 17  # additions of a strip of rows: of 32,768 elements, four each


def parallelise(function: Function) -> Function:
    splitter = _Splitter(function)
    body = splitter.block(splitter.sweeps.block(function.body, ()), ())
    return replace(function, body=splitter.without_moved(body))


class _Splitter:
    def __init__(self, function: Function) -> None:
        self.name, self.names = function.name, function.info.names
        self.sharing = Sharing(function, by_rows=True)
        self.strips, self.sweeps = Strips(function), Sweeps(function)
        self.moved: set[str] = set()
        self.short: list[Expr] = []  # of the loops that are split within the one at hand
        self.known_ends: dict[Var, tuple[Var, Var]] = {}

    def block(self, block: Block, later: tuple[Block, ...], around: tuple[For | While, ...] = ()) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            rest = (block[position + 1 :], *later)
            loop = self.as_loop(stmt, around)
            split = None if loop is None or loop.ordered else self.split(loop, rest, around)
            if isinstance(stmt, For) and stmt.adds_to and not around:
                split = self.split_rows(stmt, stmt.adds_to, rest)
            if isinstance(stmt, For) and stmt.index in self.sweeps.found:
                split = self.split_strips(stmt, self.sweeps.found[stmt.index])
            strips = self.strips.by_strips(stmt, rest) if isinstance(stmt, For) and not split and not around else None
            if strips is not None:
                *ahead, over_strips = strips
                out += ahead
                split = self.split_strips(over_strips)
            if split is not None:
                stmt = split
            elif isinstance(stmt, (For, While)):
                stmt = self.loop(stmt, rest, around)
            elif blocks(stmt):
                stmt = with_blocks(stmt, tuple(self.block(b, rest, around) for b in blocks(stmt)))
            out.append(stmt)
        return tuple(out)

    def as_loop(self, stmt: Stmt, around: tuple[For | While, ...]) -> For | None:
        """The statement as a loop that might be split: a copy is one."""
        if isinstance(stmt, CopyTo) and stmt.target.ndim and stmt.target.dtype == stmt.source.dtype:
            source, lengths, roots = stmt.source, self.strips.lengths, self.sharing.roots
            dims, same = lengths.of(stmt.target), lengths.of(source)
            is_apart = roots.get(source.name, source.name) != roots.get(stmt.target.name, stmt.target.name)
            if is_apart and dims == same and all(map(lengths.stays, dims)):
                names = frozenset(loop.index.name for loop in around if isinstance(loop, For))
                value = lambda at: Load(source, at, checked=False)
                stmt = elementwise(stmt.target, dims, value, self.names, names, stmt.span)
        return stmt if isinstance(stmt, For) else None

    def loop(self, stmt: For | While, later: tuple[Block, ...], around: tuple[For | While, ...]) -> Stmt:
        """Loops that run many times may be too short to be worth as much as a call: then all is as it was."""
        if not around:
            self.short = []
        threaded = with_blocks(stmt, (self.block(stmt.body, ((stmt,), *later), (*around, stmt)),))
        if around or threaded == stmt:
            return threaded
        return If(reduce(both, self.short), (stmt,), (threaded,), span=stmt.span)

    def is_short(self, length: Expr, around: tuple[For | While, ...]) -> Expr | None:
        """The condition under which a loop is not worth threads, as far as that is known ahead of the loops around."""
        middles = {loop.index: _middle(loop) for loop in around if isinstance(loop, For)}
        for _ in middles:
            length = affine.normal(substitute(length, middles))
        unknown = variables(length) & effects((around[0],)).writes
        dims = {node.array for node in subexpressions(length) if isinstance(node, Dim)}
        if unknown or loads(length) or dims - self.sharing.params:
            return None
        return Call("lt", (length, integer(int(WORTH))), BOOL)

    def split(self, loop: For, later: tuple[Block, ...], around: tuple[For | While, ...]) -> Parallel | None:
        if not isinstance(loop.step, Const):
            return None
        work, uneven = _work(loop, effects(loop.body), self.sharing.params)
        shared = None if _is_small(loop, work) else self.sharing.of(loop, later)
        if shared is None:
            return None
        if around:
            short = self.is_short(affine.mul(_length(loop), work), around)
            if short is None:
                return None
            self.short += [short] if short not in self.short else []
        else:
            self.moved |= {made.array.name for made in shared.scratch} | {made.stack.name for made in shared.stacks}
        return self.in_pieces(loop, shared, work, uneven)

    def split_strips(self, loop: Stmt, own: Own = NOTHING_OF_ITS_OWN) -> Parallel:
        """Of strips it is known how they were made: no element is in two of them."""
        assert isinstance(loop, For)
        inside, (end, *_) = effects(loop.body), loop.body
        sums = tuple(sorted(inside.ours, key=lambda var: var.name))
        assert isinstance(end, Assign)
        whole = {end.var: affine.add(loop.index, loop.step)}
        full = rewrite_block(loop.body, lambda stmt: (map_expressions(stmt, lambda expr: substitute(expr, whole)),))
        work, uneven = _work(replace(loop, body=full), inside, self.sharing.params)
        self.moved |= {made.array.name for made in own.scratch}
        shared = Shared(sums, own.partial, frozenset(), affine.ZERO, own.scratch, ())
        return self.in_pieces(loop, shared, work, uneven)

    def split_rows(self, loop: For, total: Array, later: tuple[Block, ...]) -> Parallel | None:
        """Of strips of rows it is known that they are apart, but for numbers."""
        inside = effects(loop.body)
        if not self.sharing.scalars_are_apart(loop, inside, later):
            return None
        sums = tuple(sorted(inside.sums, key=lambda var: var.name))
        shared = Shared(sums, (total,), frozenset(), affine.ZERO, (), ())
        return self.in_pieces(loop, shared, integer(PER_STRIP), False)

    def in_pieces(self, loop: For, shared: Shared, work: Expr, uneven: bool) -> Parallel:
        low, high = self.ends(loop.index)
        return Parallel(
            name=self.names.fresh(f"{self.name}_{loop.index.name}"),
            low=low,
            high=high,
            start=loop.start,
            stop=loop.stop,
            step=loop.step,
            body=(*shared.scratch, *shared.stacks, replace(loop, start=low, stop=high)),
            sums=shared.sums,
            partial=shared.partial,
            reach=shared.reach,
            rows=tuple((row.starts, row.ahead) for row in shared.rows),
            work=work,
            uneven=uneven,
            span=loop.span,
        )

    def ends(self, index: Var) -> tuple[Var, Var]:
        if index not in self.known_ends:
            low, high = (Var(self.names.fresh(f"{index.name}_{end}"), INT64) for end in ("from", "to"))
            self.known_ends[index] = low, high
        return self.known_ends[index]

    def without_moved(self, block: Block) -> Block:
        """Scratch and stacks that pieces have of their own are made there alone."""
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Alloc) and stmt.array.name in self.moved:
                continue
            if isinstance(stmt, NewStack) and stmt.stack.name in self.moved:
                continue
            inner = () if isinstance(stmt, Parallel) else blocks(stmt)
            out.append(with_blocks(stmt, tuple(map(self.without_moved, inner))) if inner else stmt)
        return tuple(out)


# ---------------------------------------------------------------------------------------------------------- work


def _work(loop: For, inside: Effects, known: set[str]) -> tuple[Expr, bool]:
    """What an iteration costs, as far as that is known ahead of the loop, and whether it is the same for all."""
    estimate = _Estimate(loop, inside, known)
    return estimate.block(loop.body), estimate.uneven


class _Estimate:
    def __init__(self, loop: For, inside: Effects, known: set[str]) -> None:
        self.loop, self.inside, self.known = loop, inside, known
        self.middles: dict[Var, Expr] = {}  # of the ranges of inner indices
        self.uneven = False

    def block(self, block: Block) -> Expr:
        total: Expr = affine.ZERO
        for stmt in block:
            total = affine.add(total, self.statement(stmt))
        return total

    def statement(self, stmt: Stmt) -> Expr:
        match stmt:
            case For():
                self.middles[stmt.index] = _middle(stmt)
                return affine.mul(self.trips(stmt), affine.add(self.block(stmt.body), affine.ONE))
            case While(condition=condition, body=body):
                return affine.mul(UNKNOWN, affine.add(self.block(body), integer(additions(condition))))
            case If(condition=condition, then=then, orelse=orelse):
                sides = affine.add(self.block(then), self.block(orelse))
                return affine.add(sides, integer(additions(condition)))
            case Alloc() | CopyTo() | Library():
                return UNKNOWN
        own = sum(map(additions, expressions(stmt)))
        return integer(own + isinstance(stmt, (AddTo, Store)))

    def trips(self, inner: For) -> Expr:
        if not isinstance(inner.step, Const):
            return UNKNOWN
        length = _length(inner)
        for _ in self.middles:
            length = affine.normal(substitute(length, self.middles))
        self.uneven |= self.loop.index in variables(length)
        length = affine.normal(substitute(length, {self.loop.index: _middle(self.loop)}))
        dims = {node.array for node in subexpressions(length) if isinstance(node, Dim)}
        if loads(length) or variables(length) & (self.inside.writes | {self.loop.index}) or dims - self.known:
            return UNKNOWN
        return length


def _length(loop: For) -> Expr:
    """The number of iterations, or thereabouts."""
    step = int(loop.step.value)  # type: ignore[attr-defined]
    length = affine.sub(loop.stop, loop.start) if step > 0 else affine.sub(loop.start, loop.stop)
    return length if abs(step) == 1 else affine.floordiv(length, abs(step))


def _middle(loop: For) -> Expr:
    return affine.floordiv(affine.add(loop.start, loop.stop), 2)


def _is_small(loop: For, work: Expr) -> bool:
    """Is it known ahead that threads would not pay?"""
    whole = affine.normal(affine.mul(_length(loop), work))
    return isinstance(whole, Const) and whole.value < WORTH


__all__ = ["parallelise"]
