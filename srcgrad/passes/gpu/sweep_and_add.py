"""What a sweep over a grid gathers in memory of its own is added where it is gathered, in other memory.

    for i in range(n):                           for p in range(n):
        old_b[i] = 0.0                               total = …  (of u_b)
    for p in range(n):                               if not 1 <= p < n - 1:
        total = …  (of u_b)                →             total += u_b[p]
        old_b[p] += total                            u_b_next[p] = total
    for i in range(1, n - 1):                    for i in range(1, n - 1):
        rate_b += … * u_b[i]                         rate_b += … * u_b[i]
        u_b[i] = 0.0                             u_b, u_b_next = u_b_next, u_b
    for i in range(n):
        u_b[i] += old_b[i]

The sweep of a step from a copy of the state: `u[1:-1] = f(old[:-2], old[2:])`, where `old = u.copy()`.
"""

from __future__ import annotations

from ...analysis.effects import effects, names_used, touched
from ...analysis.grids import Sweep, covers, in_box, nest_of, sweep_of, within
from ...ir import affine
from ...ir.expressions import Array, Const, Expr, Load, Var, negated
from ...ir.nodes import AddTo, Assign, Block, Function, If, Stmt, Store, Swap
from ...ir.walk import expressions, loads, statements
from .alternate import InOtherMemory


def sweep_and_add(function: Function) -> Function:
    return _Adds(function).function()


class _Adds(InOtherMemory):
    def turned(self, stmt: Stmt, out: list[Stmt]) -> Block | None:
        added = _added(stmt)
        if added is None:
            return None
        target, gathered = added
        name = gathered.name
        touching = [k for k, s in enumerate(out) if name in names_used(s)]
        if len(touching) < 2 or len(self.uses[name]) != 4 or name in self.outside or target.name in self.others:
            return None  # (what makes it, clears it, adds to it, and reads it)
        zero, at = touching[-2:]
        sweep = sweep_of(out[at])
        if sweep is None or sweep.place.array.name != name or not covers(sweep.loops, target):
            return None
        if self.made(name) is None or self.made(target.name) is None or not _is_cleared(out[zero], sweep):
            return None
        cleared: list[tuple[int, Stmt | None, list[tuple[Expr, Expr]]]] = []
        for k in range(zero + 1, len(out)):
            if k == at or target.name not in _touched_within(out[k]):
                continue
            found = self.without_clearing(out[k], target.name) if k > at else None
            if cleared or (found is None and (k < at or target.name in _changed(out[k]))):
                return None  # (nobody looks at it any more where it is cleared)
            if found is not None:
                cleared.append((k, *found))
        box = cleared[0][2] if cleared else None
        inside = None if box is None else in_box(sweep.loops, box)
        self.others[target.name] = Array(self.names.fresh(f"{target.name}_next"), target.dtype, target.dims)
        out[at] = _in_other(sweep, target, self.others[target.name], inside, is_cleared=box is not None)
        for k, rest, _ in cleared:
            out[k : k + 1] = [] if rest is None else [rest]
        del out[zero]
        self.gone.add(name)
        return (Swap(target, self.others[target.name]),)

    def without_clearing(self, stmt: Stmt, name: str) -> tuple[Stmt | None, list[tuple[Expr, Expr]]] | None:
        """Loops that clear a box of an array, in which each looks at its own element only: the rest, and the box."""
        nest = nest_of(stmt)
        if nest is None or not all(isinstance(s, (AddTo, Assign, Store)) for s in nest[1]):
            return None
        loops, body = nest
        stores = [k for k, s in enumerate(body) if name in _changed(s)]
        if len(stores) != 1 or not self.is_fixed(loops):
            return None
        (at,) = stores
        store = body[at]
        if not isinstance(store, Store) or not (isinstance(store.value, Const) and not store.value.value):
            return None
        if len(store.index) != len(loops) or any(name in names_used(s) for s in body[at + 1 :]):
            return None
        shifts = [affine.sub(part, loop.index) for part, loop in zip(store.index, loops, strict=True)]
        own = all(load.index == store.index for s in body[:at] for load in _loads(s) if load.array.name == name)
        if not own or any(not isinstance(shift, Const) for shift in shifts):
            return None
        box = [(affine.add(loop.start, x), affine.add(loop.stop, x)) for loop, x in zip(loops, shifts, strict=True)]
        if not all(affine.is_at_least(start, 0) for start, _ in box):
            return None
        rest = (*body[:at], *body[at + 1 :])
        return (within(loops, rest) if any(not isinstance(s, Assign) for s in rest) else None), box


def _in_other(sweep: Sweep, target: Array, other: Array, inside: Expr | None, is_cleared: bool) -> Stmt:
    """The sweep, which sets the other array to what it gathers and what was there, but in the box that is cleared."""
    total, place = sweep.add.value, Load(target, sweep.place.index, checked=False, natural=sweep.place.natural)
    assert isinstance(total, Var)
    added: Block = (AddTo(total, place, reorder=True),)
    if is_cleared:
        added = () if inside is None else (If(negated(inside), added),)
    stored = Store(other, place.index, total, checked=False, natural=place.natural, span=sweep.add.span)
    return within(sweep.loops, (*sweep.body, *added, stored))


def _added(stmt: Stmt) -> tuple[Array, Array] | None:
    """Which array is added to which one, all elements to those in their place."""
    loops, body = nest_of(stmt) or ((), ())
    indices = tuple(loop.index for loop in loops)
    match body:
        case (AddTo(target=Load(array=target, index=there), value=Load(array=value, index=here)),):
            if there == here == indices and target.name != value.name and covers(loops, target):
                return target, value
    return None


def _is_cleared(stmt: Stmt, sweep: Sweep) -> bool:
    """Are all elements of what the sweep adds to set to zero, and nothing else?"""
    loops, body = nest_of(stmt) or ((), ())
    match body:
        case (Store(array=array, index=index, value=Const(value=value)),):
            indices = tuple(loop.index for loop in loops)
            return array.name == sweep.place.array.name and index == indices and not value and covers(loops, array)
    return False


def _touched_within(stmt: Stmt) -> set[str]:
    return set().union(*(touched(s) for s in statements((stmt,))))


def _changed(stmt: Stmt) -> set[str]:
    return {access.array.name for access in effects((stmt,)).accesses if access.writes}


def _loads(stmt: Stmt) -> list[Load]:
    return [load for expr in expressions(stmt) for load in loads(expr)]


__all__ = ["sweep_and_add"]
