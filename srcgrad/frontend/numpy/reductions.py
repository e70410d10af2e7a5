"""Sums, means, extrema, products and norms over any axes.

(x * w).sum(axis=1)   →   s = zeros(n); for each i < n, j < m:  s[i] += x[i, j] * w[j]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...ir import affine
from ...ir.expressions import (
    BOOL,
    FLOAT64,
    INT64,
    Array,
    Axis,
    Call,
    Const,
    Cotangent,
    Expr,
    Load,
    Var,
    both,
    either,
    is_inexact,
    negated,
    select,
)
from ...ir.nodes import AddTo, Assign, ForEach, If, Raise, Rule, Spread, Stmt, Store
from ...ir.walk import substitute
from .. import reduced_before
from ..arithmetic import cast, cast_value, elementwise, imaginary_part, real_part
from ..array_values import ArrayValue, remap, whole
from ..builder import Builder
from ..values import Scalar, Static, TupleValue, static_int
from .creation import refuse_to_drop, refuse_unknown_axis
from .decompositions import library_call
from .masks import where_mask_holds

Index = tuple[Expr, ...]


def axes_of(builder: Builder, value: ArrayValue, axis: Any) -> tuple[int, ...]:
    """The axes that an `axis` argument names, in order."""
    if axis is None or (isinstance(axis, Static) and axis.value is None):
        return tuple(range(value.ndim))
    if isinstance(axis, TupleValue) and axis.kind is list:
        builder.refuse("'list' object cannot be interpreted as an integer", "axis=(0, 1)", error=ArgumentError)
    wanted = axis.items if isinstance(axis, TupleValue) else (axis,)
    out = []
    for item in wanted:
        number = static_int(item)
        if number is None:
            refuse_unknown_axis(builder, item, "axis must be a constant integer or a tuple of them")
        if not -value.ndim <= number < value.ndim:
            builder.refuse(
                f"axis {number} is out of bounds for an array of dimension {value.ndim}", error=ArgumentError
            )
        out.append(number % value.ndim)
    if len(set(out)) < len(out):
        builder.refuse("duplicate value in 'axis'", error=ArgumentError)
    return tuple(sorted(out))


class Reduction:
    """Where the result of a reduction stands, and the loop over everything that goes into it."""

    def __init__(self, builder: Builder, value: ArrayValue, axis: Any, keepdims: bool) -> None:
        self.builder, self.value = builder, value
        self.axes = axes_of(builder, value, axis)
        self.kept = tuple(k for k in range(value.ndim) if k not in self.axes)
        self.count = affine.product(tuple(value.dims[k] for k in self.axes))
        self.keepdims = keepdims
        self.kept_dims = tuple(value.dims[k] for k in self.kept)

    def start(self, dtype: np.dtype, fill: Expr | None, name: str) -> Var | Load:
        """Fresh memory for the result: a scalar, or an array without the reduced axes."""
        if not self.kept:
            value = fill if fill is not None else Const(dtype.type(0).item(), dtype)
            return self.builder.variable(name, value)
        array = self.builder.allocate(name, dtype, self.kept_dims, fill)
        if array.ndim > 1 and not self.builder.follows_order(self.value):
            self.builder.uncertain.add(array.name)
        return Load(array, tuple(Axis(k) for k in range(len(self.kept))))

    def known(self, op: str, dtype: np.dtype, only_read: bool = False) -> Var | Load | None:
        """The same number, where it was found before; or the array, for who makes something else of it at once."""
        found = self.builder.reduced.get(self._what(op, dtype), self.builder.block)
        if isinstance(found, Array):
            return Load(found, tuple(Axis(k) for k in range(len(self.kept)))) if only_read else None
        return found

    def note(self, op: str, target: Var | Load) -> None:
        found = target if isinstance(target, Var) else target.array
        self.builder.reduced.note(self._what(op, target.dtype), found, self.builder.block, self.builder.mutable)

    def _what(self, op: str, dtype: np.dtype) -> reduced_before.Reduction:
        return reduced_before.Reduction(op, dtype, tuple(self.axes), self.value.dims, self.value.element)

    def place(self, target: Var | Load, index: Index) -> Any:
        """The element of the result that the element of the operand at `index` goes into."""
        if isinstance(target, Var):
            return target
        return Load(target.array, tuple(index[k] for k in self.kept))

    def result(self, target: Var | Load) -> Any:
        if isinstance(target, Var):
            if not self.keepdims:
                return Scalar(target)
            return ArrayValue((affine.ONE,) * self.value.ndim, target)
        if not self.keepdims:
            return whole(target.array)
        index = tuple(Axis(k) for k in self.kept)
        dims = tuple(affine.ONE if k in self.axes else d for k, d in enumerate(self.value.dims))
        return ArrayValue(dims, Load(target.array, index))

    def over(self, body: Callable[[Index, Any], list[Stmt] | Stmt], target: Var | Load) -> ForEach:
        block: list[Stmt] = []
        with self.builder.into(block):
            self.builder.each(self.value.dims, lambda index: body(index, self.place(target, index)))
        return replace(block[-1], running=True)  # type: ignore[return-value, call-arg]

    def refuse_empty(self, what: str) -> None:
        if self.builder.is_at_least(self.count, 1):
            return
        empty = Call("eq", (self.count, affine.ZERO), BOOL)
        message = f"zero-size array to reduction operation {what} which has no identity"
        self.builder.emit(If(empty, (Raise("ValueError", message),)))


def total(
    builder: Builder,
    value: ArrayValue,
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = None,
    only_read: bool = False,
) -> Any:
    """np.sum"""
    out = dtype or np.add.reduce(np.empty(0, value.dtype)).dtype
    refuse_to_drop(builder, value, out)
    value = cast_value(value, out)
    builder.check_fresh(value.element)
    if value.ndim == 0:
        return Scalar(value.element)
    job = Reduction(builder, value, axis, keepdims)
    known = job.known("add", out, only_read)
    if known is not None:
        return job.result(known)
    target = job.start(out, Const(out.type(0).item(), out), "s")
    masked = where_mask_holds(builder, value)
    if masked is not None and isinstance(target, Var):
        mask, spread = masked
        builder.each(mask.dims, lambda index: If(mask.at(index), (AddTo(target, spread.at(index), True),)))
    else:
        builder.emit(job.over(lambda index, place: AddTo(place, value.at(index), True), target))
    job.note("add", target)
    return job.result(target)


def mean(builder: Builder, value: ArrayValue, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """np.mean"""
    out = dtype or (value.dtype if is_inexact(value.dtype) else FLOAT64)
    summed = total(builder, value, axis, keepdims, out, only_read=True)
    axes = axes_of(builder, value, axis)
    count = affine.product(tuple(value.dims[k] for k in axes))
    found = elementwise(builder, "div", (summed, Scalar(cast(count, out))))
    may_be_stretched = any(axis < kept for axis in axes for kept in range(value.ndim) if kept not in axes)
    if not may_be_stretched or builder.for_kernels or builder.again:
        return found
    return builder.kept(found)  # what is subtracted from each row is divided once


def extremum(
    builder: Builder, value: ArrayValue, axis: Any = None, keepdims: bool = False, *, op: str, start: Expr | None = None
) -> Any:
    """np.max and np.min: `op` is maximum or minimum; ties share the cotangent evenly.

    `start`: what is there before the first element; without it, there must be one.
    """
    refuse_complex(builder, value)
    if value.ndim == 0:
        builder.check_fresh(value.element)
        return Scalar(value.element)
    value = whole(builder.stored(value))
    job = Reduction(builder, value, axis, keepdims)
    known = job.known(op, value.dtype) if start is None else None
    if known is not None:
        return job.result(known)
    if start is None:
        job.refuse_empty(op)
    target = job.start(value.dtype, None, "top" if op == "maximum" else "bottom")
    first = [affine.ZERO if k in job.axes else Axis(job.kept.index(k)) for k in range(value.ndim)]
    forward: list[Stmt] = []
    with builder.into(forward):
        _store_all(builder, job, target, value.at(first) if start is None else start)
    forward.append(job.over(lambda i, place: _set(place, Call(op, (place, value.at(i)), value.dtype)), target))
    adjoint: list[Stmt] = []
    if value.dtype.kind == "f":
        with builder.into(adjoint):
            zero = Const(value.dtype.type(0).item(), value.dtype)
            one = Const(value.dtype.type(1).item(), value.dtype)
            ties = job.start(value.dtype, zero, "ties")

            def is_top(index: Index) -> Expr:
                return Call("eq", (value.at(index), job.place(target, index)), BOOL)

            def share(index: Index) -> Expr:
                return select(is_top(index), Cotangent(job.place(target, index)) / job.place(ties, index), zero)

            builder.emit(job.over(lambda i, place: AddTo(place, select(is_top(i), one, zero), True), ties))
            builder.emit(job.over(lambda i, place: Spread(value.at(i), share(i)), target))
    builder.emit(Rule(op, (_output(target),), (value.at([affine.ZERO] * value.ndim),), tuple(forward), tuple(adjoint)))
    if start is None:
        job.note(op, target)
    return job.result(target)


def refuse_complex(builder: Builder, value: Any) -> None:
    if value.dtype.kind == "c":
        builder.refuse("complex numbers have no order", "compare np.abs(z) or z.real", error=ArgumentError)


def place_of_extremum(builder: Builder, wins: str, value: ArrayValue, axis: Any, keepdims: bool) -> Any:
    """np.argmax and np.argmin: where the first of the largest (smallest) elements is; nan counts as one."""
    refuse_complex(builder, value)
    if value.ndim == 0:
        return Scalar(affine.ZERO)
    value = whole(builder.stored(value))
    job = Reduction(builder, value, axis, keepdims)
    job.refuse_empty("argmax" if wins == "gt" else "argmin")
    first = [affine.ZERO if k in job.axes else Axis(job.kept.index(k)) for k in range(value.ndim)]
    best, place = job.start(value.dtype, None, "best"), job.start(INT64, affine.ZERO, "at")
    _store_all(builder, job, best, value.at(first))
    _store_all(builder, job, place, affine.ZERO)

    def position(index: Index) -> Expr:
        out: Expr = affine.ZERO
        for k in job.axes:
            out = affine.add(affine.mul(out, value.dims[k]), index[k])
        return out

    def step(index: Index, target: Any) -> list[Stmt]:
        x, top = value.at(index), job.place(best, index)
        better: Expr = Call(wins, (x, top), BOOL)
        if value.dtype.kind == "f":
            better = either(better, both(_is_nan(x), negated(_is_nan(top))))
        return [If(better, (_set(top, x), _set(target, position(index))))]

    builder.emit(job.over(step, place))
    return job.result(place)


def _is_nan(x: Expr) -> Expr:
    return Call("ne", (x, x), BOOL)


def product(builder: Builder, value: ArrayValue, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """np.prod: the cotangent of an element is the product of the others, zeros among them included."""
    out = dtype or np.multiply.reduce(np.empty(0, value.dtype)).dtype
    value = cast_value(value, out)
    if value.ndim == 0:
        builder.check_fresh(value.element)
        return Scalar(value.element)
    value = whole(builder.stored(value))
    job = Reduction(builder, value, axis, keepdims)
    one, zero = Const(out.type(1).item(), out), Const(out.type(0).item(), out)
    target = job.start(out, one, "p")
    forward = [job.over(lambda i, place: _set(place, place * value.at(i)), target)]
    if builder.again:  # what the product of the others is depends on where the zeros are: that has no slope
        builder.emit(*forward)
        return job.result(target)
    adjoint: list[Stmt] = []
    if is_inexact(out):
        with builder.into(adjoint):
            zeros, others = job.start(out, zero, "zeros"), job.start(out, one, "others")

            def is_zero(index: Index) -> Expr:
                return Call("eq", (value.at(index), zero), BOOL)

            def partial(index: Index) -> Expr:
                x, p, others_i = value.at(index), job.place(others, index), job.place(zeros, index)
                alone = select(Call("eq", (others_i, one), BOOL), p, zero)  # the only zero: the product of the rest
                plain = select(Call("eq", (others_i, zero), BOOL), p / x, zero)
                return select(is_zero(index), alone, plain)

            builder.emit(job.over(lambda i, place: AddTo(place, select(is_zero(i), one, zero), True), zeros))
            builder.emit(job.over(lambda i, place: _set(place, place * select(is_zero(i), one, value.at(i))), others))
            builder.emit(job.over(lambda i, place: Spread(value.at(i), Cotangent(place) * partial(i)), target))
    builder.emit(
        Rule("prod", (_output(target),), (value.at([affine.ZERO] * value.ndim),), tuple(forward), tuple(adjoint))
    )
    return job.result(target)


def logical(builder: Builder, value: ArrayValue, axis: Any = None, keepdims: bool = False, *, op: str) -> Any:
    """np.any (`or`) and np.all (`and`)"""
    value = cast_value(value, BOOL)
    job = Reduction(builder, value, axis, keepdims)
    target = job.start(BOOL, Const(op == "and", BOOL), "found")
    builder.emit(job.over(lambda i, place: _set(place, Call(op, (place, value.at(i)), BOOL)), target))
    return job.result(target)


def norm(builder: Builder, value: ArrayValue, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """np.linalg.norm"""
    if not is_inexact(value.dtype):
        value = cast_value(value, FLOAT64)
    if isinstance(ord, Scalar) and not ord.is_constant:
        help = "pass it as a static argument, or write np.sum(np.abs(x) ** p) ** (1 / p)"
        return builder.refuse("the order of a norm must be known ahead of time", help, error=ArgumentError)
    order = ord.value if isinstance(ord, (Static, Scalar)) else ord
    axes = axes_of(builder, value, axis)
    matrix = len(axes) == 2 and order is not None
    if isinstance(axis, Static) and axis.value is None:
        axis = None
    if order is None and axis is None:
        axes = tuple(range(value.ndim))
    elif len(axes) not in (1, 2):
        builder.refuse("norm needs one or two axes", error=ArgumentError)
    if matrix:
        if isinstance(axis, TupleValue):  # in the order in which they are named
            axes = tuple(axis_of % value.ndim for axis_of in map(static_int, axis.items) if axis_of is not None)
        return _matrix_norm(builder, value, order, axes, keepdims)
    along = TupleValue(tuple(Scalar(affine.integer(k)) for k in axes))
    size = elementwise(builder, "abs", (value,)) if order not in (None, 2) else None
    if not axes and order is None:
        return elementwise(builder, "abs", (value,))
    if order is None or order == 2:
        return _root(builder, total(builder, _squares(builder, value), along, keepdims))
    assert size is not None
    if order == 1:
        return total(builder, size, along, keepdims)
    if order in (math.inf, -math.inf):
        return _extreme_of(builder, size, along, keepdims, order)
    if order == 0:
        nonzero = elementwise(builder, "ne", (value, Scalar(Const(0.0, value.dtype))))
        return total(builder, cast_value(nonzero, size.dtype), along, keepdims)
    if not isinstance(order, (int, float)):
        return builder.refuse(f"norm of order {order!r} is not supported for vectors")
    power = Scalar(Const(float(order), FLOAT64), weak=True)
    inner = total(builder, elementwise(builder, "pow", (size, power)), along, keepdims)
    if order > 0:
        return _root(builder, inner, order)
    return elementwise(builder, "pow", (inner, Scalar(Const(1.0 / order, FLOAT64), weak=True)))


def _matrix_norm(builder: Builder, value: ArrayValue, order: Any, axes: Sequence[int], keepdims: bool) -> Any:
    def along(axis: int) -> Any:
        return Scalar(affine.integer(axis))

    if order == "fro":
        both = TupleValue(tuple(along(k) for k in axes))
        return _root(builder, total(builder, _squares(builder, value), both, keepdims))
    if order in (1, -1, math.inf, -math.inf):
        first, second = axes if order in (1, -1) else axes[::-1]
        sums = total(builder, elementwise(builder, "abs", (value,)), along(first), True)
        out = _extreme_of(builder, sums, along(second), True, order)
        if keepdims:
            return out
        index = iter(Axis(k) for k in range(value.ndim - 2))
        dims = tuple(d for k, d in enumerate(value.dims) if k not in axes)
        element = out.at([affine.ZERO if k in axes else next(index) for k in range(value.ndim)])
        return ArrayValue(dims, element) if dims else Scalar(element)
    if order not in ("nuc", 2, -2):
        builder.refuse("Invalid norm order for matrices.", error=ArgumentError)
    return _norm_of_singular_values(builder, value, order, axes, keepdims)


def _norm_of_singular_values(
    builder: Builder, value: ArrayValue, order: Any, axes: Sequence[int], keepdims: bool
) -> Any:
    kept = [k for k in range(value.ndim) if k not in axes]
    order_of_axes = [*kept, *axes]
    dims = tuple(value.dims[k] for k in order_of_axes)
    turned = remap(value, dims, [Axis(order_of_axes.index(k)) for k in range(value.ndim)])
    singular_values = library_call(builder, Static("svd"), turned).items[1]
    last = Scalar(affine.integer(len(kept)))
    if order == "nuc":
        out = total(builder, singular_values, last)
    else:
        out = _extreme_of(builder, singular_values, last, False, order)
    if not keepdims:
        return out
    element = out.at([Axis(k) for k in kept]) if kept else out.expr
    return ArrayValue(tuple(affine.ONE if k in axes else d for k, d in enumerate(value.dims)), element)


def _extreme_of(builder: Builder, sizes: ArrayValue, axis: Any, keepdims: bool, order: Any) -> Any:
    """The largest, or for a negative order the smallest; the largest of none is 0."""
    if order < 0:
        return extremum(builder, sizes, axis, keepdims, op="minimum")
    return extremum(builder, sizes, axis, keepdims, op="maximum", start=Const(0.0, sizes.dtype))


def _squares(builder: Builder, value: ArrayValue) -> Any:
    if value.dtype.kind != "c":
        return elementwise(builder, "mul", (value, value))
    value = whole(builder.stored(value))
    parts = [ArrayValue(value.dims, part(value.element)) for part in (real_part, imaginary_part)]
    return elementwise(builder, "add", [elementwise(builder, "mul", (x, x)) for x in parts])


def _root(builder: Builder, powers: Any, order: float = 2) -> Any:
    """The root of a sum of powers; where that is 0 the gradient is 0, the least subgradient."""
    element = powers.expr if isinstance(powers, Scalar) else powers.element
    zero = Const(0.0, element.dtype)
    if order == 2:
        root = Call("sqrt", (element,), element.dtype)
    else:
        root = Call("pow", (element, Const(1.0 / order, element.dtype)), element.dtype)
    safe = select(Call("eq", (element, zero), BOOL), zero, root)
    return Scalar(safe) if isinstance(powers, Scalar) else ArrayValue(powers.dims, safe)


def _set(place: Var | Load, value: Expr) -> Stmt:
    return Assign(place, value) if isinstance(place, Var) else Store(place.array, place.index, value)


def _store_all(builder: Builder, job: Reduction, target: Var | Load, element: Expr) -> None:
    if isinstance(target, Var):
        builder.emit(Assign(target, element))
        return
    values = lambda index: substitute(element, dict(enumerate(index)))
    builder.each(job.kept_dims, lambda index: Store(target.array, index, values(index)))


def _output(target: Var | Load) -> Any:
    return target if isinstance(target, Var) else target.array
