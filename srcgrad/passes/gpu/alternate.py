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

from dataclasses import dataclass, replace

from ...analysis.effects import effects, names_used, touched
from ...analysis.grids import Memory, Sweep, clearing_of, in_box, nest_of, on_host, stored, sweep_of, within
from ...ir import affine
from ...ir.expressions import Array, Const, Expr, Load, Var, negated
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    For,
    Function,
    If,
    Stmt,
    Store,
    Swap,
)
from ...ir.walk import (
    blocks,
    counts_upwards,
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


def _over_cleared(sweep: Sweep, box: list[tuple[Expr, Expr]], array: Array) -> Stmt:
    """The sweep, which assigns inside of the box, and adds around it; the sums go to an array."""
    inside = in_box(sweep.loops, box)
    total = sweep.add.value
    assert isinstance(total, Var)
    around = () if inside is None else (If(negated(inside), (AddTo(total, sweep.place, reorder=True),)),)
    return within(sweep.loops, (*sweep.body, *around, stored(sweep, array, total)))


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


__all__ = ["InOtherMemory", "alternate"]
