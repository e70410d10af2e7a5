"""Arrays as values: an element as an expression of the axes, and what is known of where it lies in memory."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ..ir import affine
from ..ir.expressions import Array, Axis, Call, Const, Expr, Load
from ..ir.types import ScalarType
from ..ir.walk import is_constant, loads, rewrite, subexpressions, substitute


def _varies(part: Expr) -> bool:
    """Is an index another one for every element along an axis?"""
    return any(isinstance(node, Axis) for node in subexpressions(part))


@dataclass(frozen=True)
class ArrayValue:
    """An array: `element` is its value at the index (Axis(0), Axis(1), …).  It may or may not be memory.

    `types`: of what is no memory, those of its elements on different paths (see `joined_numbers`).
    `in_order`: NumPy makes it in C order, which its element need not tell (x[:, None] * x is the transpose of another).
    """

    dims: tuple[Expr, ...]
    element: Expr
    has_gaps: bool = field(default=False, compare=False)  # every other element, or backwards, of what has no name
    types: frozenset[ScalarType] = field(default=frozenset(), compare=False)
    in_order: bool = field(default=False, compare=False)

    @property
    def dtype(self) -> np.dtype:
        return self.element.dtype

    @property
    def ndim(self) -> int:
        return len(self.dims)

    def at(self, index: Sequence[Expr]) -> Expr:
        return substitute(self.element, dict(enumerate(index)))

    @property
    def handle(self) -> Array | None:
        """The array that this is the whole of, if it is one."""
        match self.element:
            case Load(array=array, index=index) if index == axes(self.ndim) and array.ndim == self.ndim:
                return array if all(map(affine.same, array.dims, self.dims)) else None
        return None

    @property
    def is_window(self) -> bool:
        """Is it memory, seen through plain indices (so that writing to it means something)?"""
        if not isinstance(self.element, Load) or self.has_run_time_step:
            return False
        seen: list[int] = []
        for part in self.element.index:
            numbers = [node.number for node in subexpressions(part) if isinstance(node, Axis)]
            if len(numbers) > 1 or (numbers and run_of(part) is None):
                return False
            seen += numbers
        missing = [k for k in range(self.ndim) if k not in seen]
        return len(seen) == len(set(seen)) and all(is_constant(self.dims[k], 1) for k in missing)

    @property
    def is_view_to_numpy(self) -> bool:
        """Is it memory that NumPy shows through a view and we have a copy of: a diagonal, rows that are repeated?"""
        return (
            isinstance(self.element, Load)
            and not self.is_window
            and not any(_varies(part) and loads(part) for part in self.element.index)
        )

    @property
    def has_run_time_step(self) -> bool:
        """Is it memory seen with a step that is only known at run time?  Naming it makes a copy, but where that is
        known to go up."""
        runs = [run_of(part) for part in self.element.index] if isinstance(self.element, Load) else []
        return any(run is not None and not isinstance(run[2], Const) for run in runs)


@dataclass(frozen=True)
class Flat(ArrayValue):
    """x.flat: all elements in C order.  What is picked from it is a copy, and what is written to it repeats."""


def axes(ndim: int) -> tuple[Expr, ...]:
    return tuple(Axis(k) for k in range(ndim))


@lru_cache(maxsize=65536)
def run_of(index: Expr) -> tuple[Expr, int, Expr] | None:
    """(start, axis, step) of an index that runs along one axis with a step free of axes."""
    numbers = [node.number for node in subexpressions(index) if isinstance(node, Axis)]
    if len(numbers) != 1:
        return None
    axis = Axis(numbers[0])
    terms, constant = affine.affine(index)
    for term, count in terms:
        if term == axis:
            rest = tuple((t, c) for t, c in terms if t != axis)
            return affine.from_affine(rest, constant), axis.number, affine.integer(count)
    for term, count in terms:  # a run-time step: step * #k
        match term:
            case Call(op="mul", args=args) if axis in args and count == 1:
                step = next(arg for arg in args if arg != axis)
                rest = tuple((t, c) for t, c in terms if t != term)
                return affine.from_affine(rest, constant), axis.number, step
    return None


def has_whole_rows(window: Expr, contiguous: Container[str]) -> bool:
    """Is it a matrix of rows of such an array, or of parts of them, as they lie there?"""
    assert isinstance(window, Load)
    runs = [run for part in window.index if (run := run_of(part)) is not None]
    steps = [step.value if isinstance(step, Const) else 0 for _, _, step in runs]
    by_rows = [axis for _, axis, _ in runs] == [0, 1] and run_of(window.index[-1]) is not None
    return window.array.name in contiguous and by_rows and steps[0] > 0 and steps[1] == 1


def follows_order(value: ArrayValue, is_in_order: Callable[[Array], bool]) -> bool:
    """Does NumPy put the result of this arithmetic in C order?  Its memory follows that of the operands.

    x.T * 2.0 and x[:, k] * 2.0 are in another order: to reshape them is to copy them.  Of w[:, None] * w it is not
    known by its element, as it may be the transpose of another such product, and no more of np.ones((n, m)) * w.
    """
    if value.ndim < 2 or value.in_order:
        return True
    runs = _runs_in_order(value.element, is_in_order)
    long = {k for k, length in enumerate(value.dims) if not is_constant(length, 1)}
    return runs is not None and (len(long) < 2 or any(long <= set(own) for own in runs))


def lies_in_order(value: ArrayValue, is_in_order: Callable[[Array], bool]) -> bool:
    """Does it, as an operand, leave the result in C order?  So does a view of what is stretched."""
    if isinstance(value.element, Load):
        return _runs_in_order(value.element, is_in_order) is not None
    return follows_order(value, is_in_order)


def _runs_in_order(element: Expr, is_in_order: Callable[[Array], bool]) -> list[list[int]] | None:
    """The axes along which each array is read; None where these do not follow its memory."""
    found: list[list[int]] = []
    for load in loads(element):
        runs: list[int] = []
        gathered_late = False
        for part in load.index:
            own = sorted({node.number for node in subexpressions(part) if isinstance(node, Axis)})
            gathered_late |= bool(runs) and any(True for _ in loads(part))
            runs += own
        if gathered_late or runs != sorted(set(runs)) or (len(runs) > 1 and not is_in_order(load.array)):
            return None
        found.append(runs)
    return found


def computed(value: ArrayValue, element: Expr) -> ArrayValue:
    """What is computed of an array, element by element."""
    return ArrayValue(value.dims, element, in_order=value.in_order)


def whole(array: Array) -> ArrayValue:
    return ArrayValue(array.dims, Load(array, axes(array.ndim)))


def remap(value: ArrayValue, dims: tuple[Expr, ...], index: Sequence[Expr]) -> ArrayValue:
    """The array whose element at #0, #1 … is that of `value` at `index`."""
    has_gaps = value.has_gaps or _leaves_gaps(value.dims, dims, index)
    in_order = value.in_order and _keep_order(dims, index)
    return ArrayValue(dims, rewrite(value.at(index), affine_inside), has_gaps, value.types, in_order)


def _leaves_gaps(old: tuple[Expr, ...], new: tuple[Expr, ...], index: Sequence[Expr]) -> bool:
    """Is less than all of an axis taken, of which there are several: every other element, or a part of each row?"""
    is_in_rows = False
    for length, part in zip(old, index, strict=True):
        run = run_of(part)
        if run is not None and not is_constant(run[2], 1):
            return True
        is_whole = run is not None and affine.same(run[0], affine.ZERO) and affine.same(new[run[1]], length)
        if is_in_rows and not is_whole and not is_constant(length, 1):
            return True
        is_in_rows |= run is not None and not is_constant(new[run[1]], 1)
    return False


def _keep_order(dims: tuple[Expr, ...], index: Sequence[Expr]) -> bool:
    """Does what is read at these places lie in memory as its axes follow each other, if what it is read from does?"""
    seen = [node.number for part in index for node in subexpressions(part) if isinstance(node, Axis)]
    return seen == sorted(set(seen)) and {k for k, n in enumerate(dims) if not is_constant(n, 1)} <= set(seen)


def affine_inside(expr: Expr) -> Expr:
    if isinstance(expr, Load):
        return Load(expr.array, tuple(affine.normal(part) for part in expr.index))
    return expr
