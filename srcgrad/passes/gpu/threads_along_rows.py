"""What neighbouring threads touch at one time lies side by side in memory that nobody but kernels sees.

    t = empty(n, k, d)                             t = empty(n, d, k)
    kernel (i, j):                                 kernel (i, j):
        for a in range(d):                 →           for a in range(d):
            t[i, j, a] = x[i, a] - m[j, a]                 t[i, a, j] = x[i, a] - m[j, a]

A warp asks for 32 numbers by one instruction: they are 8 sectors of 32 bytes if they lie side by side, and up to 32
if each is in a row of its own.  The threads of a warp differ in the index of the innermost axis (in that of `Lanes`, in
a kernel by rows), so the axis of an array that most accesses choose by it is to be the last one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ...analysis.effects import touched
from ...ir import affine
from ...ir.expressions import Array, Dim, Expr, Load, Var
from ...ir.nodes import AddTo, Alloc, AtomicAdd, Block, For, Function, Kernel, Lanes, Stmt, Store, While, leaves
from ...ir.rename import rename_arrays
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    variables,
)

ROUNDS = 8  # of a loop, and threads along an axis, for all that is known: what is inside counts as often


def threads_along_rows(function: Function) -> Function:
    use = _Use(function)
    axes = {name: last for name in use.made if (last := use.axis_of_threads(name)) is not None}
    if not axes:
        return function
    arrays = {name: _turned(use.made[name].array, last) for name, last in axes.items()}

    def place(array: Array, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return _with_last(index, axes[array.name]) if array.name in axes else index

    def element(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array.name in axes:
            return replace(expr, index=place(expr.array, expr.index))
        return expr

    def change(stmt: Stmt) -> tuple[Stmt, ...]:
        stmt = map_expressions(stmt, lambda expr: rewrite(expr, element))
        if isinstance(stmt, (Store, AtomicAdd)):
            stmt = replace(stmt, index=place(stmt.array, stmt.index))
        if isinstance(stmt, Alloc) and stmt.array.name in axes:
            stmt = replace(stmt, dims=_with_last(stmt.dims, axes[stmt.array.name]))
        return (rename_arrays(stmt, arrays),)

    return replace(function, body=rewrite_block(function.body, change))


def _with_last(parts: tuple[Expr, ...], axis: int) -> tuple[Expr, ...]:
    return (*parts[:axis], *parts[axis + 1 :], parts[axis])


def _turned(array: Array, axis: int) -> Array:
    return replace(array, dims=_with_last(array.dims, axis))


@dataclass
class _Use:
    """How kernels choose elements of the arrays that are made for them alone."""

    function: Function
    made: dict[str, Alloc] = field(default_factory=dict)
    chosen: dict[str, Counter[int]] = field(default_factory=dict)  # the axis by the index of threads, how often

    def __post_init__(self) -> None:
        for stmt in statements(self.function.body):
            if isinstance(stmt, Alloc) and stmt.array.ndim > 1 and stmt.on is None:
                self.made[stmt.array.name] = stmt
        lasting = {leaf.name for leaf in leaves(self.function.results) if isinstance(leaf, Array)}
        made_twice = Counter(s.array.name for s in statements(self.function.body) if isinstance(s, Alloc))
        for name in (*lasting, *(name for name, count in made_twice.items() if count > 1)):
            self.made.pop(name, None)
        self.chosen = {name: Counter() for name in self.made}
        self.look(self.function.body, 1)

    def axis_of_threads(self, name: str) -> int | None:
        """The axis that is to be the last one, if it is another one now."""
        found, last = self.chosen[name], self.made[name].array.ndim - 1
        axis, often = max(found.items(), key=lambda item: item[1], default=(last, 0))
        return axis if axis != last and often > found[last] else None

    def look(self, block: Block, often: int) -> None:
        for stmt in block:
            if isinstance(stmt, Kernel):
                self.look_into(stmt, often)
            else:
                for name in () if isinstance(stmt, Alloc) else touched(stmt):
                    self.made.pop(name, None)  # the host, or a library, has to do with it
                for part in blocks(stmt):
                    self.look(part, often * _rounds(stmt))

    def look_into(self, kernel: Kernel, often: int) -> None:
        of_its_own = {array.name for _, _, array in kernel.at_first} | {made.array.name for made in kernel.scratch}
        for name in of_its_own:
            self.made.pop(name, None)
        threads = None if kernel.by_rows or not kernel.axes else kernel.axes[-1].index
        self.note(kernel.body, threads, math.prod(map(_rounds, kernel.axes), start=often))

    def note(self, block: Block, threads: Var | None, often: int) -> None:
        for stmt in block:
            known = {place.array.name for place in _places(stmt)}
            asked = {e.array for whole in expressions(stmt) for e in subexpressions(whole) if isinstance(e, Dim)}
            for name in touched(stmt) - known | asked:
                self.made.pop(name, None)  # not element by element
            for place in _places(stmt):
                found = self.chosen.get(place.array.name)
                axis = None if found is None or threads is None else _chosen_by(threads, place.index)
                if found is not None and axis is not None:
                    found[axis] += often
            inner = stmt.index if isinstance(stmt, Lanes) else threads
            for part in blocks(stmt):
                self.note(part, inner, often * _rounds(stmt))


def _rounds(stmt: Stmt) -> int:
    """How often what is inside runs."""
    if not isinstance(stmt, (For, Lanes, While)):
        return 1
    length = None if isinstance(stmt, While) else affine.difference(stmt.stop, stmt.start)
    return ROUNDS if length is None else max(1, min(abs(length), ROUNDS))


def _places(stmt: Stmt) -> Iterator[Load | Store | AtomicAdd]:
    """The elements that a statement touches, but for what is in its blocks."""
    for expr in expressions(stmt):
        yield from loads(expr)
    match stmt:
        case Store() | AtomicAdd():
            yield stmt
        case AddTo(target=Load() as target):
            yield target


def _chosen_by(index: Var, place: tuple[Expr, ...]) -> int | None:
    """The one axis along which neighbours by this index are neighbours."""
    axes = [axis for axis, part in enumerate(place) if index in variables(part)]
    if len(axes) != 1:
        return None
    terms, _ = affine.affine(place[axes[0]])
    return axes[0] if dict(terms).get(index) in (1, -1) else None


__all__ = ["threads_along_rows"]
