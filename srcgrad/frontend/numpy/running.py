"""Running results along an axis (np.cumsum and its like), and what ufuncs do beside being called.

np.cumsum(x)    →   s = x.copy(); for i < n - 1:  s[i + 1] += s[i]
np.cumprod(x)   →   p = empty(n); p[0] = x[0]; for i < n - 1:  p[i + 1] = p[i] * x[i + 1]

The adjoint of the loop runs down it, in n steps, and divides by nothing: zeros in x need no care.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ArgumentError, ValueArgumentError
from ...ir import affine
from ...ir.expressions import Axis, Call, Const, Expr, Load
from ...ir.nodes import AddTo, Store
from ...rules.names import FUNCTIONS
from ..arithmetic import cast_value, elementwise
from ..array_values import ArrayValue, remap, whole
from ..builder import Builder
from ..values import Scalar, TupleValue
from . import reductions, shapes
from .table import TABLE, absent, also_into, array_or_number, as_array, dtype_of_total, dtype_or_none, flag, rule

# What a ufunc is called as a primitive, where it reduces and accumulates.
REDUCING: dict[np.ufunc, str] = {
    np.add: "add", np.multiply: "mul", np.subtract: "sub", np.divide: "div", np.maximum: "maximum",
    np.minimum: "minimum", np.fmax: "fmax", np.fmin: "fmin", np.logaddexp: "logaddexp", np.logaddexp2: "logaddexp2",
    np.hypot: "hypot", np.bitwise_and: "bitand", np.bitwise_or: "bitor", np.bitwise_xor: "bitxor",
}  # fmt: skip
IN_ORDER = (np.subtract, np.divide)  # of several axes it is not said which one comes first


def accumulate(
    build: Builder, ufunc: np.ufunc, value: ArrayValue, axis: int, dtype: np.dtype, initial: Expr | None = None
) -> ArrayValue:
    """The running result along one axis, in memory; with `initial` in front of it where that is given."""
    value = cast_value(value, dtype)
    if ufunc is not np.add and not isinstance(value.element, Load):
        value = whole(build.materialize(value))  # to a product each element is read twice
    build.check_fresh(value.element)
    length = value.dims[axis]
    shift = affine.integer(initial is not None)
    out = build.allocate("t", dtype, _with(value.dims, axis, affine.add(length, shift)))
    if not build.follows_order(value):
        build.uncertain.add(out.name)

    def moved(index: tuple[Expr, ...], by: Expr) -> tuple[Expr, ...]:
        return _with(index, axis, affine.add(index[axis], by))

    def filled(count: Expr) -> None:
        build.each(_with(value.dims, axis, count), lambda index: Store(out, moved(index, shift), value.at(index)))

    def step(index: tuple[Expr, ...]) -> AddTo | Store:
        after = moved(index, affine.ONE)
        if ufunc is np.add:
            return AddTo(Load(out, after), Load(out, index))
        following = value.at(index if initial is not None else after)
        return Store(out, after, Call(REDUCING[ufunc], (Load(out, index), following), dtype))

    if initial is not None:
        build.each(_with(value.dims, axis, affine.ONE), lambda index: Store(out, index, initial))
    if ufunc is np.add:
        filled(length)
    elif initial is None:
        filled(affine.ONE if build.is_at_least(length, 1) else affine.minimum(length, affine.ONE))
    build.each(_with(value.dims, axis, affine.sub(out.dims[axis], affine.ONE)), step)
    build.block[-1] = replace(build.block[-1], running=True)  # type: ignore[call-arg]
    return whole(out)


def _with(items: tuple[Expr, ...], axis: int, item: Expr) -> tuple[Expr, ...]:
    return (*items[:axis], item, *items[axis + 1 :])


def _along(build: Builder, a: Any, axis: Any) -> tuple[ArrayValue, int]:
    """The operand, and the axis as a number; without one, the elements in a row."""
    value = as_array(build, a)
    if absent(axis) or value.ndim == 0:
        return shapes.ravel(build, value), 0
    if isinstance(axis, TupleValue):
        build.refuse("axis is one number here", error=ArgumentError)
    (number,) = _axes_of(build, value, axis)
    return value, number


def _axes_of(build: Builder, value: ArrayValue, axis: Any) -> tuple[int, ...]:
    return reductions.axes_of(build, value, Scalar(affine.integer(axis)) if isinstance(axis, int) else axis)


def _cumulative(function: Any, ufunc: np.ufunc) -> Callable[..., Any]:
    def handler(build: Builder, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        value, number = _along(build, a, axis)
        wanted = dtype_of_total(build, dtype, value, out) or function(np.empty(0, value.dtype)).dtype
        return also_into(build, out, accumulate(build, ufunc, value, number, wanted))

    return handler


rule(np.cumsum, method="cumsum")(_cumulative(np.cumsum, np.add))
rule(np.cumprod, method="cumprod")(_cumulative(np.cumprod, np.multiply))


def _cumulative_of_the_standard(ufunc: np.ufunc) -> Callable[..., Any]:
    """np.cumulative_sum and np.cumulative_prod, as the array API standard has them."""

    def handler(
        build: Builder, x: Any, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: Any = False
    ) -> Any:
        if absent(axis) and as_array(build, x).ndim > 1:
            message = "For arrays which have more than one dimension ``axis`` argument is required."
            build.refuse(message, error=ValueArgumentError)
        value, number = _along(build, x, axis)
        wanted = dtype_of_total(build, dtype, value, out) or np.cumsum(np.empty(0, value.dtype)).dtype
        initial = Const(wanted.type(ufunc.identity).item(), wanted) if flag(include_initial) else None
        return also_into(build, out, accumulate(build, ufunc, value, number, wanted, initial))

    return handler


if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    rule(np.cumulative_sum)(_cumulative_of_the_standard(np.add))
    rule(np.cumulative_prod)(_cumulative_of_the_standard(np.multiply))


# ------------------------------------------------------------------------------------------------ methods of ufuncs


def _accumulate(ufunc: np.ufunc) -> Callable[..., Any]:
    def handler(build: Builder, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        value = as_array(build, array)
        if value.ndim == 0:
            build.refuse("cannot accumulate on a scalar", error=ArgumentError)
        value, number = _along(build, value, axis)
        wanted = dtype_of_total(build, dtype, value, out) or ufunc.accumulate(np.ones(1, value.dtype)).dtype
        return also_into(build, out, accumulate(build, ufunc, value, number, wanted))

    return handler


def _reduce(ufunc: np.ufunc) -> Callable[..., Any]:
    """One axis unless others are named, which is the first by default; `keepdims` as everywhere."""

    def handler(
        build: Builder, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False
    ) -> Any:
        value = as_array(build, array)
        if value.ndim == 0:
            return also_into(build, out, Scalar(value.element))
        several = value.ndim > 1 if absent(axis) else isinstance(axis, TupleValue) and len(axis.items) > 1
        if several and ufunc in IN_ORDER:
            message = f"reduction operation {ufunc.__name__!r} is not reorderable, so at most one axis may be specified"
            build.refuse(message, error=ValueArgumentError)
        if absent(axis) and value.ndim > 1 and not flag(keepdims):
            value, axis = shapes.ravel(build, value), 0
        wanted = dtype_of_total(build, dtype, value, out) or ufunc.reduce(np.ones(1, value.dtype)).dtype
        axes = _axes_of(build, value, axis)
        found: Any = value
        for number in reversed(axes):
            found = _along_one(build, ufunc, found, number, wanted, flag(keepdims))
        if not axes:
            found = shapes.copied(build, cast_value(value, wanted))
        if ufunc is np.hypot:  # that of one number is the one of this and 0
            found = elementwise(build, "abs", (found,))
        return also_into(build, out, found)

    return handler


def _along_one(build: Builder, ufunc: np.ufunc, value: ArrayValue, axis: int, dtype: np.dtype, keepdims: bool) -> Any:
    # Not from the identity on: next to it, an infinite first element of logaddexp has no slope.
    reductions.Reduction(build, value, Scalar(affine.integer(axis)), False).refuse_empty(ufunc.__name__)
    running = accumulate(build, ufunc, value, axis, dtype)
    last = affine.sub(running.dims[axis], affine.ONE)
    kept = iter(range(value.ndim))
    if keepdims:
        index = tuple(last if k == axis else Axis(k) for k in range(value.ndim))
        dims = _with(value.dims, axis, affine.ONE)
    else:
        index = tuple(last if k == axis else Axis(next(kept)) for k in range(value.ndim))
        dims = (*value.dims[:axis], *value.dims[axis + 1 :])
    result = remap(running, dims, index)
    return result if dims else Scalar(result.element)


for _ufunc in REDUCING:
    TABLE[_ufunc.accumulate] = _accumulate(_ufunc)
    TABLE[_ufunc.reduce] = _reduce(_ufunc)


def _as_reduction(function: Any) -> Callable[..., Any]:
    """The method of a ufunc that is a function of NumPy's too, but goes along the first axis by default."""

    def handler(
        build: Builder,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        **more: Any,
    ) -> Any:
        value = as_array(build, array)
        along = Scalar(affine.integer(axis)) if isinstance(axis, int) else axis
        if value.ndim == 0:
            along = None
        if not absent(dtype):
            value = cast_value(value, dtype_or_none(build, dtype))  # type: ignore[arg-type]
        return TABLE[function](build, value, axis=along, out=out, keepdims=keepdims, **more)

    return handler


for _method, _function in (
    (np.add.reduce, np.sum), (np.multiply.reduce, np.prod), (np.maximum.reduce, np.max), (np.minimum.reduce, np.min),
    (np.logical_or.reduce, np.any), (np.logical_and.reduce, np.all),
):  # fmt: skip
    TABLE[_method] = _as_reduction(_function)


def _outer(ufunc: np.ufunc) -> Callable[..., Any]:
    def handler(build: Builder, A: Any, B: Any, **more: Any) -> Any:
        operands = [array_or_number(build, value) for value in (A, B)]
        x, y = (Scalar(v.expr) if isinstance(v, Scalar) else v for v in operands)  # of no Python number's dtype
        if isinstance(x, ArrayValue) and isinstance(y, ArrayValue):
            x = remap(x, (*x.dims, *[affine.ONE] * y.ndim), [Axis(k) for k in range(x.ndim)])
        return TABLE[ufunc](build, x, y, **more)

    return handler


for _called in FUNCTIONS:
    if isinstance(_called, np.ufunc) and _called.nin == 2 and _called.nout == 1:
        TABLE[_called.outer] = _outer(_called)
