"""Appends IR for arrays: allocations, views and copies; and goes back to where a loop begins, for another try at it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np

from ..ir import affine
from ..ir.expressions import Array, Axis, Call, Const, Expr, Load
from ..ir.nodes import (
    Alloc,
    CopyTo,
    For,
    NewAxis,
    Pick,
    Reshape,
    Run,
    Split,
    Stmt,
    Store,
    Subscript,
    Transpose,
    View,
    split_dims,
)
from ..ir.types import ScalarType
from ..ir.walk import statements, subexpressions
from .array_values import ArrayValue, follows_order, has_whole_rows, lies_in_order, run_of, whole
from .joined_numbers import types_of
from .known_memory import KnownMemory


class Builder(KnownMemory):
    """What is appended to, and what is known of it: on top of `Statements`, `KnownLengths` and `KnownMemory`."""

    REMEMBERED = (*KnownMemory.REMEMBERED, "contiguous", "turned", "transposed")

    def __init__(self) -> None:
        super().__init__()
        self.contiguous: set[str] = set()  # handles in C order
        self.uncertain: set[str] = set()  # memory that in Python may be in another order than C
        self.turned: set[str] = set()  # handles with their axes in another order than their memory has them
        self.transposed: dict[str, tuple[Array, tuple[int, ...]]] = {}  # handles → what they are a transpose of
        self.in_composition = False  # is a function of NumPy's interpreted?
        self.other_layouts: set[str] = set()  # arguments in another order than C
        self.for_kernels = False  # loops may run on a device, which tells of errors by whole numbers alone
        self.wraps = False  # arrays are rolled by reading around their ends
        self.again = False  # see `options.Options`
        self.made_at_entry: set[str] = set()  # arrays that are made in the prologue
        self.indices_at_entry: set[str] = set()  # of loops in it
        self.handed_in: set[str] = set()  # parameters for what the function finds outside
        self.handed_in_order: set[str] = set()  # of these, arrays in C order
        self.random_states: dict[Any, Any] = {}  # generators of random numbers, from the entry on
        self.may_hold: dict[Expr, frozenset[ScalarType]] = {}  # the types of variables, where they hold one for sure
        self.items_on_demand = 0  # what asks for items one by one, and may stop early, around what is read

    def is_known_outside(self, root: str) -> bool:
        """Does anybody see it if this memory is written: the caller, or who reads what the function finds outside?"""
        return root in self.handed_in or (root in self.parameters and self.arguments_are_shared)

    def save(self) -> Any:
        """The state, for another try at a loop."""
        held = {key: copy(getattr(self, key)) for key in self.REMEMBERED}
        return held, self.names.save(), _copied(self.twins), _copied(self.originals)

    def restore(self, saved: Any) -> None:
        """Back to a saved state; but what is done at the entry of the function stays done."""
        held, names, twins, originals = saved
        block = self.block
        early = {key: var for key, var in self.common_lengths.items() if var in self.known_at_entry}
        views = {s.array: s for s in self.prologue if isinstance(s, View)}
        conformed = {key: array for key, array in self.conformed.items() if array in views}
        for key, value in held.items():
            setattr(self, key, copy(value))
        block[:], self.block = self.block, block  # the list itself belongs to whoever collects it
        self.names.restore(names)
        self.twins, self.originals = _copied(twins), _copied(originals)
        self.forget_contents()
        self.common_lengths |= early
        self.conformed |= conformed
        self.names.taken |= {var.name for var in self.known_at_entry} | {array.name for array in views}
        self.names.taken |= self.made_at_entry | self.handed_in | self.indices_at_entry
        self.names.indices |= self.indices_at_entry
        rows = {array.name for array in self.rows_at_entry.values()}
        self.roots |= {name: name for name in rows}
        self.contiguous |= rows
        self.roots |= {name: name for name in self.handed_in & self.parameters}
        self.contiguous |= self.handed_in_order
        self.pinned |= self.known_at_entry
        self.lower |= dict.fromkeys(self.known_at_entry.difference(self.quotients.values()), 0)
        self.roots |= {array.name: self.root(view.base) for array, view in views.items()}

    @contextmanager
    def in_prologue(self) -> Iterator[None]:
        """Statements go to the prologue: they need nothing but the arguments, and stay whatever else is undone."""
        before, block = set(self.names.taken), list[Stmt]()
        with self.nested(block):
            yield
        self.prologue += block
        made = self.names.taken - before
        self.indices_at_entry |= {stmt.index.name for stmt in statements(tuple(block)) if isinstance(stmt, For)}
        self.made_at_entry |= made - self.indices_at_entry

    # ---------------------------------------------------------------------------------------------- arrays

    def allocate(self, name: str, dtype: np.dtype, dims: tuple[Expr, ...], fill: Expr | None = None) -> Array:
        dims = tuple(self.pin(dim) for dim in dims)
        array = Array(self.names.fresh(name), dtype, dims)
        self.emit(Alloc(array, dims, fill))
        self.made_in[array.name] = self.block
        self.contiguous.add(array.name)
        self.roots[array.name] = array.name
        self.is_new(array.name)
        return array

    def materialize(self, value: ArrayValue, name: str = "t", copy: bool = False) -> Array:
        """The value in memory of its own, or the memory that it already is (unless a copy is wanted)."""
        handle = value.handle
        if handle is not None and not copy:
            return handle
        self.check_fresh(value.element)
        fill = value.element if isinstance(value.element, Const) else None
        target = self.allocate(name, value.dtype, value.dims, fill)
        self.note_types(target, types_of(self, value))
        if (value.has_gaps and not copy) or not self.follows_order(value):
            self.uncertain.add(target.name)
        if fill is not None:
            return target
        if handle is not None:
            self.emit(CopyTo(target, handle))
            return target
        self.each(value.dims, lambda index: Store(target, index, value.at(index)))
        return target

    def is_in_order(self, array: Array) -> bool:
        """Does the order of the axes follow the memory, in Python too?"""
        return array.name not in self.turned and self.root(array) not in self.uncertain | self.other_layouts

    def follows_order(self, value: ArrayValue) -> bool:
        """Is it in C order in NumPy, or will it be when it is computed?"""
        return follows_order(value, self.is_in_order)

    def leave_order(self, operands: Sequence[Any]) -> bool:
        """Is what is computed of them, element by element, in C order in NumPy?"""
        return all(lies_in_order(v, self.is_in_order) for v in operands if isinstance(v, ArrayValue))

    def view(self, value: ArrayValue, name: str = "t") -> Array:
        """A handle on the memory that a window shows."""
        handle = value.handle
        if handle is not None:
            return handle
        assert isinstance(value.element, Load)
        base = value.element.array
        items: list[Pick | Run] = []
        order: list[int] = []
        for part in value.element.index:
            run = run_of(part)
            if run is None:
                items.append(Pick(self.pin(part, "i")))
            else:
                start, axis, step = run
                items.append(Run(self.pin(start, "start"), self.pin(step, "step"), value.dims[axis]))
                order.append(axis)
        dims = tuple(value.dims[axis] for axis in order)
        array = base
        if not all(_is_whole(item, dim) for item, dim in zip(items, base.dims, strict=False)):
            array = self._handle(name, base, dims, Subscript(tuple(items)))
            runs = [item for item in items if isinstance(item, Run)]
            lead = [k for k, item in enumerate(items) if isinstance(item, Run)]
            tail = all(_is_whole(items[k], base.dims[k]) for k in lead[1:])
            unit = not runs or affine.same(runs[0].step, affine.ONE)
            if (
                base.name in self.contiguous
                and tail
                and unit
                and lead == list(range(len(items) - len(lead), len(items)))
            ):
                self.contiguous.add(array.name)
        if order != sorted(order):
            ranks = [sorted(order).index(axis) for axis in order]
            turn = tuple(ranks.index(k) for k in range(len(order)))
            array = self._handle(name, array, tuple(dims[k] for k in turn), Transpose(turn))
        if len(order) < value.ndim:
            kept = iter(array.dims)
            new = tuple(
                Run(affine.ZERO, affine.ONE, next(kept)) if axis in order else NewAxis() for axis in range(value.ndim)
            )
            if array.name in self.contiguous:  # Numba would forget that with the new axis
                return self.reshape(array, value.dims, name)
            array = self._handle(name, array, value.dims, Subscript(new))
        return array

    def has_steps_up(self, value: ArrayValue) -> bool:
        """Is it memory seen with a step that is only known at run time, and known to go up: x[:: n + 1]?"""
        if not value.has_run_time_step:
            return False
        parts = [part for part in value.element.index if any(isinstance(n, Axis) for n in subexpressions(part))]  # type: ignore
        runs = [run for part in parts if (run := run_of(part)) is not None]
        goes_up = all(self.is_at_least(step, 1) for _, _, step in runs if not isinstance(step, Const))
        return goes_up and len(runs) == len(parts) and sorted(axis for _, axis, _ in runs) == list(range(value.ndim))

    def reshape(self, array: Array, dims: tuple[Expr, ...], name: str) -> Array:
        out = self._handle(name, array, tuple(self.pin(dim) for dim in dims), Reshape(dims))
        self.contiguous.add(out.name)
        return out

    def split(self, array: Array, axis: int, parts: tuple[Expr, ...], name: str) -> Array:
        dims = split_dims(array.dims, axis, parts)
        return self._handle(name, array, tuple(self.pin(dim) for dim in dims), Split(axis, parts))

    def _handle(self, name: str, base: Array, dims: tuple[Expr, ...], how: Any) -> Array:
        array = Array(self.names.fresh(name), base.dtype, dims)
        self.emit(View(array, base, how))
        self.roots[array.name] = self.root(base)
        if isinstance(how, Transpose):
            self.transposed[array.name] = base, how.order
        if isinstance(how, Transpose) or base.name in self.turned:
            self.turned.add(array.name)
        return array

    def stored(self, value: ArrayValue, name: str = "t") -> Array:
        """The value as an array that can be handed on: itself, a view, or a copy in fresh memory."""
        self.check_fresh(value.element)
        if (value.is_window and (value.ndim or value.handle is not None)) or self.has_steps_up(value):
            return self.view(value, name)
        copy = self.materialize(value, name)
        if value.is_view_to_numpy or (value.is_window and not value.ndim):  # compiled code has no views of no axes
            self.twin(copy, value.element.array)  # type: ignore[attr-defined]
        return self.twin_of_part(copy, value)

    def kept(self, value: ArrayValue, name: str = "t") -> ArrayValue:
        """The value as what a name stands for: memory.  An element, as an array of no axes, is that element."""
        if value.ndim == 0 and value.handle is None and value.is_window:
            self.check_fresh(value.element)
            load = value.element
            assert isinstance(load, Load)
            return ArrayValue((), Load(load.array, tuple(self.pin(part, "i") for part in load.index)))
        return whole(self.stored(value, name))

    def in_order(self, value: ArrayValue, name: str = "t") -> Array:
        """The value as a C-contiguous array."""
        if value.is_window:
            array = self.stored(value, name)
            if array.name in self.contiguous:
                return array
        return self.twin_of_part(self.materialize(value, name, copy=True), value)

    def in_rows(self, value: ArrayValue) -> Array:
        """The value as a matrix whose rows lie in one piece each, which is all that BLAS asks for."""
        if value.is_window and has_whole_rows(value.element, self.contiguous):
            return self.stored(value)
        return self.in_order(value)

    def twin_of_part(self, copy: Array, value: ArrayValue) -> Array:
        """The copy; of z.real and z.imag, NumPy has a view."""
        match value.element:
            case Call(op="real" | "imag", args=(Load(array=array),)):
                self.twin(copy, array)
        return copy


def _is_whole(item: Pick | Run, dim: Expr) -> bool:
    return (
        isinstance(item, Run)
        and affine.same(item.start, affine.ZERO)
        and affine.same(item.length, dim)
        and (affine.same(item.step, affine.ONE))
    )


def _copied(twins: dict[str, set[str]]) -> dict[str, set[str]]:
    return {name: set(found) for name, found in twins.items()}
