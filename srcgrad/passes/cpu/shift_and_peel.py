"""Loops that follow one another go through long ranges together, each some iterations behind those that it waits for.

    for i in range(1, n):                       parts = 2 if n - 1 >= 256 else 1
        k[i] = x[i] * y[i - 1]                  low, high = 0, (2 if n - 1 >= 256 else n + 1)
    for i in range(1, n):                       for part in range(parts):
        q[i] = x[i] * k[i - 1] + q[i]     →         for i in range(max(1, low), min(n, high)): ...
                                                    for i in range(max(1, low), min(n, high)): ...
                                                    if part + 1 < parts:
                                                        k_before = k[1]
                                                        for i in range(2, n):
                                                            k_now = x[i] * y[i - 1]
                                                            q[i] = x[i] * k_before + q[i]
                                                            k_before = k_now
                                                        k[n - 1] = k_before
                                                        low, high = n, n + 1

A loop per line of the user's reads from the second cache what the line before has left there, element by element.  What
is handed from loop to loop here stays in registers: LLVM shifts a vector of what the iteration before has computed by
one.  Arrays that nobody else reads are written at the ends alone.  The first and the last few iterations run as they
were, one loop after another, as does all of a short range.  Every element is computed as it was, to the last bit,
but that several additions of ours to one come together first.
(Shift and peel: N. Manjikian and T. S. Abdelrahman, Fusion of loops for parallelism and locality, IEEE Transactions on
Parallel and Distributed Systems 8 (1997).)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby

from ...analysis.effects import effects, uses
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Dim, Expr, Load, Var, select
from ...ir.nodes import AddTo, Alloc, Assign, Block, Comment, For, Function, If, Parallel, Stmt, Store, While, leaves
from ...ir.walk import blocks, expressions, loads, statements, subexpressions, variables, with_blocks
from .chains import Chain, Chains, gap
from .in_one_pass import Middle

LONG = 256  # iterations: of less, the ends would be the most
ENDS = 64  # iterations that are made loop after loop, at most
LONGER = 4096  # … so that arrays do not fit in the first cache, nor half of the second
NEVER = 0  # to `parts_of`


def shift_and_peel(function: Function) -> Function:
    if sum(isinstance(stmt, For) for stmt in statements(function.body)) < 2:
        return function
    return replace(function, body=_Peeler(function).block(function.body))


class _Peeler:
    def __init__(self, function: Function) -> None:
        self.names, self.chains = function.info.names, Chains(function)
        made = Counter(stmt.array.name for stmt in statements(function.body) if isinstance(stmt, Alloc))
        self.made = {name for name, count in made.items() if count == 1}
        self.made -= {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
        self.used = uses(function.body)
        self.params = {param.name for param in function.params}
        counters = {stmt.trip for stmt in statements(function.body) if isinstance(stmt, While)}
        self.fixed = self.chains.signs.fixed - effects(function.body).indices - counters

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        position = 0
        for begins, chain in self.chains.of(block):
            end = begins + len(chain.stmts)
            together = self.together(chain, _only_written(block[position:begins]))
            out += map(self.inside, block[position:begins])
            out += block[begins:end] if together is None else together
            position = end
        return (*out, *map(self.inside, block[position:]))

    def inside(self, stmt: Stmt) -> Stmt:
        """What is in a statement; but rows that a loop in any order goes through are in the first cache anyway."""
        if isinstance(stmt, Parallel) or (isinstance(stmt, For) and not stmt.ordered):
            return stmt
        return with_blocks(stmt, tuple(map(self.block, blocks(stmt)))) if blocks(stmt) else stmt

    def is_fixed(self, end: Expr) -> bool:
        """Is it the same throughout the function?"""
        lengths = {node.array for node in subexpressions(end) if isinstance(node, Dim)}
        return variables(end) <= self.fixed and lengths <= self.params

    def together(self, chain: Chain, ahead: Counter[str]) -> Block | None:
        """What the chain becomes; None where it is short, or nothing would stay in registers."""
        trips = affine.difference(chain.stop, chain.start)
        if trips is not None and trips < LONG:
            return None
        names = self.names.save()
        low, high, part, parts = (Var(self.names.fresh(name), INT64) for name in ("low", "high", "part", "parts"))
        first = affine.add(chain.start, affine.integer(chain.ahead))
        last = affine.sub(chain.stop, affine.integer(chain.left))
        index = Var(self.names.index("i", frozenset(self.names.taken)), INT64)
        alone = self.nobody_else_has(chain, ahead)
        middle = Middle(chain, index, first, last, self.names, self.chains.memory, alone)
        saved = sum(_accesses(loop) for loop, _ in chain.loops) - _accesses(middle.loop)
        if not 0 < middle.kept <= saved or chain.ahead + chain.left > ENDS:
            self.names.restore(names)
            return None
        outside = affine.integer(max(lag + _longest(loop, chain) for loop, lag in chain.loops))
        least, most = affine.sub(chain.start, outside), affine.add(chain.stop, outside)
        body: list[Stmt] = []
        for is_loop, group in groupby(zip(chain.stmts, chain.lags, strict=True), lambda pair: pair[1] is not None):
            if is_loop:
                body += (_between(stmt, low, high, lag) for stmt, lag in group)  # type: ignore[arg-type]
            else:
                once = tuple(stmt for stmt, _ in group)
                is_first = Call("eq", (part, affine.ZERO), BOOL)
                body += once if all(isinstance(stmt, Comment) for stmt in once) else (If(is_first, once),)
        there_is_more = Call("lt", (affine.add(part, affine.ONE), parts), BOOL)
        body.append(If(there_is_more, (*middle.block, Assign(low, last), Assign(high, most))))
        at_ends = chain.ahead + chain.left
        enough = max(at_ends, LONG if 2 * middle.kept <= saved else LONGER)
        enough_with_few = max(at_ends, LONG) if 10 * middle.kept <= 3 * saved else NEVER
        count = affine.sub(chain.stop, chain.start)
        several = Call("gt", (parts, affine.ONE), BOOL)
        return (
            Assign(parts, Call("parts_of", (count, affine.integer(enough), affine.integer(enough_with_few)), INT64)),
            Assign(low, least),
            Assign(high, select(several, first, most)),
            For(part, affine.ZERO, parts, affine.ONE, tuple(body)),
        )

    def nobody_else_has(self, chain: Chain, ahead: Counter[str]) -> set[str]:
        """Memory that only the chain has to do with, but for what stands ahead of it and only writes there.

        Where the ranges of the chain change from one time to the next, what it has not stored may be read as an end.
        """
        if not self.is_fixed(chain.start) or not self.is_fixed(chain.stop):
            return set()
        inside = uses(tuple(chain.stmts)) + ahead
        handles = Counter(self.chains.memory.values())
        return {name for name in self.made if handles[name] == 1 and self.used[name] == inside[name] + 1}


def _only_written(block: Block) -> Counter[str]:
    """How many of the last statements of a block store in an element of each array, and do nothing else with it."""
    out: Counter[str] = Counter()
    for stmt in reversed(block):
        inner = statements((stmt,))
        if not all(isinstance(s, (Assign, Comment, If, Store)) for s in inner):
            break
        out.update(s.array.name for s in inner if isinstance(s, Store))
        for load in (load for s in inner for expr in expressions(s) for load in loads(expr)):
            out[load.array.name] = 0
    return out


def _accesses(loop: For) -> int:
    """How many elements an iteration loads and stores."""
    read = {load for stmt in loop.body for expr in expressions(stmt) for load in loads(expr)}
    added = [stmt.target for stmt in loop.body if isinstance(stmt, AddTo) and isinstance(stmt.target, Load)]
    return len(read | set(added)) + len(set(added)) + sum(isinstance(stmt, Store) for stmt in loop.body)


def _between(loop: For, low: Expr, high: Expr, lag: int) -> For:
    """The part of a loop that is between two iterations of the first one."""
    behind = affine.integer(lag)
    start = Call("maximum", (loop.start, affine.sub(low, behind)), INT64)
    stop = Call("minimum", (loop.stop, affine.sub(high, behind)), INT64)
    return replace(loop, start=start, stop=stop)


def _longest(loop: For, chain: Chain) -> int:
    """By how much its ends differ from those of the first loop."""
    return max(abs(gap(loop.start, chain.start)), abs(gap(loop.stop, chain.stop)))


__all__ = ["shift_and_peel"]
