"""Places around the ends of a grid are steps of the index: they divide nothing, and can be turned round on a GPU.

    for i in range(n):                     for i in range(n):
        k = (i + 1) % n                        s += x[wrap_high(i + 1, n)]         i + 1 - n if i + 1 >= n else i + 1
        s += x[k]                  →           s += x[wrap_low(i - 1, n)]          i - 1 + n if i - 1 < 0 else i - 1
        s += x[i - 1]                          s += x[wrap_high(i + turn, n)]
        s += x[(i + k) % n]

`turn` is the rest of k by n, which is computed once, ahead of all loops that leave both alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..analysis.effects import effects
from ..analysis.lengths import lengths_by_name, lengths_of
from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Expr, Load, Var
from ..ir.nodes import Assign, Block, For, Function, Stmt, Store
from ..ir.walk import blocks, loads, map_expressions, rewrite, statements, substitute, variables, with_blocks
from ..ir.wraps import is_wrap, wrap

Loops = Mapping[Var, For]
Known = Mapping[Var, Expr]


def periodic(function: Function) -> Function:
    return replace(function, body=_Places(function, turns=True).block(function.body, {}, {}))


def neighbours(function: Function) -> Function:
    """The same for the next index and the one before alone: where `split_ends` goes over the ends apart."""
    return replace(function, body=_Places(function, turns=False).block(function.body, {}, {}))


class _Places:
    def __init__(self, function: Function, turns: bool) -> None:
        self.turns = turns  # are steps of any length computed ahead?
        self.names, self.lengths = function.info.names, lengths_of(function)
        self.by_name = lengths_by_name(function)
        self.ahead: dict[Var, list[Stmt]] = {}  # of the loops of these indices

    def block(self, block: Block, loops: Loops, known: Known) -> Block:
        """`known`: variables that are such places now, and which."""
        out: list[Stmt] = []
        for stmt in block:
            touched = effects((stmt,))
            known = _without(known, {*touched.writes, *touched.sums})
            stmt = self.said(stmt, loops, known)
            if isinstance(stmt, For):
                index = stmt.index
                stmt = with_blocks(stmt, (self.block(stmt.body, {**loops, index: stmt}, known),))
                out += self.ahead.pop(index, ())
            elif blocks(stmt):
                stmt = with_blocks(stmt, tuple(self.block(part, loops, known) for part in blocks(stmt)))
            elif isinstance(stmt, Assign) and is_wrap(stmt.value):
                known = {**known, stmt.var: stmt.value}
            out.append(stmt)
        return tuple(out)

    def said(self, stmt: Stmt, loops: Loops, known: Known) -> Stmt:
        change = lambda expr: rewrite(substitute(expr, known), lambda e: self.changed(e, loops))
        stmt = map_expressions(stmt, change)
        if isinstance(stmt, Store) and stmt.checked and not stmt.natural:
            index = self.index(stmt.array, stmt.index, loops)
            return stmt if index == stmt.index else replace(stmt, index=index)
        return stmt

    def changed(self, expr: Expr, loops: Loops) -> Expr:
        match expr:
            case Call(op="mod", args=(x, n)) if expr.dtype == INT64:
                return self.remainder(x, n, loops) or expr
            case Call(op="pos", args=(Load() as rolled,)):  # `np.roll` makes no view
                return rolled
            case Load(array=array, index=index, checked=True, natural=False):
                return Load(array, self.index(array, index, loops), True, False)
        return expr

    def index(self, array: Array, index: tuple[Expr, ...], loops: Loops) -> tuple[Expr, ...]:
        return tuple(self.before(x, n, loops) for x, n in zip(index, self.lengths.of(array), strict=True))

    def remainder(self, x: Expr, n: Expr, loops: Loops) -> Expr | None:
        """The place of x % n, for an index of a loop within range(n) and what it is moved by."""
        for index, loop in loops.items():
            if dict(affine.affine(x)[0]).get(index) != 1 or not self.is_within(loop, n):
                continue
            step = affine.sub(x, index)
            if affine.same(step, affine.ZERO):
                return index
            if affine.same(step, affine.ONE):
                return wrap("wrap_high", x, n)
            if affine.same(step, affine.integer(-1)):
                return wrap("wrap_low", x, n)
            around = [k for k, other in loops.items() if self.is_fixed(step, other) and self.is_fixed(n, other)]
            if index in around and self.turns:
                turn = Var(self.names.fresh("turn"), INT64)
                rest = Call("mod", (step, affine.maximum(n, affine.ONE)), INT64)
                self.ahead.setdefault(around[0], []).append(Assign(turn, rest))  # the outermost
                return wrap("wrap_high", affine.add(index, turn), n)
        return None

    def before(self, x: Expr, n: Expr, loops: Loops) -> Expr:
        """The place of x[i - 1]: the last one, for the first index."""
        for index, loop in loops.items():
            if affine.difference(x, index) == -1 and affine.same(loop.start, affine.ZERO) and self.is_within(loop, n):
                return wrap("wrap_low", x, n)
        return x

    def is_within(self, loop: For, n: Expr) -> bool:
        """Are its indices ones of an axis of this length, which the loop leaves alone?"""
        if not isinstance(loop.step, Const) or loop.step.value <= 0 or not self.is_fixed(n, loop):
            return False
        if loop.index in effects(loop.body).writes | _indices(loop.body):
            return False
        stop = substitute(loop.stop, self.by_name)
        room = affine.sub(substitute(n, self.by_name), stop)
        return affine.is_at_least(loop.start, 0) and affine.is_at_least(room, 0)

    def is_fixed(self, expr: Expr, loop: For) -> bool:
        changed = effects((loop,)).writes | _indices((loop,))
        return not loads(expr) and not variables(expr) & changed and self.lengths.stays(expr)


def _indices(block: Block) -> set[Var]:
    return {stmt.index for stmt in statements(block) if isinstance(stmt, For)}


def _without(known: Known, changed: Iterable[object]) -> Known:
    gone = set(changed)
    return {var: place for var, place in known.items() if var not in gone and not variables(place) & gone}


__all__ = ["neighbours", "periodic"]
