"""What an iteration adds to elements that later ones add to as well is handed over to them, and the loop vectorises.

                                            handed = 0.0
    for i in range(n - 1):                  for i in range(n - 1):
        g = y_b[i] * exp(x[i])                  g = y_b[i] * exp(x[i])
        x_b[i] += g                  →          x_b[i] += g
        x_b[i + 1] -= 0.5 * g                   x_b[i] += handed
                                                handed = -0.5 * g
                                            x_b[n - 1] += handed

An element that is added to in one iteration and again in the next is passed through memory, one iteration at a time.
A number of the iteration before is another thing: LLVM shifts a vector of them by one.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir import affine
from ..ir.expressions import BOOL, Array, Call, Const, Expr, Load, Var
from ..ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, Store, View
from ..ir.walk import blocks, expressions, loads, statements, subexpressions, substitute, variables, with_blocks
from .effects import Index, effects

SIMPLE = (AddTo, Assign, Comment, Store)


def hand_over(function: Function) -> Function:
    return replace(function, body=_Hands(function).block(function.body))


class _Hands:
    def __init__(self, function: Function) -> None:
        self.names = function.info.names
        views = [stmt for stmt in statements(function.body) if isinstance(stmt, View)]
        self.views = {view.array.name: view for view in views}
        of_this = {name: (view.base, view.how) for name, view in self.views.items()}
        self.unclear = {
            v.array.name for v in views if (v.base, v.how) != of_this[v.array.name]
        }  # by turns this and that

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and _may_be(stmt):
                out += self.handed(stmt)
            elif blocks(stmt):
                out.append(with_blocks(stmt, tuple(map(self.block, blocks(stmt)))))
            else:
                out.append(stmt)
        return tuple(out)

    def handed(self, loop: For) -> Block:
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        for here, next_one in self.rows(loop):
            var = Var(self.names.fresh("handed"), here[0].dtype)
            ahead.append(Assign(var, Const(var.dtype.type(0).item(), var.dtype)))
            loop = self.through(loop, here[0], next_one, var)
            last = {loop.index: affine.sub(loop.stop, affine.ONE)}
            index = tuple(affine.normal(substitute(part, last)) for part in next_one[0].index)
            behind.append(AddTo(replace(next_one[0], index=index), var, reorder=True))
        if not behind:
            return (loop,)
        runs = Call("lt", (loop.start, loop.stop), BOOL)
        return (*ahead, loop, If(runs, tuple(behind)))

    def through(self, loop: For, place: Load, next_one: list[Load], handed: Var) -> For:
        """The loop with what it adds to the element of the next iteration in a register."""
        adds = [stmt for stmt in loop.body if isinstance(stmt, AddTo) and stmt.target in next_one]
        value = adds[0].value if len(adds) == 1 else None
        if value is not None and _stays(value, loop.body):
            body = [stmt for stmt in loop.body if stmt is not adds[0]]
            return replace(loop, body=(*body, AddTo(place, handed, reorder=True), Assign(handed, value)))
        fresh = Var(self.names.fresh("ahead"), handed.dtype)
        start = Assign(fresh, Const(fresh.dtype.type(0).item(), fresh.dtype))
        moved = (replace(stmt, target=fresh) if stmt in adds else stmt for stmt in loop.body)
        return replace(loop, body=(start, *moved, AddTo(place, handed, reorder=True), Assign(handed, fresh)))

    def rows(self, loop: For) -> list[tuple[list[Load], list[Load]]]:
        """Elements that an iteration adds to, with those that are the next one's: of arrays that are only added to."""
        inside = effects(loop.body)
        changed = inside.writes
        if any(self.is_unclear(access.array) for access in inside.accesses):
            return []
        places = dict.fromkeys(place for stmt in loop.body if (place := _target(stmt)) is not None)
        groups: list[tuple[str, Index, dict[int, list[Load]]]] = []
        for place in places:
            name, index = self.of_memory(place)
            for other_name, other, row in groups:
                ahead = _elements_ahead(index, other, loop, changed) if name == other_name else None
                if ahead is not None:
                    row.setdefault(ahead, []).append(place)
                    break
            else:
                groups.append((name, index, {0: [place]}))
        pairs = [(name, row, min(row)) for name, _, row in groups if len(row) == 2]
        return [
            (row[first], row[first + 1])
            for name, row, first in pairs
            if first + 1 in row and self.is_only_added_to(name, loop)
        ]

    def is_unclear(self, array: Array) -> bool:
        view = self.views.get(array.name)
        return array.name in self.unclear or (view is not None and self.is_unclear(view.base))

    def is_only_added_to(self, name: str, loop: For) -> bool:
        there = (access.through(self.views) for access in effects(loop.body).accesses)
        return all(access.adds and access.ours for access in there if access.array.name == name)

    def of_memory(self, place: Load) -> tuple[str, Index]:
        access = next(a for a in effects((AddTo(place, place, reorder=True),)).accesses if a.writes)
        there = access.through(self.views, is_natural=True)
        return there.array.name, there.index


def _may_be(loop: For) -> bool:
    """Is this an independent loop, of sums and real numbers alone, with every access proved?"""
    exprs = [expr for stmt in loop.body for expr in expressions(stmt)]
    return (
        not (loop.ordered or loop.vector or loop.few)
        and affine.same(loop.step, affine.ONE)
        and all(isinstance(stmt, SIMPLE) for stmt in loop.body)
        and all(stmt.reorder for stmt in loop.body if isinstance(stmt, AddTo))
        and not any(stmt.checked for stmt in loop.body if isinstance(stmt, Store))
        and not any(load.checked for expr in exprs for load in loads(expr))
        and all(node.dtype.kind in "fib" for expr in exprs for node in subexpressions(expr))
        and not any(loads(end) or variables(end) & effects(loop.body).writes for end in (loop.start, loop.stop))
    )


def _target(stmt: Stmt) -> Load | None:
    return stmt.target if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) else None


def _stays(value: Expr, body: Block) -> bool:
    """Is it a number with a name, or its negative, which is the same at the end of the body?"""
    name = value.args[0] if isinstance(value, Call) and value.op == "neg" else value
    return isinstance(name, Var) and sum(name in effects((stmt,)).writes for stmt in body) <= 1


def _elements_ahead(x: Index, y: Index, loop: For, changed: set[Var]) -> int | None:
    """How far the first of two elements is ahead of the second, if they are in one row along the loop."""
    out: int | None = None
    for p, q in zip(x, y, strict=True):
        gap = None if p is None or q is None else affine.difference(p, q)
        if gap is None or loads(p) or variables(p) & changed - {loop.index}:
            return None
        count = dict(affine.affine(p)[0]).get(loop.index, 0)
        if loop.index not in variables(p):
            if gap:
                return None
        elif count != 1 or (out is not None and out != gap):
            return None
        else:
            out = gap
    return out


__all__ = ["hand_over"]
