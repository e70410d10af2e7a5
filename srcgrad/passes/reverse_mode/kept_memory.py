"""Where the values lie that `keep` keeps: in arrays with an axis for each loop, in rows, on stacks.

for i in range(n):                 s_kept = empty(n)
    s = s * x[i]            →      for i in range(n): s_kept[i] = s; s = s * x[i]

while …:                           while …:
    for i in range(n):                 s_row = empty(n)
        s = s * x[i]        →          for i in range(n): s_row[i] = s; s = s * x[i]
                                       push s_row
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...analysis.costs import DIVISIONS
from ...analysis.rows import iteration, row_lengths, row_view
from ...analysis.signs import Signs
from ...analysis.validity import Forward, Place
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Expr, Load, Var
from ...ir.info import Info, roots_of
from ...ir.nodes import Alloc, Assign, CopyTo, For, Function, If, NewStack, Pop, Push, Stack, Stmt, Store, Sweep, While
from ...ir.walk import rewrite, subexpressions, substitute
from ...rules.costs import may_raise
from .edits import Edits

ROOM, ROOM_IN_ALL = (
    64,
    4096,
)  # of a stack to begin with; of one that does not grow, in an adjoint that is differentiated


class KeptMemory:
    """What is added to the forward part to store values, and to the tops of the sweep's blocks to have them back."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.info: Info = function.info
        self.roots = roots_of(function)
        *body, sweep = function.body
        assert isinstance(sweep, Sweep)
        self.body, self.sweep = tuple(body), sweep
        self.signs = Signs(replace(function, body=self.body))
        self.forward = Forward(self.body, self.roots, self.signs)
        self.edits = Edits()
        self.tops: dict[tuple[int, int], list[Stmt]] = {}  # what a mirrored block of the sweep begins with
        self.stacks: dict[Any, Stack] = {}  # one for all values of a dtype that a block pushes
        self.kept_arrays: dict[Any, Array] = {}
        self.tables: dict[Any, Array] = {}

    def read(self, expr: Expr, at: int) -> Expr:
        """A legal expression of the sweep for the value that `expr` had just before `at`."""
        raise NotImplementedError

    def recomputed(self, expr: Expr, at: int) -> Expr:
        """The same, of what is read in it."""
        raise NotImplementedError

    def after_place(self, place: Place) -> list[Stmt]:
        """Where in the forward part a statement goes that must follow the birth of a version."""
        if place.label is None:
            return self.edits.entry.setdefault(place.block, [])
        return self.edits.after.setdefault(place.label, [])

    # ----------------------------------------------------------------------------------------------- values

    def keep_value(
        self, source: Var, target: Var, key: tuple[int, int], where: list[Stmt], over: list[For | While] | None = None
    ) -> None:
        """Store `source` at a place in the forward block; load it at the top of the mirrored block.

        One axis per loop `over` which the value may differ: all that are around the block, or fewer.
        """
        loops = self.forward.loops_around(key)
        if not loops:
            copy = Var(self.info.names.fresh(f"{source.name}_kept"), source.dtype)
            where.append(Assign(copy, source))
            self.tops.setdefault(key, []).append(Assign(target, copy))
            return
        over = over or loops
        shape = self.forward.shape_over(over, loops)
        if shape is not None:
            kept = Array(self.info.names.fresh(f"{source.name}_kept"), source.dtype, shape)
            self.edits.before.setdefault(loops[0].label, []).append(Alloc(kept, shape))
            index = tuple(map(iteration, over))
            where.append(Store(kept, index, source, checked=False))
            self.tops.setdefault(key, []).append(Assign(target, Load(kept, self.mirrored(index, key), checked=False)))
            return
        inner = self.forward.nest_run_again(key)
        if inner:
            self.push_row(source, target, key, where, inner)
            return
        if (key, source.dtype) not in self.stacks:
            self.stacks[key, source.dtype] = self.new_stack("kept", source.dtype, loops[0].label)
        self.push_at_end(self.stacks[key, source.dtype], source, target, key, where)

    def push_row(self, source: Var, target: Var, key: tuple[int, int], where: list[Stmt], inner: list[For]) -> None:
        """Of a nest that runs over and over, nobody knows how often: each time its values are pushed as one array."""
        first, names = inner[0].label, self.info.names
        shape = self.forward.rectangle(inner)
        assert shape is not None
        row = Array(names.fresh(f"{source.name}_row"), source.dtype, shape)
        self.edits.before.setdefault(first, []).append(Alloc(row, shape))
        index = tuple(map(iteration, inner))
        where.append(Store(row, index, source, checked=False))
        stack = self.new_stack(f"{source.name}_kept", source.dtype, self.forward.loops_around(key)[0].label)
        self.edits.after.setdefault(first, []).append(Push(stack, row))
        dims = tuple(self.read(d, first) for d in shape)
        out = Array(names.fresh(f"{source.name}_then"), source.dtype, dims)
        self.tops.setdefault(self.forward.block_of(first), []).append(Pop(out, stack, dims))
        self.tops.setdefault(key, []).append(Assign(target, Load(out, self.mirrored(index, key), checked=False)))

    def push_at_end(self, stack: Stack, source: Var, target: Var, key: tuple[int, int], where: list[Stmt]) -> None:
        """What a block keeps is pushed together, when it is left, and popped together by the mirrored block."""
        held = Var(self.info.names.fresh(f"{source.name}_kept"), source.dtype)
        where.append(Assign(held, source))
        self.edits.ends.setdefault(key, []).append(Push(stack, held))
        self.tops.setdefault(key, []).append(Pop(target, stack))

    def mirrored(self, index: tuple[Expr, ...], key: tuple[int, int]) -> tuple[Expr, ...]:
        """The index of a kept value, as the mirrored block of the sweep computes it."""
        inside = self.forward.blocks[key][0].label
        return tuple(self.recomputed(i, inside) for i in index)

    def new_stack(self, name: str, dtype: Any, before: int) -> Stack:
        fresh = self.info.names.fresh(name)
        stack = Stack(fresh, self.info.names.fresh(f"{fresh}_top"), dtype)
        self.edits.before.setdefault(before, []).append(NewStack(stack, ROOM_IN_ALL if self.info.again else ROOM))
        return stack

    def table(self, expr: Expr, over: list[For | While], loops: list[For | While]) -> Load | None:
        """A value that comes out the same in every iteration of some loops is computed ahead of the outermost of these.

            for i in range(n):                            t_kept = empty(m)
                for k in range(m):                        for k in range(m): t_kept[k] = sin(0.1 * k)
                    … x[i] * sin(0.1 * k)         →       for i in range(n):
                                                              for k in range(m):
                                                                  … x[i] * t_kept[k]

        Stored by each iteration of an outer loop, it would tie these to one another.
        """
        outermost = next(k for k, loop in enumerate(loops) if loop not in over)
        first, inner = loops[outermost], [loop for loop in over if loop in loops[outermost:]]
        ranges = [e for loop in inner if isinstance(loop, For) for e in (loop.start, loop.stop, loop.step)]
        nodes = [node for node in subexpressions(expr) if isinstance(node, Call)]
        shape = self.forward.shape_over(over, loops)
        if shape is None or not inner or any(isinstance(loop, While) for loop in inner):
            return None
        if not all(self.forward.is_known_ahead(e, loops[outermost:]) for e in ranges):
            return None
        if any(may_raise(node) and node.op not in DIVISIONS for node in nodes):
            return None
        index = tuple(map(iteration, over))
        key = expr, first.label, index, shape, *ranges  # (two loops may call their index alike)
        if key not in self.tables:
            table = Array(self.info.names.fresh("t_kept"), expr.dtype, shape)
            said = {loop.index: Var(self.info.names.fresh(loop.index.name), loop.index.dtype) for loop in inner}  # type: ignore[union-attr]
            place = tuple(substitute(i, said) for i in index)
            fill: Stmt = Store(table, place, rewrite(substitute(expr, said), _without_raising), checked=False)
            for loop in reversed(inner):
                assert isinstance(loop, For)
                fill = For(said[loop.index], loop.start, loop.stop, loop.step, (fill,), ordered=False)
                if not isinstance(loop.step, Const):  # nobody may come to that loop, and to its error
                    fill = If(Call("ne", (loop.step, Const(0, loop.step.dtype)), BOOL), (fill,))
            self.edits.before.setdefault(loops[0].label, []).append(Alloc(table, shape))
            self.edits.before.setdefault(first.label, []).append(fill)
            self.tables[key] = table
        return Load(self.tables[key], index, checked=False)

    # ----------------------------------------------------------------------------------------------- arrays

    def keep_array(self, array: Array, place: Place) -> Array:
        """Keep the whole array as it is at a place of a block (label -k: just before statement k)."""
        if (array, place) in self.kept_arrays:
            return self.kept_arrays[array, place]
        if place.label is not None and place.label < 0:
            where = self.edits.before.setdefault(-place.label, [])
            at = -place.label
        else:
            where = self.after_place(place)
            at = self.forward.label_after(place)
        key, names = place.block, self.info.names
        loops = self.forward.loops_around(key)
        shape = self.forward.rectangle(loops) if loops else ()
        dims_known = (
            shape is not None and all(self.forward.is_known_ahead(d, loops) for d in array.dims) if loops else True
        )
        grows = array.name in self.forward.growing
        if grows:
            where.append(Assign(rows_now := Var(names.fresh(f"{array.name}_rows"), INT64), array.dims[0]))
        if grows and loops:
            self.keep_growing(array, rows_now, place, at, where, loops[0])
            return self.kept_arrays[array, place]
        dims = tuple(self.read(d, at) for d in array.dims)
        if not loops:
            now = (rows_now, *array.dims[1:]) if grows else array.dims
            kept = Array(names.fresh(f"{array.name}_kept"), array.dtype, now)
            where += [Alloc(kept, now), CopyTo(kept, array)]
            self.kept_arrays[array, place] = kept
        elif shape is not None and dims_known:
            rows = Array(names.fresh(f"{array.name}_kept"), array.dtype, (*shape, *array.dims))
            self.edits.before.setdefault(loops[0].label, []).append(Alloc(rows, row_lengths(rows.dims)))
            row = Array(names.fresh(f"{array.name}_row"), array.dtype, array.dims)
            index = tuple(map(iteration, loops))
            where += [row_view(row, rows, index), CopyTo(row, array)]
            out = Array(names.fresh(f"{array.name}_then"), array.dtype, dims)
            self.tops.setdefault(key, []).append(row_view(out, rows, self.mirrored(index, key)))
            self.kept_arrays[array, place] = out
        else:
            stack = self.new_stack(f"{array.name}_kept", array.dtype, loops[0].label)
            where.append(Push(stack, array))
            out = Array(names.fresh(f"{array.name}_then"), array.dtype, dims)
            self.tops.setdefault(key, []).append(Pop(out, stack, dims))
            self.kept_arrays[array, place] = out
        return self.kept_arrays[array, place]

    def keep_growing(
        self, array: Array, rows: Var, place: Place, at: int, where: list[Stmt], loop: For | While
    ) -> None:
        """Keep a list that grows, and how long its memory is."""
        names = self.info.names
        stack, lengths = (
            self.new_stack(f"{array.name}_{what}", dtype, loop.label)
            for what, dtype in (("kept", array.dtype), ("lengths", INT64))
        )
        where += [Push(lengths, rows), Push(stack, array)]
        dims = (rows, *(self.read(d, at) for d in array.dims[1:]))
        out = Array(names.fresh(f"{array.name}_then"), array.dtype, dims)
        self.tops.setdefault(place.block, []).extend([Pop(rows, lengths), Pop(out, stack, dims)])
        self.kept_arrays[array, place] = out

    def has_rows(self, array: Array) -> bool:
        made = self.forward.alloc_of(array)
        return made is not None and made.label in self.edits.instead

    def give_rows(self, array: Array) -> None:
        """Memory that is made in every iteration is a row of its own in memory that is made once."""
        made = self.forward.alloc_of(array)
        assert made is not None
        if made.label in self.edits.instead:
            return
        key = self.forward.block_of(made.label)
        loops = self.forward.loops_around(key)
        shape = self.forward.rectangle(loops)
        assert shape is not None
        name = self.info.names.fresh(f"{made.array.name}_rows")
        rows = Array(name, made.array.dtype, (*shape, *made.array.dims))
        self.edits.before.setdefault(loops[0].label, []).append(
            Alloc(rows, row_lengths((*shape, *made.dims)), made.fill)
        )
        index = tuple(map(iteration, loops))
        self.edits.instead[made.label] = row_view(made.array, rows, index)
        self.tops.setdefault(key, []).insert(0, row_view(made.array, rows, self.mirrored(index, key)))


def _without_raising(expr: Expr) -> Expr:
    """A division of integers by 0 gives 0, as in compiled code: Python's would raise, where nobody may ask for it."""
    if not (isinstance(expr, Call) and expr.op in DIVISIONS and may_raise(expr)):
        return expr
    divisor = expr.args[1]
    if isinstance(divisor, Const) and divisor.value:
        return expr
    zero = Const(0, divisor.dtype)
    return Call("select", (Call("ne", (divisor, zero), BOOL), expr, Const(0, expr.dtype)), expr.dtype)


__all__ = ["KeptMemory"]
