"""What iterations add to their neighbours' elements, and is dear to compute again, they keep: the neighbours fetch it.

    for i in range(n):                            for i in range(n):
        b = max(x[i], x[i + 1], …)                    b = max(x[i], x[i + 1], …)
        x_b[i] += f(b, …)                  →          kept[i] = f(b, …)
        x_b[i + 1] += g(b, …)                         kept_1[i] = g(b, …)
        …                                         for i in range(n):
                                                      x_b[i] += kept[i]
                                                      x_b[i + 1] += kept_1[i]

The second loop is for `gather`.  (What is cheap is computed by each neighbour, which takes no memory.)
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.additions import DEAREST, FLAT, adds_to
from ...analysis.neighbours import Neighbours
from ...analysis.nests import Memory, nest_of
from ...analysis.straight import straight
from ...ir import affine
from ...ir.expressions import Array, Load, Var
from ...ir.names import Names
from ...ir.nodes import AddTo, Alloc, Block, For, Function, If, Stmt, Store
from ...ir.walk import blocks, statements, with_blocks
from .gather_sums import around, trips

MOST_KEPT = 9  # numbers of an iteration
ANY = 1 << 30


def keep_for_neighbours(function: Function) -> Function:
    names, memory = function.info.names, Memory(function)
    free = {loop.index for loop in statements(function.body) if isinstance(loop, For) and not loop.ordered}

    def changed(block: Block) -> Block:
        return tuple(out for stmt in block for out in of_one(stmt))

    def of_one(stmt: Stmt) -> Block:
        nest = nest_of(stmt, (*FLAT, If))
        if nest is None:
            own = isinstance(stmt, For) and not stmt.ordered  # a thread's
            return (stmt,) if own else (with_blocks(stmt, tuple(map(changed, blocks(stmt)))),)
        loops, body = nest
        said = straight(body, names, memory.may_be_one) if any(isinstance(s, If) for s in body) else None
        if said is None and any(isinstance(s, If) for s in body):
            return (stmt,)
        plain = body if said is None else said.body
        out = _Nest(loops, plain, names, memory, free).apart()
        return (stmt,) if out is None else out

    return replace(function, body=changed(function.body))


class _Nest:
    def __init__(self, loops: tuple[For, ...], body: Block, names: Names, memory: Memory, free: set[Var]) -> None:
        self.loops, self.body, self.names, self.memory, self.free = loops, body, names, memory, free

    def apart(self) -> Block | None:
        """The loops that take the place of the nest; None where nothing is kept."""
        allocated: list[Stmt] = []
        fetched: list[Stmt] = []
        body = list(self.body)
        for array in dict.fromkeys(s.target.array for s in body if isinstance(s, AddTo) and isinstance(s.target, Load)):
            added = {k: stmt for k, stmt in enumerate(self.body) if adds_to(stmt, array)}
            found = {k: _normal(stmt.target) for k, stmt in added.items()}  # type: ignore[attr-defined]
            targets = dict.fromkeys(found.values())
            if len(targets) > MOST_KEPT or self.are_fetched(array, DEAREST) or not self.are_fetched(array, ANY):
                continue
            places = {target: self.place_for(array) for target in targets}
            allocated += (Alloc(kept.array, kept.array.dims, span=self.loops[0].span) for kept in places.values())
            fetched += (AddTo(target, kept, reorder=True) for target, kept in places.items())
            begun = set[Load]()
            for k, stmt in added.items():
                kept = places[found[k]]
                body[k] = replace(stmt, target=kept) if kept in begun else _stored(kept, stmt)  # type: ignore[call-arg, arg-type]
                begun.add(kept)
        if not fetched:
            return None
        return (*allocated, around(self.loops, tuple(body)), around(self.loops, tuple(fetched)))

    def are_fetched(self, array: Array, dearest: int) -> bool:
        """Can neighbours have what is added to their elements, if what is computed for that costs no more?"""
        found = Neighbours(self.loops, self.body, self.memory, dearest, False, True, self.free)
        return bool(found.sums(array, self.body))

    def place_for(self, array: Array) -> Load:
        dims = tuple(affine.maximum(trips(loop), affine.ZERO) for loop in self.loops)
        kept = Array(self.names.fresh(f"{array.name}_kept"), array.dtype, dims)
        place = tuple(affine.sub(loop.index, loop.start) for loop in self.loops)
        return Load(kept, place, checked=False, natural=True)


def _normal(target: Load) -> Load:
    return replace(target, index=tuple(map(affine.normal, target.index)))


def _stored(place: Load, stmt: AddTo) -> Store:
    return Store(place.array, place.index, stmt.value, checked=False, natural=True, span=stmt.span)


__all__ = ["keep_for_neighbours"]
