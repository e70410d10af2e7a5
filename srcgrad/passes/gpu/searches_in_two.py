"""A search for the best element, on a GPU, looks for the best value first, and then for the first that has it.

    for i in range(n):                  top = best
        if x[i] > best:                 for i in range(n): top = maximum(top, x[i] if x[i] > best else best)
            best = x[i]         →       at = n
            k = i                       for i in range(n): at = minimum(at, i if x[i] == top else n)
                                        if top > best: best = x[at]; k = at

Both are what all threads can do together; the loop was one thread's.  With >= it is the last that has it.  In nests
`at` counts all iterations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...analysis.grids import is_parallel
from ...analysis.searches import EXTREME, KEEP_LAST, is_better, is_nan, reads_of
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Expr, Var, both, compare, either, select
from ...ir.names import Names
from ...ir.nodes import Assign, Block, Comment, For, Function, If, Stmt
from ...ir.walk import blocks, loads, substitute, variables, with_blocks


def searches_in_two(function: Function) -> Function:
    read = reads_of(function)

    def block(stmts: Block) -> Block:
        out: list[Stmt] = []
        for stmt in stmts:
            found = search_in(stmt, read)
            if found is not None:
                out += found.in_two(function.info.names)
                continue
            if blocks(stmt) and not is_parallel(stmt):
                stmt = with_blocks(stmt, tuple(map(block, blocks(stmt))))
            out.append(stmt)
        return tuple(out)

    return replace(function, body=block(function.body))


@dataclass(frozen=True)
class _Search:
    """A nest over numbers that keeps the best of them, and `where` it was: numbers made of the indices."""

    loops: tuple[For, ...]
    best: Assign
    where: tuple[Assign, ...]
    better: str
    sees_nan: bool  # it is better than any number, and the first one is kept

    @property
    def keeps_last(self) -> bool:
        return self.better in KEEP_LAST

    @property
    def asked(self) -> Expr:
        return is_better(self.better, self.best.value, self.best.var, self.sees_nan)

    def in_two(self, names: Names) -> Block:
        best, value = self.best.var, self.best.value
        top, at = Var(names.fresh("top"), best.dtype), Var(names.fresh("at"), INT64)
        counted, count, here = self.counted(at)
        is_top: Expr = Call("eq", (value, top), BOOL)
        if self.sees_nan:
            is_top = either(is_top, both(is_nan(value), is_nan(top)))
        taken = value if self.sees_nan else select(self.asked, value, best)
        again = {loop.index: Var(names.fresh(loop.index.name), INT64) for loop in self.loops}
        greatest = Assign(top, Call(EXTREME[self.better], (top, taken), best.dtype))
        nowhere: Expr = affine.integer(-1) if self.keeps_last else count
        which = substitute(select(is_top, counted, nowhere), again)
        place = Assign(at, Call("maximum" if self.keeps_last else "minimum", (at, which), INT64))
        is_found = compare("ge", at, 0) if self.keeps_last else is_better(self.better, top, best, self.sees_nan)
        kept = tuple(Assign(s.var, substitute(s.value, here), span=s.span) for s in (*self.where, self.best))
        return (
            Assign(top, best),
            self.around(greatest, {}),
            Assign(at, nowhere),
            self.around(place, again),
            If(is_found, kept, span=self.loops[0].span),
        )

    def counted(self, at: Var) -> tuple[Expr, Expr, dict[Var, Expr]]:
        """The number of an iteration, how many there are, and the indices of the one with the number `at`."""
        number: Expr = affine.ZERO
        count: Expr = affine.ONE
        here: dict[Var, Expr] = {}
        rest: Expr = at
        for loop in reversed(self.loops):
            trips = affine.maximum(affine.sub(loop.stop, loop.start), affine.ZERO)
            outermost = loop is self.loops[0]
            here[loop.index] = affine.add(loop.start, rest if outermost else Call("mod", (rest, trips), INT64))
            number = affine.add(number, affine.mul(count, affine.sub(loop.index, loop.start)))
            count = affine.mul(count, trips)
            rest = Call("floordiv", (rest, trips), INT64)
        return number, count, here

    def around(self, stmt: Stmt, names: Mapping[Var, Var]) -> Stmt:
        for loop in reversed(self.loops):
            stmt = replace(loop, index=names.get(loop.index, loop.index), body=(stmt,))
        return stmt


def search_in(stmt: Stmt, read: Counter[Var]) -> _Search | None:
    """The search that a loop is, if it is one; `read`: how often variables are."""
    loops: list[For] = []
    body: Block = (stmt,)
    while len(body) == 1 and isinstance(body[0], For) and body[0].ordered and affine.same(body[0].step, affine.ONE):
        loops.append(body[0])
        body = tuple(s for s in body[0].body if not isinstance(s, Comment))
    asked, kept = _taken(body, read)
    indices = {loop.index for loop in loops}
    bounds = [bound for loop in loops for bound in (loop.start, loop.stop)]
    changed = {s.var for s in kept}
    if asked is None or not indices or len(changed) < len(kept) or changed & indices:
        return None
    if any(loads(bound) or variables(bound) & (indices | changed) for bound in bounds):
        return None
    if any(variables(s.value) & changed or s.var.dtype != s.value.dtype for s in kept):
        return None
    for best in kept:
        where = tuple(s for s in kept if s is not best)
        for better in EXTREME:
            for sees_nan in (False,) if better in KEEP_LAST else (False, True):
                found = _Search(tuple(loops), best, where, better, sees_nan)
                if asked == found.asked and not any(loads(s.value) for s in where):
                    return found
    return None


def _taken(body: Block, read: Counter[Var]) -> tuple[Expr | None, tuple[Assign, ...]]:
    """What an iteration asks, once or again and again, and what it keeps then."""
    asked: Expr | None = None
    chosen: Expr | None = None
    kept: list[Assign] = []
    for k, stmt in enumerate(body):
        match stmt:
            case Assign(var=var, value=value) if k == 0 and len(body) > 1:
                asked, chosen = value, var
                if read[var] != len(body) - 1:
                    return None, ()
            case If(condition=condition, then=then, orelse=()) if condition == chosen or (k == 0 and len(body) == 1):
                asked = asked or condition
                if not all(isinstance(s, Assign) for s in then):
                    return None, ()
                kept += then  # type: ignore[arg-type]
            case _:
                return None, ()
    return asked, tuple(kept)


__all__ = ["search_in", "searches_in_two"]
