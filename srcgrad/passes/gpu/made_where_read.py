"""What a loop only makes ready for others, those make by themselves: on a GPU it would be a kernel of its own.

    for j in range(m):                             for i in range(n):
        mean[j] = s[j] / n                             for j in range(m):
    for i in range(n):                      →              mean_j = s[j] / n
        for j in range(m):                                 y[i, j] = x[i, j] - mean_j
            y[i, j] = x[i, j] - mean[j]

What decides something is made so only where it comes out the same to the last digit: each kernel is compiled by itself,
and a product may become one instruction with the addition behind it in one of them alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...analysis.decisions import deciding
from ...analysis.effects import effects, names_used, uses
from ...analysis.grids import is_parallel, nest_of, within
from ...ir import affine
from ...ir.expressions import LAZY, Array, Call, Const, Expr, Load, Var
from ...ir.info import OUTSIDE, memory_of
from ...ir.nodes import Alloc, Assign, Block, Comment, For, Function, Stmt, Store, leaves
from ...ir.walk import (
    blocks,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    rewrite_block,
    subexpressions,
    substitute,
    variables,
    with_blocks,
)
from ...rules.costs import additions

MOST = 40  # additions: a division and a root, and less than an element of a large array takes to come
READERS = 3  # loops that make it for themselves
SUMS, PRODUCTS = frozenset(("add", "sub")), frozenset(("mul", "square", "pow"))
HANDED_ON = {*LAZY, "neg", "pos", "steady"}  # calls that are one of their arguments, but for the sign


def made_where_read(function: Function) -> Function:
    made: set[str] = set()
    while (body := _Pass(function, made).block(function.body)) is not None:
        function = replace(function, body=body)
    left = uses(function.body)
    is_idle = lambda stmt: isinstance(stmt, Alloc) and stmt.array.name in made and left[stmt.array.name] == 1
    return replace(function, body=rewrite_block(function.body, lambda stmt: () if is_idle(stmt) else (stmt,)))


@dataclass(frozen=True)
class _Making:
    """A loop that sets an element of an array in each iteration, and does nothing else."""

    loop: For
    store: Store
    value: Expr

    def place(self, index: Var) -> tuple[str, tuple[Expr, ...]]:
        """The element that the iteration sets."""
        at = {self.loop.index: index}
        return self.store.array.name, tuple(substitute(part, at) for part in self.store.index)

    def is_over(self, loop: For) -> bool:
        ends = ((loop.start, self.loop.start), (loop.stop, self.loop.stop), (loop.step, self.loop.step))
        return all(affine.same(x, y) for x, y in ends)

    def in_a(self, nest: Stmt, fresh: Callable[[str], str]) -> Stmt | None:
        """A nest that reads elements of the array, if they are those of its iterations: they are made in it."""
        found = nest_of(nest)
        if found is None:
            return None
        loops, body = found
        array = self.store.array
        indices = {self.place(loop.index): loop.index for loop in loops if self.is_over(loop)}
        made: dict[Var, Assign] = {}

        def swapped(expr: Expr) -> Expr:
            index = indices.get((expr.array.name, expr.index)) if isinstance(expr, Load) else None
            if index is None:
                return expr
            if index not in made:
                value = substitute(self.value, {self.loop.index: index})
                made[index] = Assign(Var(fresh(f"{array.name}_{index.name}"), array.dtype), value, span=self.store.span)
            return made[index].var

        body = rewrite_block(body, lambda stmt: (map_expressions(stmt, lambda expr: rewrite(expr, swapped)),))
        return None if array.name in uses(body) else within(loops, (*made.values(), *body))


class _Pass:
    def __init__(self, function: Function, made: set[str]) -> None:
        self.whole, self.names, self.made = function, function.info.names, made
        self.memory, self.uses = memory_of(function), uses(function.body)
        self.results = {leaf for leaf in leaves(function.results) if isinstance(leaf, (Array, Var))}

    def block(self, block: Block) -> Block | None:
        """The block without one such loop, if it has one."""
        for position, stmt in enumerate(block):
            before, later = block[:position], block[position + 1 :]
            if not is_parallel(stmt):
                parts = [(part, self.block(part)) for part in blocks(stmt)]
                if any(new is not None for _, new in parts):
                    changed = with_blocks(stmt, tuple(old if new is None else new for old, new in parts))
                    return (*before, changed, *later)
                continue
            making = self.making(stmt)
            if making is not None and self.is_ours(making, before, later):
                new = self.read_later(making, later)
                if new is not None:
                    self.made.add(making.store.array.name)
                    return (*before, *new)
        return None

    def making(self, stmt: Stmt) -> _Making | None:
        assert isinstance(stmt, For)
        *assigned, store = [s for s in stmt.body if not isinstance(s, Comment)] or [stmt]
        if not isinstance(store, Store) or not all(isinstance(s, Assign) for s in assigned):
            return None
        if [part for part in store.index if not isinstance(part, Const)] != [stmt.index]:
            return None
        values: dict[Var, Expr] = {}
        for one in assigned:
            assert isinstance(one, Assign)
            if one.var in values or one.var in self.results or self.uses[one.var.name] > uses((stmt,))[one.var.name]:
                return None
            values[one.var] = substitute(one.value, values)
        value = substitute(store.value, values)
        is_elementwise = all(stmt.index in load.index and not any(map(loads, load.index)) for load in loads(value))
        return _Making(stmt, store, value) if is_elementwise and additions(value) <= MOST else None

    def is_ours(self, making: _Making, before: Block, later: Block) -> bool:
        """Is the array of this block alone, and does what it is made of stay as it is?"""
        array, memory = making.store.array, self.memory
        group = memory.get(array.name, OUTSIDE)
        is_shared = any(other == group and name != array.name for name, other in memory.items())
        is_made_here = any(_makes(stmt, array) for stmt in before)
        here = (*(before if is_made_here else ()), making.loop, *later)  # else it is made ahead of a loop around these
        is_seen = array in self.results or self.uses[array.name] > uses(here)[array.name] + (not is_made_here)
        is_set_anew = is_made_here or all(load.array != array for load in loads(making.value))
        if group == OUTSIDE or is_shared or is_seen or not is_set_anew:
            return False
        seen = effects(later)
        read = {memory.get(name, OUTSIDE) for name in (array.name, *(x.array.name for x in loads(making.value)))}
        numbers = variables(making.value) - {making.loop.index}
        numbers |= variables(making.loop.start) | variables(making.loop.stop)  # readers name the same range later
        is_changed = seen.memory_by(memory)[0] & read or numbers_set(later) & numbers
        return not is_changed and array.name not in seen.shapes

    def read_later(self, making: _Making, later: Block) -> Block | None:
        """What comes behind the loop, without it."""
        name = making.store.array.name
        readers = [stmt for stmt in later if name in names_used(stmt)]
        if not 0 < len(readers) <= READERS:
            return None
        if len(readers) > 1 and name in deciding(self.whole.body) and not rounds_alike(making.value):
            return None
        out: list[Stmt] = []
        for stmt in later:
            new = making.in_a(stmt, self.names.fresh) if name in names_used(stmt) else stmt
            if new is None:
                return None
            out.append(new)
        return tuple(out)


def _makes(stmt: Stmt, array: Array) -> bool:
    return isinstance(stmt, Alloc) and stmt.array == array and stmt.on is None


def rounds_alike(value: Expr) -> bool:
    """Does it come out the same to the last digit, whatever stands around it?"""
    calls = {node.op for node in subexpressions(value) if isinstance(node, Call)}
    return value.dtype.kind != "c" and not (calls & SUMS and calls & PRODUCTS) and not _may_be_joined(value)


def _may_be_joined(value: Expr) -> bool:
    """May it be one instruction with a sum or a product that it stands in?"""
    if not isinstance(value, Call):
        return False
    return value.op in SUMS | PRODUCTS or (value.op in HANDED_ON and any(map(_may_be_joined, value.args)))


__all__ = ["MOST", "READERS", "made_where_read", "rounds_alike"]
