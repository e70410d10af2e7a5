"""Products: small ones as sums, matrix products through BLAS.

A @ B   →   t = empty(n, m); matmul(t, A, B)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShapeError
from ...ir import affine
from ...ir.nodes import AddTo, Array, Axis, Const, Expr, Library, Load, is_inexact
from ..arithmetic import cast_value, elementwise, shape_text
from ..builder import Builder
from ..values import ArrayValue, Scalar, remap, whole
from .creation import check_length


def matmul(builder: Builder, x: Any, y: Any, name: str = "np.matmul") -> Any:
    """`x @ y` for one and two axes."""
    for value in (x, y):
        if not isinstance(value, ArrayValue) or value.ndim == 0:
            builder.refuse(f"{name} needs arrays of one or two axes")
        if value.ndim > 2:
            builder.refuse(f"{name} of stacked matrices is not supported yet", "write the loop over the stack")
    inner_x, inner_y = x.dims[-1], y.dims[0]
    gap = affine.difference(inner_x, inner_y)
    if gap is not None and gap != 0:
        builder.refuse(f"shapes {shape_text(x.dims)} and {shape_text(y.dims)} don't fit", error=ShapeError)
    check_length(builder, inner_x, inner_y)
    dtype = np.result_type(x.dtype, y.dtype)
    x, y = cast_value(x, dtype), cast_value(y, dtype)
    if x.ndim == y.ndim == 1:
        return inner(builder, x, y, dtype)
    dims = x.dims[:-1] + y.dims[1:]
    if not is_inexact(dtype):
        return _by_loops(builder, x, y, dims, dtype)
    left, right = _operand(builder, x), _operand(builder, y)
    out = builder.allocate("t", dtype, dims)
    builder.emit(Library("matmul", out, (left, right)))
    return whole(out)


def inner(builder: Builder, x: ArrayValue, y: ArrayValue, dtype: np.dtype) -> Scalar:
    builder.check_fresh(x.element)
    builder.check_fresh(y.element)
    return Scalar(builder.sum(x.dims, lambda index: x.at(index) * y.at(index), dtype))


def _by_loops(builder: Builder, x: ArrayValue, y: ArrayValue, dims: tuple[Expr, ...], dtype: np.dtype) -> ArrayValue:
    out = builder.allocate("t", dtype, dims, Const(dtype.type(0).item(), dtype))
    rows, columns = x.ndim - 1, y.ndim - 1

    def body(index: tuple[Expr, ...]) -> AddTo:
        row, column, along = index[:rows], index[rows : rows + columns], index[-1]
        return AddTo(Load(out, (*row, *column)), x.at((*row, along)) * y.at((along, *column)), True)

    builder.each((*dims, x.dims[-1]), body)
    return whole(out)


def _operand(builder: Builder, value: ArrayValue) -> Array:
    """BLAS takes contiguous arrays and their transposes."""
    if value.ndim == 2:
        turned = remap(value, value.dims[::-1], [Axis(1), Axis(0)])
        if turned.is_window and value.handle is None:
            base = builder.stored(turned)
            if base.name in builder.contiguous:
                return builder.view(remap(whole(base), value.dims, [Axis(1), Axis(0)]))
    return builder.in_order(value)


def dot(builder: Builder, x: Any, y: Any) -> Any:
    if isinstance(x, Scalar) or isinstance(y, Scalar) or x.ndim == 0 or y.ndim == 0:
        x, y = (Scalar(v.expr) if isinstance(v, Scalar) else v for v in (x, y))  # a Python number is an array here
        return elementwise(builder, "mul", (x, y))
    return matmul(builder, x, y, "np.dot")


def outer(builder: Builder, x: Any, y: Any) -> ArrayValue:
    from .shapes import ravel

    x, y = ravel(builder, x), ravel(builder, y)
    column = ArrayValue((x.dims[0], affine.ONE), x.element)
    row = ArrayValue((affine.ONE, y.dims[0]), y.at([Axis(1)]))
    return elementwise(builder, "mul", (column, row))
