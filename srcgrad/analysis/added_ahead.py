"""Which elements an iteration adds to that other iterations add to as well, and how far ahead these are.

    for j in range(n):
        x_b[j] -= g              one row: {0: [x_b[j]], 2: [x_b[j + 2]]}
        x_b[j + 2] += g

For `hand_over` and `set_aside`, which have each element added to by one iteration.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir import affine
from ..ir.expressions import Array, Call, Const, Expr, Load, Var
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, Store, View
from ..ir.walk import expressions, loads, statements, subexpressions, variables
from ..rules.costs import stays_scalar
from .effects import Index, effects

SIMPLE = (AddTo, Assign, Comment, Store)
Row = dict[int, list[Load]]  # elements of one row, by how far they are ahead of one of them


class Rows:
    """Answers about the innermost loops of one function."""

    def __init__(self, function: Function) -> None:
        views = [stmt for stmt in statements(function.body) if isinstance(stmt, View)]
        self.views = {view.array.name: view for view in views}
        of_this = {name: (view.base, view.how) for name, view in self.views.items()}
        self.unclear = {
            v.array.name for v in views if (v.base, v.how) != of_this[v.array.name]
        }  # by turns this and that

    def of(self, loop: For) -> list[Row]:
        """The rows of arrays that the loop only adds to, in an order that is ours."""
        inside = effects(loop.body)
        changed = inside.writes
        if any(self.is_unclear(access.array) for access in inside.accesses):
            return []
        places = dict.fromkeys(place for stmt in statements(loop.body) if (place := target(stmt)) is not None)
        groups: list[tuple[str, Index, Row]] = []
        for place in places:
            name, index = self.of_memory(place)
            for other_name, other, row in groups:
                ahead = _elements_ahead(index, other, loop, changed) if name == other_name else None
                if ahead is not None:
                    row.setdefault(ahead, []).append(place)
                    break
            else:
                groups.append((name, index, {0: [place]}))
        return [row for name, _, row in groups if self.is_only_added_to(name, loop)]

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


def may_be(loop: For) -> bool:
    """Is this loop of numbers that does the same in every iteration, and adds in an order that is ours?"""
    inner = statements(loop.body)
    adds = [stmt for stmt in inner if isinstance(stmt, AddTo)]
    every_time = sum(target(stmt) is not None for stmt in loop.body) == sum(target(stmt) is not None for stmt in adds)
    simple = all(isinstance(stmt, (*SIMPLE, If)) for stmt in inner)
    return is_of_numbers(loop) and simple and every_time and all(stmt.reorder for stmt in adds)


def is_of_numbers(loop: For) -> bool:
    """Is this an independent loop with no loop inside, of real numbers alone, which reads and writes where it may?

    What it adds to an element may have to be checked.
    """
    inner = statements(loop.body)
    exprs = [expr for stmt in inner for expr in expressions(stmt)]
    return (
        not (loop.ordered or loop.vector or loop.few)
        and affine.same(loop.step, affine.ONE)
        and all(isinstance(stmt, (*SIMPLE, If)) and not stays_scalar(stmt) for stmt in inner)
        and not any(stmt.checked for stmt in inner if isinstance(stmt, Store))
        and not any(load.checked for expr in exprs for load in loads(expr))
        and all(node.dtype.kind in "fib" for expr in exprs for node in subexpressions(expr))
        and not any(loads(end) or variables(end) & effects(loop.body).writes for end in (loop.start, loop.stop))
    )


def target(stmt: Stmt) -> Load | None:
    return stmt.target if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) else None


def at_the_end(loop: For, places: list[Load], names: Names, wanted: str) -> tuple[For, Expr]:
    """The loop without its additions to these elements, and what an iteration adds to them: known when it ends."""
    adds = [stmt for stmt in loop.body if isinstance(stmt, AddTo) and stmt.target in places]
    value = adds[0].value if len(adds) == 1 else None
    if value is not None and _stays(value, loop.body[loop.body.index(adds[0]) :]):
        return replace(loop, body=tuple(stmt for stmt in loop.body if stmt is not adds[0])), value
    fresh = Var(names.fresh(wanted), places[0].dtype)
    if value is not None and not (isinstance(value, Call) and value.op == "select"):  # that is one of two, in sums
        out: Expr = fresh
        if isinstance(value, Call) and value.op == "neg":
            (value,), out = value.args, Call("neg", (fresh,), fresh.dtype)
        named = Assign(fresh, value, span=adds[0].span)
        return replace(loop, body=tuple(named if stmt is adds[0] else stmt for stmt in loop.body)), out
    start = Assign(fresh, Const(fresh.dtype.type(0).item(), fresh.dtype))
    moved = (replace(stmt, target=fresh) if stmt in adds else stmt for stmt in loop.body)
    return replace(loop, body=(start, *moved)), fresh


def _stays(value: Expr, later: Block) -> bool:
    """Is it a number with a name, or its negative, which is the same at the end of the body?"""
    name = value.args[0] if isinstance(value, Call) and value.op == "neg" else value
    return isinstance(name, Var) and name not in effects(later).writes


def _elements_ahead(x: Index, y: Index, loop: For, changed: set[Var]) -> int | None:
    """How far the first of two elements is ahead of the second, if they are in one row along the loop."""
    out: int | None = None
    for p, q in zip(x, y, strict=True):
        gap = None if p is None or q is None else affine.difference(p, q)
        if gap is None or loads(p) or variables(p) & changed - {loop.index}:
            return None
        if loop.index not in variables(p):
            if gap:
                return None
        elif loop.index in variables(affine.sub(p, loop.index)) or (out is not None and out != gap):
            return None
        else:
            out = gap
    return out


__all__ = ["Row", "Rows", "at_the_end", "is_of_numbers", "may_be", "target"]
