"""Nests of independent loops over grids, which a GPU runs as one kernel: what they go through, and what they add to.

for p in range(n):
    total = …                  a sweep: every element of u_b, and nothing else, gets its total
    u_b[p] += total
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..ir import affine
from ..ir.expressions import BOOL, Array, Call, Const, Expr, Load, Var, both
from ..ir.nodes import AddTo, Alloc, Assign, Block, Comment, CopyTo, For, Function, If, Stmt, Store, Swap, While, leaves
from ..ir.walk import blocks, loads, statements, targets, variables, with_blocks
from .effects import names_used, touched
from .lives import is_set

BY_ELEMENT = (AddTo, Alloc, Assign, CopyTo, For, If, Store, Swap, While)  # what may touch memory whose names change


@dataclass(frozen=True)
class Sweep:
    """Independent loops over all elements of an array, each of which gets its `total` added."""

    loops: tuple[For, ...]
    body: Block
    add: AddTo

    @property
    def place(self) -> Load:
        return self.add.target  # type: ignore[return-value]


def within(loops: tuple[For, ...], body: Block) -> Stmt:
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body[0]


def is_parallel(stmt: Stmt) -> bool:
    """Does it become a kernel?  In there names stay what they are."""
    return isinstance(stmt, For) and not stmt.ordered


def on_host(block: Block, turned: Callable[[Stmt, list[Stmt]], Block | None]) -> Block:
    """The block with what takes the place of each statement that is no kernel's, innermost first.

    `turned` is given what stands ahead of it, too, and may change that; None leaves the statement.
    """
    out: list[Stmt] = []
    for stmt in block:
        if blocks(stmt) and not is_parallel(stmt):
            stmt = with_blocks(stmt, tuple(on_host(part, turned) for part in blocks(stmt)))
        new = turned(stmt, out)
        out += (stmt,) if new is None else new
    return tuple(out)


def nest_of(stmt: Stmt) -> tuple[tuple[For, ...], Block] | None:
    """Independent loops, upwards by one, right within each other, and the body of the innermost."""
    loops: list[For] = []
    while isinstance(stmt, For) and not stmt.ordered and affine.same(stmt.step, affine.ONE):
        loops.append(stmt)
        inside = tuple(s for s in stmt.body if not isinstance(s, Comment))
        if len(inside) != 1 or not isinstance(inside[0], For):
            return tuple(loops), inside
        stmt = inside[0]
    return None


def sweep_of(stmt: Stmt) -> Sweep | None:
    """The statement as a sweep, if it is one; where nothing comes to some elements, nothing is added to them."""
    nest = nest_of(stmt)
    if nest is None or not nest[1] or not all(isinstance(s, (AddTo, Assign, If)) for s in statements(nest[1])):
        return None
    loops, (*ahead, add) = nest
    if not isinstance(add, AddTo) or not isinstance(add.target, Load) or not isinstance(add.value, Var):
        return None
    array = add.target.array
    is_own = add.target.index == tuple(loop.index for loop in loops)
    stores = any(isinstance(s, AddTo) and isinstance(s.target, Load) for s in statements(tuple(ahead)))
    if not is_own or stores or any(array.name in touched(s) for s in statements(tuple(ahead))):
        return None
    if not is_set(add.value, tuple(ahead)):
        return None  # a number of somebody else's, which is not to be added to
    return _over_all(Sweep(loops, tuple(ahead), add))


def _over_all(sweep: Sweep) -> Sweep | None:
    """The sweep over all elements of its array, of which it may have been over a part."""
    loops, dims = sweep.loops, sweep.place.array.dims
    if covers(loops, sweep.place.array):
        return sweep
    total, *body = sweep.body
    is_zero = isinstance(total, Assign) and total.var == sweep.add.value and isinstance(total.value, Const)
    if not is_zero or total.value.value or len(loops) != len(dims):  # type: ignore[attr-defined]
        return None
    for loop, dim in zip(loops, dims, strict=True):
        if not (affine.is_at_least(loop.start, 0) and affine.is_at_least(affine.sub(dim, loop.stop), 0)):
            return None
    full = tuple(replace(loop, start=affine.ZERO, stop=dim) for loop, dim in zip(loops, dims, strict=True))
    inside = in_box(full, [(loop.start, loop.stop) for loop in loops])
    assert inside is not None
    return Sweep(full, (total, If(inside, tuple(body))), sweep.add)


def covers(loops: tuple[For, ...], array: Array) -> bool:
    """Do their indices go through all elements?"""
    return len(loops) == array.ndim and all(
        affine.same(loop.start, affine.ZERO) and affine.same(loop.stop, dim)
        for loop, dim in zip(loops, array.dims, strict=True)
    )


class Memory:
    """What is known of the arrays of a function."""

    def __init__(self, function: Function) -> None:
        self.whole, self.names = function, function.info.names
        self.changing: set[Var] = set()
        self.uses: dict[str, list[Stmt]] = {}
        for stmt in statements(function.body):
            self.changing |= {v for v in targets(stmt) if isinstance(v, Var)}
            for name in touched(stmt):
                self.uses.setdefault(name, []).append(stmt)
        results = leaves(function.results)
        self.outside = {p.name for p in function.params} | {r.name for r in results if isinstance(r, Array)}

    def made(self, name: str) -> Alloc | None:
        """What makes the memory, if that is one statement, and nobody has another handle on it."""
        uses = self.uses.get(name, [])
        found = [s for s in uses if isinstance(s, Alloc) and s.array.name == name]
        is_plain = all(isinstance(s, BY_ELEMENT) for s in uses)
        is_param = any(p.name == name for p in self.whole.params)
        return found[0] if len(found) == 1 and is_plain and not is_param else None

    def is_fixed(self, loops: tuple[For, ...]) -> bool:
        """Are the ranges the same whenever the loops run?"""
        bounds = [bound for loop in loops for bound in (loop.start, loop.stop)]
        return not any(loads(bound) or variables(bound) & self.changing for bound in bounds)


def clearing_of(stmt: Stmt, name: str) -> tuple[tuple[For, ...], Store, Block] | None:
    """Loops that store zeros in a box of an array and look at it no more; the store, and what else they do."""
    nest = nest_of(stmt)
    if nest is None or not all(isinstance(s, (AddTo, Assign, Store)) for s in nest[1]):
        return None
    loops, body = nest
    stores = [s for s in body if isinstance(s, Store) and s.array.name == name]
    if len(stores) != 1:
        return None
    (store,) = stores
    is_zero = isinstance(store.value, Const) and not store.value.value
    at = body.index(store)
    if (
        not is_zero
        or store.index != tuple(loop.index for loop in loops)
        or any(name in names_used(s) for s in body[at + 1 :])
    ):
        return None
    return loops, store, (*body[:at], *body[at + 1 :])


def in_box(loops: tuple[For, ...], box: list[tuple[Expr, Expr]]) -> Expr | None:
    """Whether the indices of these loops lie in ranges; None where they always do."""
    inside: Expr | None = None
    for loop, (start, stop) in zip(loops, box, strict=True):
        if not affine.same(start, loop.start):
            inside = both(inside, Call("le", (start, loop.index), BOOL))
        if not affine.same(stop, loop.stop):
            inside = both(inside, Call("lt", (loop.index, stop), BOOL))
    return inside


def stored(sweep: Sweep, array: Array, value: Expr) -> Store:
    place = sweep.place
    return Store(array, place.index, value, checked=False, natural=place.natural, span=sweep.add.span)


__all__ = [
    "Memory",
    "Sweep",
    "clearing_of",
    "covers",
    "in_box",
    "is_parallel",
    "nest_of",
    "on_host",
    "stored",
    "sweep_of",
    "within",
]
