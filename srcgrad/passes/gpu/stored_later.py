"""What is added to later, on a GPU, is stored there, if it is cheap to compute again.

    for i in range(n):                       for i in range(n):
        g = v[i] / s                             g = v[i] / s
        x_b[i] = g                               t_b += g * x[i]
        t_b += g * x[i]              →       for i in range(n):
    for i in range(n):                           g = v[i] / s
        x_b[i] += t_b * x[i]                     x_b[i] = g
                                                 x_b[i] += t_b * x[i]

The array is written once and not read, for which v is read twice.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.additions import DEAREST, cost_of, live, needed_for
from ...analysis.effects import effects, names_used
from ...analysis.grids import nest_of, on_host, within
from ...ir import affine
from ...ir.expressions import Array, Load, Var
from ...ir.info import memory_of, memory_of_its_own
from ...ir.nodes import AddTo, Alloc, Assign, Block, For, Function, Stmt, Store, Swap, View
from ...ir.walk import expressions, loads, map_expressions, statements, substitute, variables

FLAT = (AddTo, Assign, Store)
Loops = tuple[For, ...]
MOST_READ = 1  # arrays as large as the one that is neither written nor read for it


def stored_later(function: Function) -> Function:
    return _Later(function).function()


class _Later:
    def __init__(self, function: Function) -> None:
        self.whole, self.names = function, function.info.names
        self.own, self.memory = memory_of_its_own(function), memory_of(function)

    def function(self) -> Function:
        return replace(self.whole, body=on_host(self.whole.body, self.turned))

    def turned(self, stmt: Stmt, out: list[Stmt]) -> Block | None:
        if _flat(stmt) is None:
            return None
        for k in reversed(range(len(out))):
            moved = self.moved(out, k, stmt)
            if moved is not None:
                out[k], stmt = moved
        out[:] = [s for s in out if not _is_empty(s)]
        return (stmt,)

    def moved(self, out: list[Stmt], at: int, later: Stmt) -> tuple[Stmt, Stmt] | None:
        """Two nests, the first of which leaves a store to the second."""
        first, second = _flat(out[at]), _flat(later)
        if first is None or second is None or not _are_alike(first[0], second[0]):
            return None
        for store in first[1]:
            between = (*(s for s in first[1] if s is not store), *out[at + 1 :])
            if not isinstance(store, Store) or store.array.name not in self.own or not _is_own(store, first[0]):
                continue
            if any(store.array.name in names_used(s) for s in between) or not _adds_first(store.array, *second):
                continue
            again = self.again(store, first, second, between)
            if again is not None:
                k = next(k for k, s in enumerate(second[1]) if store.array.name in names_used(s))
                rest = live(tuple(s for s in first[1] if s is not store))
                return within(first[0], rest), within(second[0], (*second[1][:k], *again, *second[1][k:]))
        return None

    def again(
        self, store: Store, first: tuple[Loops, Block], second: tuple[Loops, Block], between: Block
    ) -> Block | None:
        """The store and what it needs, said for the second nest."""
        (loops, body), (others, later) = first, second
        needed = needed_for(store, body[: body.index(store)])
        if needed is None or cost_of([body[k] for k in needed], store.value) > DEAREST:
            return None
        made = [body[k] for k in sorted(needed)]
        own = {s.var for s in made if isinstance(s, Assign)}
        read = {load.array for s in (*made, store) for expr in expressions(s) for load in loads(expr)}
        free = {v for s in (*made, store) for expr in expressions(s) for v in variables(expr)} - own
        if not self.stays(read, free - {loop.index for loop in loops}, (*between, *later)):
            return None
        seen = {load.array.name for s in later for expr in expressions(s) for load in loads(expr)}
        if sum(a.ndim == len(loops) and a.name not in seen for a in read) > MOST_READ:
            return None
        said = {loop.index: other.index for loop, other in zip(loops, others, strict=True)}
        said |= {var: Var(self.names.fresh(var.name), var.dtype) for var in own}
        return tuple(map_expressions(s, lambda expr: substitute(expr, said)) for s in (*made, store))

    def stays(self, read: set[Array], free: set[Var], block: Block) -> bool:
        """Are these arrays and numbers what they were, whatever is done in between?"""
        memory = {self.memory.get(array.name, array.name) for array in read}
        names = {array.name for array in read}
        seen = effects(block)
        changed = {self.memory.get(a.array.name, a.array.name) for a in seen.accesses if a.writes}
        renamed: set[str] = set()
        for stmt in statements(block):
            if isinstance(stmt, Swap):
                renamed |= {stmt.left.name, stmt.right.name}
            elif isinstance(stmt, (Alloc, View)):
                renamed.add(stmt.array.name)
        return not (memory & changed or names & renamed or free & (seen.writes | seen.sums))


def _flat(stmt: Stmt) -> tuple[Loops, Block] | None:
    """Independent loops right within each other over statements without branches."""
    nest = nest_of(stmt)
    return nest if nest is not None and all(isinstance(s, FLAT) for s in nest[1]) else None


def _is_empty(stmt: Stmt) -> bool:
    nest = _flat(stmt)
    return nest is not None and not nest[1]


def _are_alike(loops: Loops, others: Loops) -> bool:
    return len(loops) == len(others) and all(
        affine.same(loop.start, other.start) and affine.same(loop.stop, other.stop)
        for loop, other in zip(loops, others, strict=True)
    )


def _is_own(place: Store | Load, loops: Loops) -> bool:
    return place.index == tuple(loop.index for loop in loops)


def _adds_first(array: Array, loops: Loops, body: Block) -> bool:
    """Is an iteration's own element all that it has to do with the array, and does it first of all add to that?"""
    touching = [s for s in body if array.name in names_used(s)]
    if not touching or not isinstance(touching[0], AddTo) or not isinstance(touching[0].target, Load):
        return False
    own = tuple(loop.index for loop in loops)
    accesses = [a for a in effects(tuple(touching)).accesses if a.array.name == array.name]
    read = [load for load in loads(touching[0].value) if load.array.name == array.name]
    return not read and all(a.index == own for a in accesses) and touching[0].target.array.name == array.name


__all__ = ["stored_later"]
