"""A sweep over a grid on a GPU reads one array and writes another: nothing is copied or cleared on the way.

    for i in range(n - 2):                       for p in range(n):
        t_b[i] = u_b[i + 1]                          total = 0.0
    for p in range(n):                               if p < n - 2:
        total = 0.0                        →             total += w * u_b[p + 1]
        if p < n - 2:                                …
            total += w * t_b[p]                      u_b_next[p] = u_b[p] + total
        …                                        u_b, u_b_next = u_b_next, u_b
        u_b[p] += total

    y_b = zeros(n)                               y_b = zeros(n)
    for _ in range(steps):                       for _ in range(steps):
        x_b, y_b = y_b, x_b                          x_b, y_b = y_b, x_b
        for p in range(n):                 →         for p in range(n):
            total = …  (of y_b)                          total = …  (of y_b)
            x_b[p] += total                              if not 1 <= p < n - 1:
        for i in range(1, n - 1):                            total += x_b[p]
            y_b[i] = 0.0                                 x_b[p] = total
                                                 for i in range(1, n - 1): y_b[i] = 0.0

Both stand behind `gather`, which writes such loops over p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..ir import affine
from ..ir.expressions import BOOL, Array, Call, Const, Expr, Load, Var, both, negated
from ..ir.nodes import AddTo, Alloc, Assign, Block, Comment, CopyTo, For, Function, If, Stmt, Store, Swap, While, leaves
from ..ir.walk import (
    blocks,
    counts_upwards,
    loads,
    map_expressions,
    mentioned,
    rewrite,
    rewrite_block,
    statements,
    substitute,
    targets,
    variables,
    with_blocks,
)
from .effects import effects, is_set, names_used, touched

BY_ELEMENT = (AddTo, Alloc, Assign, CopyTo, For, If, Store, Swap, While)  # what may touch memory whose names change


def alternate(function: Function) -> Function:
    function = replace(function, body=_without_stores_back(function.body))
    function = _ClearedLate(function).function()
    return _Copied(function).function()


def _without_stores_back(block: Block) -> Block:
    """Nothing is stored where it has just been read from."""
    out: list[Stmt] = []
    for stmt in block:
        if blocks(stmt):
            stmt = with_blocks(stmt, tuple(map(_without_stores_back, blocks(stmt))))
        match out[-1] if out else None, stmt:
            case Store(array=there, index=x, value=Load() as read), Store(array=back, index=y, value=Load() as value):
                if (read.array, read.index, value.array, value.index) == (back, y, there, x):
                    continue
        out.append(stmt)
    return tuple(out)


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


# ------------------------------------------------------------------------------------------------- cleared too early


class _ClearedLate(Memory):
    """Memory that a loop clears for its next iteration is cleared there, by what adds to it first."""

    def function(self) -> Function:
        return replace(self.whole, body=on_host(self.whole.body, self.turned))

    def turned(self, stmt: Stmt, out: list[Stmt]) -> Block | None:
        later = self.later(stmt, tuple(out)) if isinstance(stmt, For) else None
        if later is not None:
            out[:] = [s for s in out if not (isinstance(s, Alloc) and s.array in targets(later[0]))]
        return later

    def later(self, loop: For, before: Block) -> Block | None:
        """The loop without the clearing, and the clearing, which is left for its end.

        Ahead of it the memory, of which only what is never cleared has to be zero in the beginning.
        """
        swaps = [s for s in statements(loop.body) if isinstance(s, Swap)]
        if len(swaps) != 1 or swaps[0] not in loop.body:
            return None
        (swap,) = swaps
        for added, cleared in ((swap.left, swap.right), (swap.right, swap.left)):
            if self.made(added.name) is not None and self.is_zero(cleared, before):
                changed = self.changed(loop, swap, added.name, cleared)
                if changed is not None:
                    return changed
        return None

    def changed(self, loop: For, swap: Swap, added: str, memory: Array) -> Block | None:
        cleared = memory.name
        body = list(loop.body)
        exchanged = body.index(swap)
        at = next((k for k in range(exchanged + 1, len(body)) if added in names_used(body[k])), None)
        sweep = None if at is None else sweep_of(body[at])
        if at is None or sweep is None or sweep.place.array.name != added:
            return None
        for k in range(at + 1, len(body)):
            clearing = clearing_of(body[k], cleared)
            if clearing is None:
                continue
            loops, store, rest = clearing
            seen = any(cleared in names_used(s) for s in (*body[:exchanged], *body[k + 1 :]))  # as it is, not cleared
            if seen or not self.is_fixed(loops):
                return None
            box = [(cleared.start, cleared.stop) for cleared in loops]
            body[at] = _over_cleared(sweep, box, sweep.place.array)
            body[k : k + 1] = [within(loops, rest)] if rest else []
            return (*self.zero_around(sweep, loops, memory), replace(loop, body=tuple(body)), within(loops, (store,)))
        return None

    def zero_around(self, sweep: Sweep, box: tuple[For, ...], memory: Array) -> Block:
        """The memory, with zeros around the box."""
        made = self.made(memory.name)
        assert made is not None
        inside = in_box(sweep.loops, [(cleared.start, cleared.stop) for cleared in box])
        if inside is None:
            return (replace(made, fill=None),)
        indices = tuple(loop.index for loop in sweep.loops)
        zero = Store(memory, indices, Const(memory.dtype.type(0).item(), memory.dtype), checked=False)
        return replace(made, fill=None), within(sweep.loops, (If(negated(inside), (zero,)),))

    def is_zero(self, array: Array, before: Block) -> bool:
        """Is this memory as it was made, of zeros?"""
        made = self.made(array.name)
        if made is None or made not in before or not (isinstance(made.fill, Const) and not made.fill.value):
            return False
        since = before[before.index(made) + 1 :]
        return not any(array.name in names_used(s) for s in since)


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


def _over_cleared(sweep: Sweep, box: list[tuple[Expr, Expr]], array: Array) -> Stmt:
    """The sweep, which assigns inside of the box, and adds around it; the sums go to an array."""
    inside = in_box(sweep.loops, box)
    total = sweep.add.value
    assert isinstance(total, Var)
    around = () if inside is None else (If(negated(inside), (AddTo(total, sweep.place, reorder=True),)),)
    return within(sweep.loops, (*sweep.body, *around, stored(sweep, array, total)))


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


# ------------------------------------------------------------------------------------------------------------ copied


class InOtherMemory(Memory):
    """Arrays are given others, with which they change places."""

    def function(self) -> Function:
        self.others: dict[str, Array] = {}
        self.gone: set[str] = set()
        body = on_host(self.whole.body, self.turned)
        return replace(self.whole, body=rewrite_block(body, self.allocated)) if self.others else self.whole

    def allocated(self, stmt: Stmt) -> Block:
        if isinstance(stmt, Alloc) and stmt.array.name in self.gone:
            return ()
        if isinstance(stmt, Alloc) and stmt.array.name in self.others:
            return stmt, Alloc(self.others[stmt.array.name], stmt.dims, span=stmt.span)
        return (stmt,)

    def turned(self, stmt: Stmt, out: list[Stmt]) -> Block | None:
        """What takes the place of the statement, if anything does; what stands ahead of it, in `out`, may change."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Copy:
    """Loops that store elements of an array elsewhere; `box` is what they clear, `rest` what is left of them."""

    loops: tuple[For, ...]
    store: Store
    source: Load
    rest: Block
    box: list[tuple[Expr, Expr]] | None = None


class _Copied(InOtherMemory):
    """A sweep that reads a copy of what it adds to reads that itself, and writes to other memory."""

    def turned(self, stmt: Stmt, out: list[Stmt]) -> Block | None:
        sweep = sweep_of(stmt)
        if sweep is None or self.made(sweep.place.array.name) is None:
            return None
        target = sweep.place.array
        for k in reversed(range(len(out))):
            seen = effects((out[k],))
            nest = nest_of(out[k])
            copied = None if nest is None else self.copied(*nest, target)
            if copied is not None:
                is_seen = copied.box is not None and any(target.name in names_used(s) for s in out[k + 1 :])
                return None if is_seen else self.without_copy(copied, sweep, out, k)
            if any(a.writes and a.array.name == target.name for a in seen.accesses) or target.name in seen.allocated:
                return None
        return None

    def without_copy(self, copied: _Copy, sweep: Sweep, out: list[Stmt], at: int) -> Block | None:
        name, target = copied.store.array.name, sweep.place.array
        indices = [loop.index for loop in copied.loops]

        def read(expr: Expr) -> Expr:
            if isinstance(expr, Load) and expr.array.name == name:
                return _moved(copied.source, dict(zip(indices, expr.index, strict=True)))
            return expr

        readers = (*out[at + 1 :], within(sweep.loops, sweep.body))
        uses = sum(name in touched(s) for s in statements(readers))
        *between, swept = rewrite_block(readers, lambda s: (map_expressions(s, lambda e: rewrite(e, read)),))
        if len(self.uses[name]) != uses + 2 or any(name in touched(s) for s in statements((*between, swept))):
            return None  # somebody else reads it, or asks how long it is
        out[at:] = [*([within(copied.loops, copied.rest)] if copied.rest else []), *between]
        self.gone.add(name)
        if target.name not in self.others:
            self.others[target.name] = Array(self.names.fresh(f"{target.name}_next"), target.dtype, target.dims)
        other = self.others[target.name]
        loops, body = nest_of(swept) or ((), ())
        if copied.box is None:
            return within(loops, (*body, stored(sweep, other, sweep.place + sweep.add.value))), Swap(target, other)
        return _over_cleared(replace(sweep, body=body), copied.box, other), Swap(target, other)

    def copied(self, loops: tuple[For, ...], body: Block, target: Array) -> _Copy | None:
        """What copies elements of `target` to memory that is there for that alone."""
        if not self.is_fixed(loops) or not all(isinstance(s, (AddTo, Assign, Store)) for s in body):
            return None
        indices = tuple(loop.index for loop in loops)
        clearing = [s for s in body if isinstance(s, Store) and s.array.name == target.name]
        writes = [a for a in effects(body).accesses if a.writes and a.array.name == target.name]
        if len(writes) != len(clearing) or len(clearing) > 1:
            return None
        read = {s.var: s.value for s in body if isinstance(s, Assign) and isinstance(s.value, Load)}
        for stmt in body:
            if not isinstance(stmt, Store) or stmt.index != indices:
                continue
            source = read.get(stmt.value, stmt.value) if isinstance(stmt.value, Var) else stmt.value
            is_of_target = isinstance(source, Load) and source.array.name == target.name
            if not is_of_target or variables(source) - set(indices):
                continue
            made = self.made(stmt.array.name)
            if made is None or made.fill is not None or stmt.array.name in self.outside:
                continue
            assert isinstance(source, Load)
            if not clearing and stmt.value == source:
                return _Copy(loops, stmt, source, tuple(s for s in body if s is not stmt))
            return self.cleared(loops, stmt, source, body, clearing)
        return None

    def cleared(
        self, loops: tuple[For, ...], store: Store, source: Load, body: Block, clearing: list[Store]
    ) -> _Copy | None:
        """The copy, where all that the loops do is to take elements out: nothing is left of them."""
        taken = [s for s in body if isinstance(s, Assign) and s.value == source]
        is_alone = len(body) == len(taken) + 2 and len(clearing) == 1
        if not is_alone or body.index(clearing[0]) < body.index(taken[0] if taken else store):
            return None
        is_zero = isinstance(clearing[0].value, Const) and not clearing[0].value.value
        if not is_zero or clearing[0].index != source.index or not counts_upwards(clearing[0]):
            return None
        if any(sum(s.var in mentioned(other) for other in statements(self.whole.body)) > 2 for s in taken):
            return None
        shifts = [affine.difference(part, loop.index) for part, loop in zip(source.index, loops, strict=False)]
        if len(source.index) != len(loops) or None in shifts:
            return None
        ends = [(affine.integer(shift), loop) for shift, loop in zip(shifts, loops, strict=True)]  # type: ignore[arg-type]
        box = [(affine.add(loop.start, shift), affine.add(loop.stop, shift)) for shift, loop in ends]
        return _Copy(loops, store, source, (), box)


def _moved(value: Expr, at: dict[Var, Expr]) -> Expr:
    def normal(expr: Expr) -> Expr:
        return replace(expr, index=tuple(map(affine.normal, expr.index))) if isinstance(expr, Load) else expr

    return rewrite(substitute(value, at), normal)


__all__ = [
    "InOtherMemory",
    "Memory",
    "Sweep",
    "alternate",
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
