"""Grids of coordinates, triangles, and the objects of NumPy's that are used by subscript.

np.mgrid[0:n, 0:1:5j]   →   an array of shape (2, n, 5)
np.triu(x, 1)           →   select(#0 + 1 <= #1, x[#0, #1], 0.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ...ir import affine
from ...ir.expressions import BOOL, FLOAT64, INT64, Axis, Call, Const, Expr, both
from ...ir.walk import is_constant
from ..arithmetic import cast, cast_value, elementwise
from ..array_values import ArrayValue, remap, whole
from ..broadcasting import element_under
from ..builder import Builder
from ..types_that_decide import check_asked, note_results
from ..values import Grid, Method, Range, Scalar, Static, TupleValue
from . import creation, indexing, rearranging, shapes
from .axes import at_least, moveaxis
from .masks import mask_positions
from .table import absent, array_or_number, as_array, axis_number, dtype_or_none, flag, kind_of, rule


def whole_number(build: Builder, value: Any, what: str) -> Expr:
    if isinstance(value, int):
        return affine.integer(value)
    if isinstance(value, ArrayValue) and value.ndim == 0:
        value = Scalar(value.element)
    if not isinstance(value, Scalar) or value.dtype.kind not in "iub":
        build.refuse(f"{what} must be an integer", error=ArgumentError)
    return cast(value.expr, INT64)


# ------------------------------------------------------------------------------------------------------ triangles


def is_below(build: Builder, dims: tuple[Expr, Expr], k: Any) -> ArrayValue:
    """Where an element is on the k-th diagonal or below it."""
    shift = build.capture(whole_number(build, k, "k"), "k")
    return ArrayValue(dims, Call("le", (Axis(1), affine.add(Axis(0), shift)), BOOL))


def is_above(build: Builder, dims: tuple[Expr, Expr], k: Any) -> ArrayValue:
    shift = build.capture(whole_number(build, k, "k"), "k")
    return ArrayValue(dims, Call("ge", (Axis(1), affine.add(Axis(0), shift)), BOOL))


def _chosen(condition: Expr, x: Expr, dtype: np.dtype) -> Expr:
    return Call("select", (condition, x, Const(dtype.type(0).item(), dtype)), dtype)


@rule(np.tri)
def tri(build: Builder, N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    wanted = creation.dtype_of(build, dtype, FLOAT64)
    dims = creation.shape_of(build, TupleValue((N, N if absent(M) else M)))
    below = is_below(build, dims, k)  # type: ignore[arg-type]
    return ArrayValue(dims, _chosen(below.element, Const(wanted.type(1).item(), wanted), wanted), in_order=True)


def _triangle(build: Builder, m: Any, k: Any, mask: Callable[..., ArrayValue]) -> ArrayValue:
    value = as_array(build, m)
    if value.ndim == 0:
        build.refuse("a triangle is taken of an array of 1 axis or more", error=ShapeError)
    rows = value.dims[-2] if value.ndim > 1 else value.dims[-1]
    value = at_least(value, 2) if value.ndim > 1 else remap(value, (rows, rows), [Axis(1)])
    ndim = value.ndim
    held = mask(build, value.dims[-2:], k).at([Axis(ndim - 2), Axis(ndim - 1)])
    return ArrayValue(value.dims, _chosen(held, value.element, value.dtype), in_order=build.leave_order([value]))


@rule(np.triu)
def triu(build: Builder, m: Any, k: Any = 0) -> Any:
    return _triangle(build, m, k, is_above)


@rule(np.tril)
def tril(build: Builder, m: Any, k: Any = 0) -> Any:
    return _triangle(build, m, k, is_below)


def _positions(build: Builder, mask: ArrayValue) -> TupleValue:
    return TupleValue(mask_positions(build, mask))


@rule(np.triu_indices)
def triu_indices(build: Builder, n: Any, k: Any = 0, m: Any = None) -> Any:
    dims = creation.shape_of(build, TupleValue((n, n if absent(m) else m)))
    return _positions(build, is_above(build, dims, k))  # type: ignore[arg-type]


@rule(np.tril_indices)
def tril_indices(build: Builder, n: Any, k: Any = 0, m: Any = None) -> Any:
    dims = creation.shape_of(build, TupleValue((n, n if absent(m) else m)))
    return _positions(build, is_below(build, dims, k))  # type: ignore[arg-type]


def _matrix(build: Builder, arr: Any) -> tuple[Expr, Expr]:
    value = as_array(build, arr)
    if value.ndim != 2:
        build.refuse("input array must be 2-d", error=ShapeError)
    return value.dims  # type: ignore[return-value]


@rule(np.triu_indices_from)
def triu_indices_from(build: Builder, arr: Any, k: Any = 0) -> Any:
    return _positions(build, is_above(build, _matrix(build, arr), k))


@rule(np.tril_indices_from)
def tril_indices_from(build: Builder, arr: Any, k: Any = 0) -> Any:
    return _positions(build, is_below(build, _matrix(build, arr), k))


@rule(np.diag)
def diag(build: Builder, v: Any, k: Any = 0) -> Any:
    """The diagonal of a matrix (a view, in NumPy), or a matrix with this diagonal."""
    value = as_array(build, v)
    shift = build.capture(whole_number(build, k, "k"), "k")
    down, right = (build.pin(affine.maximum(n, affine.ZERO)) for n in (affine.sub(affine.ZERO, shift), shift))
    if value.ndim == 2:
        length = affine.minimum(affine.sub(value.dims[0], down), affine.sub(value.dims[1], right))
        if not build.is_at_least(length, 0):
            length = affine.maximum(length, affine.ZERO)
        return remap(value, (build.pin(length),), [affine.add(Axis(0), down), affine.add(Axis(0), right)])
    if value.ndim != 1:
        build.refuse("Input must be 1- or 2-d.", error=ShapeError)
    size = affine.add(value.dims[0], affine.add(down, right))
    out = build.allocate("t", value.dtype, (size, size), Const(value.dtype.type(0).item(), value.dtype))
    creation.write_part(build, out, value.dims, value, lambda i: (affine.add(i[0], down), affine.add(i[0], right)))
    return whole(out)


@rule(np.diagflat)
def diagflat(build: Builder, v: Any, k: Any = 0) -> Any:
    return diag(build, shapes.ravel(build, as_array(build, v)), k)


# ------------------------------------------------------------------------------------------------ grids of indices


@rule(np.indices)
def indices(build: Builder, dimensions: Any, dtype: Any = None, sparse: Any = False) -> Any:
    wanted = creation.dtype_of(build, dtype, INT64)
    dims = creation.shape_of(build, dimensions)
    lines = [ArrayValue((length,), cast(Axis(0), wanted)) for length in dims]
    return _open_grid(lines) if flag(sparse) else _dense_grid(build, lines, wanted)


def _open_grid(lines: Sequence[ArrayValue]) -> TupleValue:
    """One array per axis, of length 1 along all the others."""
    ndim = len(lines)
    return TupleValue(
        tuple(
            remap(line, tuple(line.dims[0] if n == k else affine.ONE for n in range(ndim)), [Axis(k)])
            for k, line in enumerate(lines)
        )
    )


def _dense_grid(build: Builder, lines: Sequence[ArrayValue], dtype: np.dtype) -> ArrayValue:
    dims = tuple(line.dims[0] for line in lines)
    if not dims:
        return ArrayValue((affine.ZERO,), Const(dtype.type(0).item(), dtype))
    planes = [ArrayValue(dims, line.at([Axis(k)]), in_order=True) for k, line in enumerate(lines)]
    return creation.stack(build, planes, 0, dtype)


@rule(np.meshgrid)
def meshgrid(build: Builder, *xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = None) -> Any:
    how = "xy" if absent(indexing) else indexing.value
    if how not in ("xy", "ij"):
        build.refuse("Valid values for `indexing` are 'xy' and 'ij'.", error=ShapeError)
    lines = [shapes.ravel(build, as_array(build, x)) for x in xi]
    ndim = len(lines)
    order = list(range(ndim))
    if how == "xy" and ndim > 1:
        order[:2] = [1, 0]
    full = [lines[order[k]].dims[0] for k in range(ndim)]
    out = []
    for number, line in enumerate(lines):
        k = order.index(number)
        dims = tuple(n if k == at or not flag(sparse) else affine.ONE for at, n in enumerate(full))
        part = ArrayValue(dims, line.at([Axis(k)]), in_order=flag(copy))
        out.append(shapes.copied(build, part) if flag(copy) else part)
    return TupleValue(tuple(out))


@rule(np.ix_)
def open_mesh(build: Builder, *args: Any) -> Any:
    lines = []
    for item in args:
        line = as_array(build, item)
        if line.ndim != 1:
            build.refuse("Cross index must be 1 dimensional", error=ShapeError)
        if line.dtype == BOOL:
            (line,) = mask_positions(build, line)
        lines.append(line)
    return _open_grid(lines)


# ---------------------------------------------------------------------------------------------- used by subscript


def _line(build: Builder, part: Any) -> ArrayValue:
    """The coordinates that a slice of np.mgrid stands for; an imaginary step is the number of points."""
    if not isinstance(part, indexing.Slice):
        build.refuse("np.mgrid and np.ogrid are used with slices:  np.mgrid[0:n, 0:m]", error=ArgumentError)
    zero, one = Scalar(affine.ZERO, weak=True), Scalar(affine.ONE, weak=True)
    start = zero if part.start is None else part.start
    if part.stop is None:
        build.refuse("a slice of np.mgrid has an end", error=ShapeError)
    points = _number_of_points(part.step)
    if points is not None:
        return creation.linspace(build, start, part.stop, Scalar(affine.integer(points), True), True, FLOAT64)
    return creation.arange(build, (start, part.stop, one if part.step is None else part.step), None)


def _number_of_points(step: Any) -> int | None:
    value = step.value if isinstance(step, Static) or (isinstance(step, Scalar) and step.is_constant) else None
    return int(abs(value)) if isinstance(value, complex) else None


def _lines(build: Builder, items: Sequence[Any]) -> tuple[list[ArrayValue], np.dtype]:
    lines = [_line(build, item) for item in items]
    dtype = np.result_type(*(line.dtype for line in lines))
    return [ArrayValue(line.dims, cast(line.element, dtype)) for line in lines], dtype


def _mgrid(build: Builder, items: Sequence[Any]) -> Any:
    lines, dtype = _lines(build, items)
    return lines[0] if len(items) == 1 and not isinstance(items, tuple) else _dense_grid(build, lines, dtype)


def _ogrid(build: Builder, items: Sequence[Any]) -> Any:
    lines, _ = _lines(build, items)
    return lines[0] if len(items) == 1 and not isinstance(items, tuple) else _open_grid(lines)


def _row(build: Builder, items: Sequence[Any]) -> Any:
    """np.r_: arrays, numbers and ranges one after the other."""
    parts = _pieces(build, items)
    if any(part.ndim != parts[0].ndim for part in parts):
        build.refuse("np.r_ joins arrays of the same number of axes", "np.concatenate")
    return note_results(build, "concatenate", "", items, rearranging.joined(build, parts, 0))


def _columns(build: Builder, items: Sequence[Any]) -> Any:
    """np.c_: vectors become columns, and are joined along the last axis."""
    parts = [remap(p, (*p.dims, affine.ONE), [Axis(0)]) if p.ndim == 1 else p for p in _pieces(build, items)]
    return note_results(build, "concatenate", "", items, rearranging.joined(build, parts, parts[0].ndim - 1))


def _pieces(build: Builder, items: Sequence[Any]) -> list[ArrayValue]:
    """What is joined, in one dtype: numbers of Python's give way, as in arithmetic."""
    values = []
    for item in items:
        if isinstance(item, Static):
            build.refuse("np.r_ and np.c_ take no directives here", "np.concatenate, np.stack")
        values.append(_line(build, item) if isinstance(item, indexing.Slice) else array_or_number(build, item))
    dtype = np.result_type(*map(kind_of, values))
    return [cast_value(at_least(as_array(build, v), 1), dtype) for v in values]


def _as_it_is(build: Builder, items: Sequence[Any]) -> Any:
    return items[0] if len(items) == 1 and not isinstance(items, tuple) else TupleValue(tuple(items))


BY_SUBSCRIPT: dict[int, Callable[[Builder, Sequence[Any]], Any]] = {
    id(np.mgrid): _mgrid, id(np.ogrid): _ogrid, id(np.r_): _row, id(np.c_): _columns, id(np.s_): _as_it_is,
}  # fmt: skip


@rule(np.ndindex)
def ndindex(build: Builder, *shape: Any) -> Any:
    whole_shape = shape[0] if len(shape) == 1 and isinstance(shape[0], TupleValue) else TupleValue(shape)
    return Grid(tuple(Range(affine.ZERO, dim, affine.ONE) for dim in creation.shape_of(build, whole_shape)))


@rule(np.ndenumerate)
def ndenumerate(build: Builder, arr: Any) -> Any:
    value = as_array(build, arr)
    return Grid(tuple(Range(affine.ZERO, dim, affine.ONE) for dim in value.dims), value)


@rule(np.vectorize)
def vectorize(build: Builder, pyfunc: Any) -> Any:
    return Method(pyfunc, ".vectorized")  # see rules.compositions.creation


@rule(np.result_type, np.promote_types)
def result_type(build: Builder, *arrays_and_dtypes: Any) -> Any:
    """The dtype that NumPy's arithmetic gives to these operands."""
    check_asked(build, arrays_and_dtypes)
    kinds = [_kind(build, value) for value in arrays_and_dtypes]
    return Static(np.result_type(*kinds))


@rule(np.common_type)
def common_type(build: Builder, *arrays: Any) -> Any:
    """The inexact type that holds all of them."""
    check_asked(build, arrays)
    samples = [np.empty(0, array_or_number(build, value).dtype) for value in arrays]
    if any(sample.dtype == BOOL for sample in samples):
        return build.refuse("can't get common type for non-numeric array", error=ArgumentError)
    return Static(np.common_type(*samples))


def _kind(build: Builder, value: Any) -> Any:
    if isinstance(value, Static):
        return creation.dtype_of(build, value, None)
    return kind_of(array_or_number(build, value))


@rule(np.dtype)
def dtype_(build: Builder, dtype: Any) -> Any:
    return Static(creation.dtype_of(build, dtype, None))


# ----------------------------------------------------------------------------------------------- evenly spaced


@rule(np.linspace)
def linspace(
    build: Builder, start: Any, stop: Any, num: Any = None, endpoint: Any = True, retstep: Any = False,
    dtype: Any = None, axis: Any = 0,
) -> Any:  # fmt: skip
    low, high = array_or_number(build, start), array_or_number(build, stop)
    count = Scalar(affine.integer(50), True) if num is None else num
    wanted = dtype_or_none(build, dtype)
    number = axis if isinstance(axis, int) else axis_number(build, axis)
    if isinstance(low, Scalar) and isinstance(high, Scalar) and not flag(retstep):
        return creation.linspace(build, low, high, count, flag(endpoint), wanted)
    as_float = lambda v: elementwise(build, "mul", (v, Scalar(Const(1.0, FLOAT64), True)), python=True)
    (points,) = creation.shape_of(build, count)
    gaps = affine.sub(points, affine.ONE) if flag(endpoint) else points
    divisor = Scalar(cast(affine.maximum(gaps, affine.ONE), FLOAT64), weak=True)
    delta = elementwise(build, "sub", (as_float(high), as_float(low)), python=True)
    step = elementwise(build, "div", (delta, divisor), python=True)
    ndim = step.ndim if isinstance(step, ArrayValue) else 0
    step = whole(build.stored(step, "step")) if ndim else Scalar(build.capture(step.expr, "step"))
    at = ArrayValue((points, *[affine.ONE] * ndim), cast(Axis(0), step.dtype))
    line = elementwise(build, "add", (elementwise(build, "mul", (at, step)), as_float(low)))
    if flag(endpoint):
        last = both(affine.equals(Axis(0), gaps), Call("gt", (points, affine.ONE), BOOL))
        end = cast(element_under(build, as_float(high), line.dims), line.dtype)
        line = ArrayValue(line.dims, Call("select", (last, end, line.element), line.dtype))
    line = creation.to_dtype(line, wanted)
    if number:
        line = moveaxis(build, line, Scalar(affine.ZERO), Scalar(affine.integer(number)))
        line = creation.in_any_order(build, line)
    return TupleValue((line, step)) if flag(retstep) else line


@rule(np.arange)
def arange(
    build: Builder, start: Any = None, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None
) -> Any:
    one = Scalar(affine.ONE, weak=True)
    if absent(stop):
        if absent(start):
            build.refuse("arange() requires stop to be specified.", error=ShapeError)
        start, stop = None, start
    bounds = [Scalar(affine.ZERO, weak=True) if absent(start) else start, stop, one if absent(step) else step]
    numbers = [Scalar(b.element) if isinstance(b, ArrayValue) and b.ndim == 0 else b for b in bounds]
    if not all(isinstance(b, Scalar) for b in numbers):
        build.refuse("arange takes numbers", error=ArgumentError)
    if is_constant(numbers[2].expr, 0):
        build.refuse("Maximum allowed size exceeded: the step is zero", error=ShapeError)
    return creation.arange(build, numbers, dtype_or_none(build, dtype))
