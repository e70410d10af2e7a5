"""An element that is stored, and changed again by the same statements' successors, is a scalar in between.

    x_b[i] = g * w[i]                  x_b_now = g * w[i]
    w_b[i] = g * x[i]           →      w_b[i] = g * x[i]
    x_b[i] += g * h[i]                 x_b_now += g * h[i]
                                       x_b[i] = x_b_now

    for k in range(n):                 runs, x_b_now = n > 0, 0.0
        x_b[i] += g[k]          →      for k in range(n):          (in a thread)
                                           x_b_now += g[k]
                                       if runs: x_b[i] += x_b_now

For a compiler two arrays may be one memory, so that it can't do this; here memory that the function makes is its own.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import effects, names_used
from ...analysis.signs import extremes
from ...ir import affine
from ...ir.expressions import BOOL, Call, Const, Expr, Load, Var
from ...ir.info import memory_of_its_own
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Rule, Stmt, Store
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    targets,
    variables,
    with_blocks,
)


def store_once(function: Function) -> Function:
    return replace(function, body=_Stores(function).block(function.body, False))


class _Stores:
    def __init__(self, function: Function) -> None:
        self.names = function.info.names
        self.own = memory_of_its_own(function)

    def block(self, block: Block, in_thread: bool) -> Block:
        out: list[Stmt] = []
        alone = sum(not isinstance(stmt, Comment) for stmt in block) == 1  # two loops are the axes of a grid
        for stmt in block:
            if blocks(stmt) and not isinstance(stmt, Rule):
                inner = in_thread or (isinstance(stmt, For) and not stmt.ordered)
                stmt = with_blocks(stmt, tuple(self.block(b, inner) for b in blocks(stmt)))
            out += self.summed(stmt) if in_thread and isinstance(stmt, For) and (stmt.ordered or not alone) else (stmt,)
        for position in range(len(out)):
            place = place_of(out[position])
            if place is not None and place.array.name in self.own and not any(map(loads, place.index)):
                last = _last(out, position, place)
                if last > position:
                    out[position : last + 1] = self.merged(out[position : last + 1], place)
        return tuple(out)

    def summed(self, loop: For) -> Block:
        """A loop that goes in order, with the elements that it only adds to in scalars."""
        if not isinstance(loop.step, Const):
            return (loop,)
        low, high = extremes(loop)
        moving = {v for inner in statements((loop,)) for v in set_by(inner)} | {loop.index}
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        for place in self.sums(loop, moving):
            now = Var(self.names.fresh(f"{place.array.name}_now"), place.dtype)

            def in_scalar(stmt: Stmt, place: Load = place, now: Var = now) -> Block:
                here = place_of(stmt)
                return (replace(stmt, target=now) if here is not None and _is_same(here, place) else stmt,)  # type: ignore[call-arg]

            loop = replace(loop, body=rewrite_block(loop.body, in_scalar))
            ahead.append(Assign(now, Const(place.dtype.type(0).item(), place.dtype)))
            behind.append(AddTo(place, now, reorder=True))
        if not behind:
            return (loop,)
        runs = Var(self.names.fresh("runs"), BOOL)  # asked ahead: the index may be what the bounds were computed from
        return (Assign(runs, Call("le", (low, high), BOOL)), *ahead, loop, If(runs, tuple(behind)))

    def sums(self, loop: For, moving: set[Var]) -> list[Load]:
        """Elements at one place throughout, of memory that the loop does nothing else to, in every iteration."""
        every_time = [stmt for stmt in loop.body if isinstance(stmt, AddTo) and place_of(stmt) is not None]
        seen = effects(loop.body)
        out: list[Load] = []
        for place in dict.fromkeys(stmt.target for stmt in every_time if isinstance(stmt.target, Load)):
            name = place.array.name
            touching = [s for s in statements(loop.body) if not blocks(s) and name in names_used(s)]
            only_adds = all(isinstance(s, AddTo) and s.reorder and s.target == place for s in touching)
            reads = any(a.array.name == name and not a.adds for a in seen.accesses)
            fixed = not any(variables(part) & moving or loads(part) for part in place.index)
            if name in self.own and only_adds and fixed and not reads:
                out.append(place)
        return out

    def merged(self, stmts: list[Stmt], place: Load) -> list[Stmt]:
        now = Var(self.names.fresh(f"{place.array.name}_now"), place.dtype)

        def held(expr: Expr) -> Expr:
            return rewrite(expr, lambda e: now if isinstance(e, Load) and _is_same(e, place) else e)

        first = stmts[0]
        out: list[Stmt] = []
        for k, stmt in enumerate(stmts):  # of iterations written out, several may be one object
            here = place_of(stmt)
            if k == 0:  # what it reads of the place is what was there before
                out.append(Assign(now, stmt.value, span=stmt.span, label=stmt.label))  # type: ignore[attr-defined]
            elif here is None or not _is_same(here, place):
                out.append(map_expressions(stmt, held))
            elif isinstance(stmt, AddTo):
                out.append(replace(stmt, target=now, value=held(stmt.value)))
            else:
                out.append(Assign(now, held(stmt.value), span=stmt.span, label=stmt.label))  # type: ignore[attr-defined]
        whole = replace(first, value=now)  # type: ignore[call-arg]
        return [*out, whole]


def place_of(stmt: Stmt) -> Load | None:
    """The element that a statement stores or adds to."""
    match stmt:
        case Store(array=array, index=index, checked=False):
            return Load(array, index, checked=False)
        case AddTo(target=Load(checked=False) as target):
            return target
    return None


def _is_same(x: Load, y: Load) -> bool:
    return x.array.name == y.array.name and x.index == y.index


def _is_elsewhere(x: Load, y: Load) -> bool:
    """Are they two elements of the array for sure?  u[i] and u[n - i - 1] may be one."""
    return any(affine.difference(i, j) not in (None, 0) for i, j in zip(x.index, y.index, strict=True))


def _last(stmts: list[Stmt], position: int, place: Load) -> int:
    """The last statement that changes the place, as long as nobody else looks at its memory or moves its index."""
    fixed = set().union(*map(variables, place.index))
    adds = isinstance(stmts[position], AddTo)
    last = position
    for k in range(position + 1, len(stmts)):
        stmt = stmts[k]
        if fixed & {v for inner in statements((stmt,)) for v in set_by(inner)}:
            break
        here = place_of(stmt)
        if here is not None and _is_same(here, place):
            if adds and not isinstance(stmt, AddTo):
                break
            read = [load for e in expressions(stmt) for load in loads(e) if load.array.name == place.array.name]
            if any(adds if _is_same(load, place) else not _is_elsewhere(load, place) for load in read):
                break
            last = k
        elif place.array.name in names_used(stmt):
            read = [load for e in expressions(stmt) for load in loads(e) if load.array.name == place.array.name]
            if adds or blocks(stmt) or not read or not all(_is_same(load, place) for load in read):
                break
            if here is not None and here.array.name == place.array.name:
                break
    return last


def set_by(stmt: Stmt) -> list[Var]:
    return [item for item in targets(stmt) if isinstance(item, Var)]


__all__ = ["place_of", "set_by", "store_once"]
