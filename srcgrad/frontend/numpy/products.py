"""NumPy's products of arrays, each said as a contraction of labelled axes, and what is taken from a diagonal.

A @ B                   →  ...ik,...kj->...ij
np.kron(a, b)           →  ij,kl->ikjl, and a reshape
np.tensordot(a, b, 1)   →  ij,jkl->ikl
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError, place
from ...ir import affine
from ...ir.expressions import BOOL, Axis, Call, Const, Expr
from ...ir.nodes import If, Raise
from ...ir.walk import is_constant
from ..arithmetic import cast_value, elementwise
from ..array_values import ArrayValue, remap, whole
from ..broadcasting import shape_text
from ..builder import Builder
from ..types_that_decide import check_product
from ..values import Scalar, TupleValue, static_int
from . import creation, reductions, shapes
from .contractions import Labels, contract
from .creation import check_length
from .table import absent, also_into, array_or_number, as_array, axis_number, check_kind, dtype_or_none, rule


def as_values(build: Builder, *values: Any, dtype: Any = None) -> list[Any]:
    """Arrays or numbers, of lists too, all in the dtype that is asked for; Python's numbers are as good as NumPy's."""
    found = [array_or_number(build, value) for value in values]
    for value in found:
        if not isinstance(value, (Scalar, ArrayValue)):
            build.refuse("a product needs numbers or arrays", error=ArgumentError)
    check_product(build, found)
    found = [Scalar(value.expr) if isinstance(value, Scalar) else value for value in found]
    wanted = dtype_or_none(build, dtype)
    for value in found:
        creation.refuse_to_drop(build, value, wanted)
    return found if wanted is None else [cast_value(value, wanted) for value in found]


def conjugate(build: Builder, x: Any) -> Any:
    """The first operand of a product that NumPy takes from vectors of complex numbers."""
    return elementwise(build, "conj", (x,)) if x.dtype.kind == "c" else x


def ndim(value: Any) -> int:
    return value.ndim if isinstance(value, ArrayValue) else 0


def check_summed(build: Builder, x: ArrayValue, axis_x: int, y: ArrayValue, axis_y: int) -> None:
    """The lengths that a product sums over are equal."""
    length_x, length_y = x.dims[axis_x], y.dims[axis_y]
    gap = affine.difference(length_x, length_y)
    if gap:
        texts = f"shapes {shape_text(x.dims)} and {shape_text(y.dims)}"
        dim_x, dim_y = f"dim {axis_x % x.ndim}", f"dim {axis_y % y.ndim}"
        where = f"{dim_x} and {dim_y} differ by {abs(gap)}"
        if isinstance(length_x, Const) and isinstance(length_y, Const):
            where = f"{length_x.value} ({dim_x}) != {length_y.value} ({dim_y})"
        build.refuse(f"{texts} don't fit: {where}", error=ShapeError)
    check_length(build, length_x, length_y)


def stacked(value: Any, core: Labels) -> Labels:
    """Labels for an array with `core` as its last axes; those ahead of them are numbered from the back."""
    return (*range(len(core) - ndim(value), 0), *core)


def of_stacks(build: Builder, name: str, x: Any, core_x: Labels, y: Any, core_y: Labels, out: Labels) -> Any:
    """A product of the last axes, for each of the stacks that broadcast together."""
    for number, (value, core) in enumerate(((x, core_x), (y, core_y))):
        if ndim(value) < len(core):
            wanted = f"at least {len(core)} dimension{'s' if len(core) > 1 else ''}"
            build.refuse(f"{name}: operand {number} must have {wanted}, it has {ndim(value)}", error=ShapeError)
    (summed,) = set(core_x) & set(core_y)
    check_summed(build, x, core_x.index(summed) - len(core_x), y, core_y.index(summed) - len(core_y))
    labels_x, labels_y = stacked(x, core_x), stacked(y, core_y)
    depth = max(len(labels_x) - len(core_x), len(labels_y) - len(core_y))
    return contract(build, ((x, labels_x), (y, labels_y)), (*range(-depth, 0), *out), (summed,))


def matrix_product(build: Builder, x: Any, y: Any, name: str = "matmul") -> Any:
    """`x @ y`"""
    x, y = as_values(build, x, y)
    for number, value in enumerate((x, y)):
        if ndim(value) == 0:
            build.refuse(f"{name}: operand {number} is a number, where an array is needed", error=ShapeError)
    core_x = ("k",) if ndim(x) == 1 else ("i", "k")
    core_y = ("k",) if ndim(y) == 1 else ("k", "j")
    return of_stacks(build, name, x, core_x, y, core_y, tuple(c for c in (*core_x, *core_y) if c != "k"))


def in_place(build: Builder, x: ArrayValue, y: Any) -> ArrayValue:
    """What `x @= y` puts into x."""
    product = matrix_product(build, x, y, "@=")
    if ndim(product) != x.ndim:
        build.refuse(f"@= makes {ndim(product)} dimensions of {x.ndim}", "write it as  x = x @ y", error=ShapeError)
    for length, wanted in zip(product.dims, x.dims, strict=True):
        check_length(build, length, wanted)
    check_kind(build, product, x)
    return product


@rule(np.matmul)
def matmul(build: Builder, x1: Any, x2: Any, out: Any = None, *, dtype: Any = None) -> Any:
    x, y = as_values(build, x1, x2, dtype=dtype)
    return also_into(build, out, matrix_product(build, x, y), core=(ndim(x) > 1) + (ndim(y) > 1))


@rule(np.linalg.matmul)
def linalg_matmul(build: Builder, x1: Any, x2: Any) -> Any:
    return matrix_product(build, x1, x2)


@rule(np.matvec)
def matvec(build: Builder, x1: Any, x2: Any, out: Any = None, *, dtype: Any = None) -> Any:
    x, y = as_values(build, x1, x2, dtype=dtype)
    return also_into(build, out, of_stacks(build, "matvec", x, ("i", "k"), y, ("k",), ("i",)), core=1)


@rule(np.vecmat)
def vecmat(build: Builder, x1: Any, x2: Any, out: Any = None, *, dtype: Any = None) -> Any:
    x, y = as_values(build, x1, x2, dtype=dtype)
    return also_into(build, out, of_stacks(build, "vecmat", conjugate(build, x), ("k",), y, ("k", "j"), ("j",)), core=1)


@rule(np.vecdot)
def vecdot(build: Builder, x1: Any, x2: Any, out: Any = None, *, axis: Any = -1, dtype: Any = None) -> Any:
    x, y = as_values(build, x1, x2, dtype=dtype)
    if ndim(x) and ndim(y):
        number = axis if isinstance(axis, int) else axis_number(build, axis)
        x, y = (shapes.moveaxis(build, v, checked_axis(build, v, number), -1) for v in (x, y))
    return also_into(build, out, of_stacks(build, "vecdot", conjugate(build, x), ("k",), y, ("k",), ()), core=0)


@rule(np.linalg.vecdot)
def linalg_vecdot(build: Builder, x1: Any, x2: Any, *, axis: Any = -1) -> Any:
    return vecdot(build, x1, x2, axis=axis)


def checked_axis(build: Builder, value: ArrayValue, number: int) -> int:
    if not -value.ndim <= number < value.ndim:
        build.refuse(f"axis {number} is out of bounds for an array of dimension {value.ndim}", error=ArgumentError)
    return number % value.ndim


@rule(np.dot, method="dot")
def dot(build: Builder, a: Any, b: Any, out: Any = None) -> Any:
    x, y = as_values(build, a, b)
    if ndim(x) == 0 or ndim(y) == 0:
        return also_into(build, out, elementwise(build, "mul", (x, y)))
    late = -1 if y.ndim == 1 else -2
    return also_into(build, out, over_axes(build, x, (x.ndim - 1,), y, (y.ndim + late,)))


@rule(np.inner)
def inner(build: Builder, a: Any, b: Any) -> Any:
    x, y = as_values(build, a, b)
    if ndim(x) == 0 or ndim(y) == 0:
        return elementwise(build, "mul", (x, y))
    return over_axes(build, x, (x.ndim - 1,), y, (y.ndim - 1,))


def over_axes(build: Builder, x: ArrayValue, axes_x: tuple[int, ...], y: ArrayValue, axes_y: tuple[int, ...]) -> Any:
    """The sum over pairs of axes; what is left of x comes first, then what is left of y."""
    for axis_x, axis_y in zip(axes_x, axes_y, strict=True):
        check_summed(build, x, axis_x, y, axis_y)
    labels_x = [("x", k) for k in range(x.ndim)]
    labels_y = [("y", k) for k in range(y.ndim)]
    for number, (axis_x, axis_y) in enumerate(zip(axes_x, axes_y, strict=True)):
        labels_x[axis_x] = labels_y[axis_y] = ("summed", number)
    out = tuple(one for one in (*labels_x, *labels_y) if one[0] != "summed")
    checked = tuple(("summed", number) for number in range(len(axes_x)))
    return contract(build, ((x, tuple(labels_x)), (y, tuple(labels_y))), out, checked)


@rule(np.vdot)
def vdot(build: Builder, a: Any, b: Any) -> Any:
    x, y = as_values(build, a, b)
    x = conjugate(build, x)
    if ndim(x) == ndim(y) == 0:
        return elementwise(build, "mul", (x, y))
    x, y = (as_array(build, v) for v in (x, y))
    if x.ndim != y.ndim or not all(map(affine.same, x.dims, y.dims)):
        x, y = shapes.ravel(build, x), shapes.ravel(build, y)
    every = tuple(range(x.ndim))
    return over_axes(build, x, every, y, every)


@rule(np.outer)
def outer(build: Builder, a: Any, b: Any, out: Any = None) -> Any:
    x, y = (shapes.ravel(build, as_array(build, v)) for v in as_values(build, a, b))
    made = contract(build, ((x, ("i",)), (y, ("j",))), ("i", "j"))
    return also_into(build, out, replace(made, in_order=True), core=0)


@rule(np.linalg.outer)
def linalg_outer(build: Builder, x1: Any, x2: Any) -> Any:
    x, y = as_values(build, x1, x2)
    if ndim(x) != 1 or ndim(y) != 1:
        build.refuse(f"outer: input arrays must be one-dimensional, not {ndim(x)} and {ndim(y)}", error=ShapeError)
    return outer(build, x, y)


@rule(np.tensordot)
def tensordot(build: Builder, a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = as_array(build, a), as_array(build, b)
    axes_x, axes_y = axes_of_tensordot(build, axes, x.ndim)
    if len(axes_x) != len(axes_y) or len(axes_x) > min(x.ndim, y.ndim):
        build.refuse("shape-mismatch for sum: as many axes of the one as of the other are needed", error=ShapeError)
    numbers_x = tuple(checked_axis(build, x, k) for k in axes_x)
    numbers_y = tuple(checked_axis(build, y, k) for k in axes_y)
    for numbers in (numbers_x, numbers_y):
        if len(set(numbers)) < len(numbers):
            build.refuse("an axis is summed over twice", error=ShapeError)
    result = over_axes(build, x, numbers_x, y, numbers_y)
    return ArrayValue((), result.expr) if isinstance(result, Scalar) else result


def axes_of_tensordot(build: Builder, axes: Any, ndim_x: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """`axes=2`: the last two of the one with the first two of the other; else a pair of axes or of lists of axes."""
    count = axes if isinstance(axes, int) else static_int(axes)
    if count is not None:
        if count < 0 or count > ndim_x:
            build.refuse(f"tensordot over {count} axes of an array of dimension {ndim_x}", error=ShapeError)
        return tuple(range(ndim_x - count, ndim_x)), tuple(range(count))
    if not isinstance(axes, TupleValue) or len(axes.items) != 2:
        build.refuse("axes must be a constant integer or a pair of them, or of lists of them", error=ArgumentError)
    left, right = (item.items if isinstance(item, TupleValue) else (item,) for item in axes.items)
    return tuple(axis_number(build, k) for k in left), tuple(axis_number(build, k) for k in right)


@rule(np.linalg.tensordot)
def linalg_tensordot(build: Builder, x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(build, x1, x2, axes)


@rule(np.kron)
def kron(build: Builder, a: Any, b: Any) -> Any:
    x, y = as_values(build, a, b)
    if ndim(x) == 0 or ndim(y) == 0:
        return elementwise(build, "mul", (x, y))
    depth = max(x.ndim, y.ndim)
    x, y = (as_deep(v, depth) for v in (x, y))
    labels_x, labels_y = (tuple((name, k) for k in range(depth)) for name in "xy")
    out = tuple(one for pair in zip(labels_x, labels_y, strict=True) for one in pair)
    product = contract(build, ((x, labels_x), (y, labels_y)), out)
    dims = tuple(build.pin(affine.mul(n, m)) for n, m in zip(x.dims, y.dims, strict=True))
    return shapes.reshaped(build, product, dims)


def as_deep(value: ArrayValue, depth: int) -> ArrayValue:
    """With axes of length 1 ahead of its own, so that there are `depth` of them."""
    lead = depth - value.ndim
    return remap(value, (affine.ONE,) * lead + value.dims, [Axis(k + lead) for k in range(value.ndim)])


# ------------------------------------------------------------------------------------------------ cross products


@rule(np.cross)
def cross(build: Builder, a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    if not absent(axis):
        axisa = axisb = axisc = axis
    numbers = [k if isinstance(k, int) else axis_number(build, k) for k in (axisa, axisb, axisc)]
    x, y = (
        shapes.moveaxis(build, v, checked_axis(build, v, k), -1)
        for v, k in zip((as_array(build, a), as_array(build, b)), numbers[:2], strict=True)
    )
    left, right = components(build, x), components(build, y)

    def minor(i: int, j: int) -> Any:
        """left[i] * right[j] - left[j] * right[i], where what is missing is zero."""
        terms = [
            elementwise(build, "mul", (left[p], right[q])) if p < len(left) and q < len(right) else None
            for p, q in ((i, j), (j, i))
        ]
        if terms[0] is None:
            return elementwise(build, "neg", (terms[1],))
        return terms[0] if terms[1] is None else elementwise(build, "sub", terms)

    if len(left) == len(right) == 2:
        return minor(0, 1)
    parts = [as_array(build, minor(*pair)) for pair in ((1, 2), (2, 0), (0, 1))]
    depth = max(part.ndim for part in parts)
    if not -depth - 1 <= numbers[2] <= depth:
        build.refuse(f"axisc {numbers[2]} is out of bounds for an array of dimension {depth + 1}", error=ArgumentError)
    made = creation.stack(build, parts, numbers[2])
    return made if numbers[2] in (-1, depth) else creation.in_any_order(build, made)


@rule(np.linalg.cross)
def linalg_cross(build: Builder, x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    for value in as_values(build, x1, x2):
        number = axis if isinstance(axis, int) else axis_number(build, axis)
        if is_constant(value.dims[checked_axis(build, value, number)], 2):
            build.refuse("both arrays must be of three-dimensional vectors", error=ShapeError)
    return cross(build, x1, x2, axis=axis)


def components(build: Builder, vectors: ArrayValue) -> list[Any]:
    """The components of the vectors along the last axis, as arrays: 3 of them where the length is not a constant."""
    length = vectors.dims[-1]
    if isinstance(length, Const) and length.value not in (2, 3):
        build.refuse("incompatible dimensions for cross product (dimension must be 2 or 3)", error=ShapeError)
    if not isinstance(length, Const):
        message = (
            "np.cross takes vectors of a length that is no constant for three-dimensional, not for {}: "
            "of two-dimensional ones write  a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]"
        ) + place(build.span)
        build.emit(If(Call("ne", (length, affine.integer(3)), BOOL), (Raise("RuntimeShapeError", message, (length,)),)))
    count = length.value if isinstance(length, Const) else 3
    lead = [Axis(k) for k in range(vectors.ndim - 1)]
    parts = [remap(vectors, vectors.dims[:-1], [*lead, affine.integer(k)]) for k in range(count)]
    return [part if part.ndim else Scalar(part.element) for part in parts]


# ----------------------------------------------------------------------------------------------------- diagonals


def diagonal_of(build: Builder, value: ArrayValue, offset: Any, axis1: Any, axis2: Any) -> ArrayValue:
    """The elements with one index on both axes, along a new last axis."""
    shift, first, second = (k if isinstance(k, int) else axis_number(build, k) for k in (offset, axis1, axis2))
    if value.ndim < 2:
        build.refuse("diag requires an array of at least two dimensions", error=ShapeError)
    first, second = checked_axis(build, value, first), checked_axis(build, value, second)
    if first == second:
        build.refuse("axis1 and axis2 cannot be the same", error=ShapeError)
    kept = [k for k in range(value.ndim) if k not in (first, second)]
    starts = {first: affine.integer(max(-shift, 0)), second: affine.integer(max(shift, 0))}
    length = affine.minimum(*(affine.sub(value.dims[k], start) for k, start in starts.items()))
    if not build.is_at_least(length, 0):
        length = affine.maximum(length, affine.ZERO)
    along = Axis(len(kept))
    index: list[Expr] = [
        affine.add(along, starts[k]) if k in starts else Axis(kept.index(k)) for k in range(value.ndim)
    ]
    return remap(value, (*(value.dims[k] for k in kept), build.pin(length)), index)


@rule(np.diagonal, method="diagonal")
def diagonal(build: Builder, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    value = as_array(build, a)
    return seen_through(build, value, diagonal_of(build, value, offset, axis1, axis2))


def seen_through(build: Builder, value: ArrayValue, diagonal: ArrayValue) -> ArrayValue:
    """A diagonal is a view in NumPy, and a copy here: neither is read once the other was written."""
    if not value.is_window:
        return diagonal
    copy = build.materialize(diagonal, copy=True)
    build.twin(copy, value.element.array)  # type: ignore[attr-defined]
    return whole(copy)


@rule(np.linalg.diagonal)
def linalg_diagonal(build: Builder, x: Any, /, *, offset: Any = 0) -> Any:
    return diagonal(build, x, offset, -2, -1)


@rule(np.trace, method="trace")
def trace(
    build: Builder, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    found = diagonal_of(build, as_array(build, a), offset, axis1, axis2)
    last = Scalar(affine.integer(-1))
    return also_into(build, out, reductions.total(build, found, last, dtype=dtype_or_none(build, dtype)))


@rule(np.linalg.trace)
def linalg_trace(build: Builder, x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    return trace(build, x, offset, -2, -1, dtype)


@rule(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(build: Builder, x: Any, /) -> Any:
    value = as_array(build, x)
    if value.ndim < 2:
        build.refuse(f"input array must be at least 2-dimensional, but it is {value.ndim}", error=ShapeError)
    return shapes.swapaxes(build, value, -1, -2)
