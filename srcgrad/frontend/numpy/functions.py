"""NumPy's functions and array methods, each in all its spellings, as calls of what does the work."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...ir import affine
from ...ir.nodes import BOOL, FLOAT64, INT64, Call, Const, Load
from ...rules.names import FUNCTIONS, OPERAND_DTYPES
from ..arithmetic import cast, cast_value, elementwise
from ..builder import Builder
from ..values import ArrayValue, Scalar, Static, TupleValue, follows_order, static_int, whole
from . import creation, indexing, linalg, reductions, shapes
from .table import (
    TABLE,
    Handler,
    absent,
    also_into,
    array_or_number,
    as_array,
    axis_number,
    dtype_or_none,
    flag,
    items_of,
    rule,
)

# --------------------------------------------------------------------------------------------------- elementwise


def _ufunc(function: Any, op: str) -> Handler:
    def handler(build: Builder, *args: Any, out: Any = None, where: Any = True, dtype: Any = None) -> Any:
        values = [array_or_number(build, value) for value in args]
        if function in OPERAND_DTYPES:
            values = [cast_value(v, OPERAND_DTYPES[function]) for v in values]
        wanted = dtype_or_none(build, dtype)
        if wanted is not None:
            values = [cast_value(v, wanted) for v in values]
        nin = getattr(function, "nin", len(values))
        if len(values) == nin + 1 and out is None:
            *values, out = values
        result = elementwise(build, op, values)
        if isinstance(result, ArrayValue) and result.ndim == 0:
            result = Scalar(result.element)
        return also_into(build, out, _only_where(build, where, result, out))

    return handler


def _only_where(build: Builder, condition: Any, result: Any, out: Any) -> Any:
    """`where=`: elsewhere stays what is in `out`."""
    if condition is True or (isinstance(condition, Scalar) and condition.is_constant and condition.value):
        return result
    if absent(out):
        return build.refuse("where= without out= leaves the other elements undefined", "out=np.zeros_like(x)")
    return where(build, condition, result, out.items[0] if isinstance(out, TupleValue) else out)


for _function, _op in FUNCTIONS.items():
    TABLE[_function] = _ufunc(_function, _op)


@rule(np.clip, method="clip")
def clip(
    build: Builder, x: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    low, high = (a if not absent(a) else b for a, b in ((a_min, min), (a_max, max)))
    x = given = array_or_number(build, x)
    if not absent(low):
        x = elementwise(build, "clip_low", (x, array_or_number(build, low)))
    if not absent(high):
        x = elementwise(build, "clip_high", (x, array_or_number(build, high)))
    if x is given and absent(out):
        x = copy(build, x)
    return also_into(build, out, x)


@rule(np.where)
def where(build: Builder, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return TABLE[np.nonzero](build, condition)
    if x is None or y is None:
        return build.refuse("either both or neither of x and y should be given", error=ArgumentError)
    condition, x, y = (array_or_number(build, value) for value in (condition, x, y))
    kinds = [v.dtype if not (isinstance(v, Scalar) and v.weak) else v.dtype.type(0).item() for v in (x, y)]
    dtype = np.result_type(*kinds)
    if condition.dtype != BOOL:
        condition = elementwise(build, "ne", (condition, Scalar(Const(0, INT64), weak=True)), python=True)
    x, y = cast_value(x, dtype), cast_value(y, dtype)
    if all(isinstance(v, Scalar) for v in (condition, x, y)):
        return Scalar(Call("select", (condition.expr, x.expr, y.expr), dtype))
    from ..arithmetic import broadcast

    dims, elements = broadcast(build, [condition, x, y])
    return ArrayValue(dims, Call("select", tuple(elements), dtype))


@rule(np.round, np.around, method="round")
def round_to(build: Builder, x: Any, decimals: Any = None, out: Any = None) -> Any:
    x = array_or_number(build, x)
    digits = 0 if decimals is None else static_int(decimals)
    if digits is None:
        build.refuse("the number of decimals must be a constant")
    if digits == 0 or x.dtype.kind in "iub":
        return elementwise(build, "rint", (x,)) if x.dtype.kind == "f" else copy(build, x)
    number = Const(digits, INT64)
    if isinstance(x, Scalar):
        return Scalar(Call("round_to", (x.expr, number), x.dtype))
    return ArrayValue(x.dims, Call("round_to", (x.element, number), x.dtype))


@rule(np.square)
def square(build: Builder, x: Any, out: Any = None) -> Any:
    return also_into(build, out, elementwise(build, "square", (array_or_number(build, x),)))


@rule(np.nan_to_num)
def nan_to_num(build: Builder, x: Any) -> Any:
    return build.refuse("np.nan_to_num is not supported yet", "np.where(np.isnan(x), 0.0, x)")


# ---------------------------------------------------------------------------------------------------- reductions


def _reduce(build: Builder, kernel: Handler, a: Any, axis: Any, keepdims: Any, out: Any, **more: Any) -> Any:
    result = kernel(build, as_array(build, a), axis, flag(keepdims), **more)
    return also_into(build, out, result)


@rule(np.sum, method="sum")
def sum_(build: Builder, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return _reduce(build, reductions.total, a, axis, keepdims, out, dtype=dtype_or_none(build, dtype))


@rule(np.mean, method="mean")
def mean(build: Builder, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return _reduce(build, reductions.mean, a, axis, keepdims, out, dtype=dtype_or_none(build, dtype))


@rule(np.prod, method="prod")
def prod(build: Builder, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return _reduce(build, reductions.product, a, axis, keepdims, out, dtype=dtype_or_none(build, dtype))


@rule(np.max, np.amax, method="max")
def max_(build: Builder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    result = reductions.extremum(build, "maximum", as_array(build, a), axis, flag(keepdims))
    return also_into(build, out, result)


@rule(np.min, np.amin, method="min")
def min_(build: Builder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    result = reductions.extremum(build, "minimum", as_array(build, a), axis, flag(keepdims))
    return also_into(build, out, result)


@rule(np.any, method="any")
def any_(build: Builder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return also_into(build, out, reductions.logical(build, "or", as_array(build, a), axis, flag(keepdims)))


@rule(np.all, method="all")
def all_(build: Builder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return also_into(build, out, reductions.logical(build, "and", as_array(build, a), axis, flag(keepdims)))


@rule(np.argmax, method="argmax")
def argmax(build: Builder, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return also_into(build, out, reductions.place_of_extremum(build, "gt", as_array(build, a), axis, flag(keepdims)))


@rule(np.argmin, method="argmin")
def argmin(build: Builder, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return also_into(build, out, reductions.place_of_extremum(build, "lt", as_array(build, a), axis, flag(keepdims)))


@rule(np.count_nonzero)
def count_nonzero(build: Builder, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    held = cast_value(cast_value(as_array(build, a), BOOL), INT64)
    return reductions.total(build, held, axis, flag(keepdims))


@rule(np.linalg.norm)
def norm(build: Builder, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    return reductions.norm(build, as_array(build, x), None if absent(ord) else ord, axis, flag(keepdims))


# ------------------------------------------------------------------------------------------------------ products


@rule(np.dot, method="dot")
def dot(build: Builder, a: Any, b: Any, out: Any = None) -> Any:
    return also_into(build, out, linalg.dot(build, array_or_number(build, a), array_or_number(build, b)))


@rule(np.matmul)
def matmul(build: Builder, a: Any, b: Any, out: Any = None) -> Any:
    return also_into(build, out, linalg.matmul(build, array_or_number(build, a), array_or_number(build, b)))


@rule(np.outer)
def outer(build: Builder, a: Any, b: Any, out: Any = None) -> Any:
    return also_into(build, out, linalg.outer(build, array_or_number(build, a), array_or_number(build, b)))


@rule(np.inner, np.vdot)
def inner(build: Builder, a: Any, b: Any) -> Any:
    a, b = array_or_number(build, a), array_or_number(build, b)
    if isinstance(a, ArrayValue) and isinstance(b, ArrayValue) and (a.ndim > 1 or b.ndim > 1):
        return build.refuse("np.inner of matrices is not supported yet", "a @ b.T")
    return linalg.dot(build, a, b)


# -------------------------------------------------------------------------------------------------------- shapes


@rule(np.reshape, method="reshape")
def reshape(build: Builder, a: Any, shape: Any, order: Any = None, *, copy: Any = None) -> Any:
    if not absent(order) and order.value != "C":
        return build.refuse("reshape in another order than 'C' is not supported yet", "x.T.reshape(…)")
    return shapes.reshape(build, as_array(build, a), shape)


@rule(np.ravel, method="ravel")
def ravel(build: Builder, a: Any, order: Any = None) -> Any:
    if not absent(order) and order.value != "C":
        return build.refuse("ravel in another order than 'C' is not supported yet", "x.T.ravel()")
    return shapes.ravel(build, as_array(build, a))


@rule(method="flatten")
def flatten(build: Builder, a: Any, order: Any = None) -> Any:
    if not absent(order) and order.value != "C":
        return build.refuse("flatten in another order than 'C' is not supported yet", "x.T.flatten()")
    return shapes.copied(build, ravel(build, shapes.copied(build, as_array(build, a))))


@rule(np.transpose, method="transpose")
def transpose(build: Builder, a: Any, axes: Any = None) -> Any:
    value = as_array(build, a)
    if absent(axes):
        return shapes.transpose(build, value)
    order = [static_int(item) for item in (axes.items if isinstance(axes, TupleValue) else (axes,))]
    return shapes.transpose(build, value, order)  # type: ignore[arg-type]


@rule(np.swapaxes, method="swapaxes")
def swapaxes(build: Builder, a: Any, axis1: Any, axis2: Any) -> Any:
    return shapes.swapaxes(build, as_array(build, a), axis_number(build, axis1), axis_number(build, axis2))


@rule(np.moveaxis)
def moveaxis(build: Builder, a: Any, source: Any, destination: Any) -> Any:
    return shapes.moveaxis(build, as_array(build, a), axis_number(build, source), axis_number(build, destination))


@rule(np.expand_dims)
def expand_dims(build: Builder, a: Any, axis: Any) -> Any:
    return shapes.expand_dims(build, as_array(build, a), axis_number(build, axis))


@rule(np.squeeze, method="squeeze")
def squeeze(build: Builder, a: Any, axis: Any = None) -> Any:
    return shapes.squeeze(build, as_array(build, a), axis)


@rule(np.flip)
def flip(build: Builder, m: Any, axis: Any = None) -> Any:
    value = as_array(build, m)
    return shapes.flip(value, reductions.axes_of(build, value, axis))


@rule(np.broadcast_to)
def broadcast_to(build: Builder, array: Any, shape: Any) -> Any:
    return shapes.broadcast_to(build, array_or_number(build, array), shape)


@rule(np.stack)
def stack(build: Builder, arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None) -> Any:
    number = 0 if isinstance(axis, int) else axis_number(build, axis)
    if isinstance(arrays, ArrayValue):
        return shapes.moveaxis(build, arrays, 0, number) if number else shapes.copied(build, arrays)
    parts = [as_array(build, item) for item in items_of(build, arrays)]
    return also_into(build, out, creation.stack(build, parts, number, dtype_or_none(build, dtype)))


@rule(np.concatenate)
def concatenate(build: Builder, arrays: Any, axis: Any = 0, out: Any = None) -> Any:
    number = Scalar(affine.integer(axis), True) if isinstance(axis, int) else axis
    if isinstance(arrays, ArrayValue) and arrays.ndim > 1:
        if static_int(number) == 0:
            rows = affine.mul(arrays.dims[0], arrays.dims[1])
            return shapes.reshaped(build, shapes.copied(build, arrays), (build.pin(rows), *arrays.dims[2:]))
        return build.refuse("np.concatenate of the rows of an array is supported along axis 0")
    parts = [as_array(build, item) for item in items_of(build, arrays)]
    return also_into(build, out, shapes.concatenate(build, parts, number))


@rule(np.vstack)
def vstack(build: Builder, tup: Any) -> Any:
    parts = [as_array(build, item) for item in items_of(build, tup)]
    parts = [shapes.expand_dims(build, p, 0) if p.ndim == 1 else p for p in parts]
    return shapes.concatenate(build, parts, Scalar(affine.ZERO, True))


@rule(np.hstack)
def hstack(build: Builder, tup: Any) -> Any:
    parts = [as_array(build, item) for item in items_of(build, tup)]
    return shapes.concatenate(build, parts, Scalar(affine.integer(0 if parts[0].ndim == 1 else 1), True))


@rule(np.copy, method="copy")
def copy(build: Builder, a: Any, order: Any = None) -> Any:
    value = array_or_number(build, a)
    return value if isinstance(value, Scalar) else shapes.copied(build, value)


@rule(method="astype")
def astype(build: Builder, a: Any, dtype: Any, copy: Any = True) -> Any:
    wanted = creation.dtype_of(build, dtype, None)
    if isinstance(a, Scalar):
        return Scalar(cast(a.expr, wanted))
    if wanted == a.dtype:
        return shapes.copied(build, a) if flag(copy) else a
    return ArrayValue(a.dims, cast(a.element, wanted))


@rule(method="item")
def item(build: Builder, a: Any, *args: Any) -> Any:
    if isinstance(a, Scalar):
        return Scalar(a.expr, weak=True)
    index = list(args[0].items if args and isinstance(args[0], TupleValue) else args)
    if not index:
        return Scalar(a.at([affine.ZERO] * a.ndim), weak=True)
    return Scalar(indexing.subscript(build, a, index).element, weak=True)


@rule(method="fill")
def fill(build: Builder, a: Any, value: Any) -> Any:
    return indexing.write(build, indexing.memory_of(build, a), value)


@rule(np.copyto)
def copyto(build: Builder, dst: Any, src: Any, casting: Any = None, where: Any = True) -> Any:
    indexing.write(build, indexing.memory_of(build, dst), _only_where(build, where, array_or_number(build, src), dst))
    return Static(None)


@rule(np.shape)
def shape(build: Builder, a: Any) -> Any:
    return TupleValue(tuple(Scalar(dim, weak=True) for dim in as_array(build, a).dims))


@rule(np.size)
def size(build: Builder, a: Any, axis: Any = None) -> Any:
    dims = as_array(build, a).dims
    return Scalar(affine.product(dims) if absent(axis) else dims[axis_number(build, axis)], weak=True)


@rule(np.ndim)
def ndim(build: Builder, a: Any) -> Any:
    return Scalar(affine.integer(as_array(build, a).ndim), weak=True)


# ------------------------------------------------------------------------------------------------------ creation


@rule(np.array)
def array(build: Builder, object: Any, dtype: Any = None, *, copy: Any = None) -> Any:
    value = creation.array_of(build, object, dtype_or_none(build, dtype))
    is_copied = copy is None or flag(copy)
    if isinstance(object, Scalar) or (is_copied and isinstance(object, ArrayValue) and value.dtype == object.dtype):
        return shapes.copied(build, value)
    return value


@rule(np.asarray, np.asanyarray)
def asarray(build: Builder, a: Any, dtype: Any = None) -> Any:
    value = creation.array_of(build, a, dtype_or_none(build, dtype))
    return shapes.copied(build, value) if isinstance(a, Scalar) and isinstance(a.expr, Load) else value


@rule(np.ascontiguousarray)
def ascontiguousarray(build: Builder, a: Any, dtype: Any = None) -> Any:
    value = creation.array_of(build, a, dtype_or_none(build, dtype))
    return shapes.in_c_order(build, value) if isinstance(value, ArrayValue) else value


@rule(np.zeros)
def zeros(build: Builder, shape: Any, dtype: Any = None) -> Any:
    return _constant(build, shape, 0, creation.dtype_of(build, dtype, FLOAT64))


@rule(np.ones)
def ones(build: Builder, shape: Any, dtype: Any = None) -> Any:
    return _constant(build, shape, 1, creation.dtype_of(build, dtype, FLOAT64))


def _constant(build: Builder, shape: Any, value: int, dtype: np.dtype) -> ArrayValue:
    return ArrayValue(creation.shape_of(build, shape), Const(dtype.type(value).item(), dtype))


@rule(np.empty)
def empty(build: Builder, shape: Any, dtype: Any = None) -> Any:
    return creation.empty(build, shape, creation.dtype_of(build, dtype, FLOAT64))


@rule(np.full)
def full(build: Builder, shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return creation.filled(build, shape, fill_value, dtype_or_none(build, dtype))


def _shape_like(build: Builder, a: Any, shape: Any) -> Any:
    if not absent(shape):
        return shape
    return TupleValue(tuple(Scalar(dim, weak=True) for dim in as_array(build, a).dims))


def _dtype_like(build: Builder, a: Any, dtype: Any) -> np.dtype:
    return creation.dtype_of(build, dtype, array_or_number(build, a).dtype)


def _in_the_order_of(build: Builder, made: Any, a: Any) -> Any:
    """np.zeros_like(x.T) is in the order of x.T."""
    if not isinstance(made, ArrayValue) or not isinstance(a, ArrayValue) or a.ndim < 2:
        return made
    if follows_order(a.element, build.is_in_order):
        return made
    memory = build.materialize(made, copy=made.handle is None)
    build.uncertain.add(memory.name)
    return whole(memory)


@rule(np.zeros_like)
def zeros_like(build: Builder, a: Any, dtype: Any = None, shape: Any = None) -> Any:
    made = _constant(build, _shape_like(build, a, shape), 0, _dtype_like(build, a, dtype))
    return _in_the_order_of(build, made, a)


@rule(np.ones_like)
def ones_like(build: Builder, a: Any, dtype: Any = None, shape: Any = None) -> Any:
    made = _constant(build, _shape_like(build, a, shape), 1, _dtype_like(build, a, dtype))
    return _in_the_order_of(build, made, a)


@rule(np.empty_like)
def empty_like(build: Builder, a: Any, dtype: Any = None, shape: Any = None) -> Any:
    made = creation.empty(build, _shape_like(build, a, shape), _dtype_like(build, a, dtype))
    return _in_the_order_of(build, made, a)


@rule(np.full_like)
def full_like(build: Builder, a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    wanted = _dtype_like(build, a, dtype)
    return _in_the_order_of(build, creation.filled(build, _shape_like(build, a, shape), fill_value, wanted), a)


@rule(np.arange)
def arange(build: Builder, *args: Any, dtype: Any = None) -> Any:
    return creation.arange(build, args, dtype_or_none(build, dtype))


@rule(np.linspace)
def linspace(build: Builder, start: Any, stop: Any, num: Any = None, endpoint: Any = True, *, dtype: Any = None) -> Any:
    count = Scalar(affine.integer(50), True) if num is None else num
    return creation.linspace(build, start, stop, count, flag(endpoint), dtype_or_none(build, dtype))


@rule(np.eye)
def eye(build: Builder, N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    shift = k if isinstance(k, int) else axis_number(build, k)
    columns = N if absent(M) else M
    return creation.eye(build, N, columns, shift, creation.dtype_of(build, dtype, FLOAT64))


@rule(np.identity)
def identity(build: Builder, n: Any, dtype: Any = None) -> Any:
    return creation.eye(build, n, n, 0, creation.dtype_of(build, dtype, FLOAT64))
