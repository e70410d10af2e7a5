"""NumPy's functions that make arrays, or copies of them in the order that is asked for, in all their spellings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...ir import affine
from ...ir.expressions import FLOAT64, Const, Load
from .. import arrays_of_none
from ..array_values import ArrayValue, whole
from ..builder import Builder
from ..values import Scalar, Static, TupleValue
from . import axes, creation, shapes
from .table import absent, array_or_number, as_array, axis_number, dtype_or_none, flag, rule


@rule(np.array)
def array(
    build: Builder, object: Any, dtype: Any = None, *, copy: Any = None, order: Any = None, subok: Any = None,
    ndmin: Any = None, like: Any = None,
) -> Any:  # fmt: skip
    if absent(dtype) and (of_none := arrays_of_none.made_of(object)) is not None:
        return of_none
    value = creation.array_of(build, object, dtype_or_none(build, dtype))
    is_copied = copy is None or flag(copy)
    if isinstance(object, Scalar) or (is_copied and isinstance(object, ArrayValue) and value.dtype == object.dtype):
        value = shapes.copied(build, value)
    missing = 0 if absent(ndmin) else axis_number(build, ndmin) - value.ndim
    return _ordered(build, axes.with_axes(value, tuple(range(missing))), order)


def _ordered(build: Builder, made: Any, order: Any) -> Any:
    """`order=`: a matrix that is asked for in columns is in another order than ours."""
    if absent(order) or order.value != "F" or not isinstance(made, ArrayValue) or made.ndim < 2:
        return made
    memory = build.materialize(made, copy=made.handle is None)
    build.uncertain.add(memory.name)
    return whole(memory)


@rule(np.asarray, np.asanyarray)
def asarray(
    build: Builder, a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None,
    like: Any = None,
) -> Any:  # fmt: skip
    if not absent(copy) and flag(copy):
        return array(build, a, dtype, order=order)
    value = creation.array_of(build, a, dtype_or_none(build, dtype))
    if not absent(order) and order.value in ("C", "F") and value.ndim:
        return (ascontiguousarray if order.value == "C" else asfortranarray)(build, value)
    return shapes.copied(build, value) if isinstance(a, Scalar) and isinstance(a.expr, Load) else value


@rule(np.require)
def require(build: Builder, a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """Arrays here are aligned, writeable and of NumPy's own class: what is left is order, and memory of its own."""
    wanted = _requirements(build, requirements)
    if wanted >= {"C", "F"}:
        build.refuse('Cannot specify both "C" and "F" order', error=ArgumentError)
    value = asarray(build, a, dtype)
    if "O" in wanted or ("F" in wanted and value.ndim > 1):
        return _perhaps_copied(build, value)
    return shapes.in_c_order(build, value) if wanted & {"C", "F"} and value.ndim else value


def _requirements(build: Builder, requirements: Any) -> set[str]:
    """Their first letters, as in NumPy's CONTIGUOUS and F_CONTIGUOUS."""
    if absent(requirements):
        return set()
    names = requirements.items if isinstance(requirements, TupleValue) else tuple(requirements.value)
    first = {str(name.value if isinstance(name, Static) else name).upper()[0] for name in names}
    if not first <= set("CFAWOE"):
        build.refuse("requirements are C, F, A, W, O and E", error=ArgumentError)
    return first


@rule(np.asfortranarray)
def asfortranarray(build: Builder, a: Any, dtype: Any = None) -> Any:
    """A copy in columns, unless it was in that order already."""
    value = creation.array_of(build, a, dtype_or_none(build, dtype))
    if value.ndim < 2:
        return ascontiguousarray(build, a, dtype)
    return _perhaps_copied(build, value)


def _perhaps_copied(build: Builder, value: ArrayValue) -> ArrayValue:
    """A copy, or the array itself: nothing may depend on which."""
    copy = build.materialize(value, copy=True)
    build.uncertain.add(copy.name)
    if value.is_window:
        assert isinstance(value.element, Load)
        build.twin(copy, value.element.array)
    return whole(copy)


@rule(np.ascontiguousarray)
def ascontiguousarray(build: Builder, a: Any, dtype: Any = None) -> Any:
    """At least one axis, in C order."""
    value = creation.array_of(build, a, dtype_or_none(build, dtype))
    return shapes.in_c_order(build, value if value.ndim else axes.with_axes(value, (0,)))


@rule(np.zeros)
def zeros(build: Builder, shape: Any, dtype: Any = None, order: Any = None, *, like: Any = None) -> Any:
    return _ordered(build, _constant(build, shape, 0, creation.dtype_of(build, dtype, FLOAT64)), order)


@rule(np.ones)
def ones(build: Builder, shape: Any, dtype: Any = None, order: Any = None, *, like: Any = None) -> Any:
    return _ordered(build, _constant(build, shape, 1, creation.dtype_of(build, dtype, FLOAT64)), order)


def _constant(build: Builder, shape: Any, value: int, dtype: np.dtype) -> ArrayValue:
    return ArrayValue(creation.shape_of(build, shape), Const(dtype.type(value).item(), dtype), in_order=True)


@rule(np.empty, np.ndarray)
def empty(build: Builder, shape: Any, dtype: Any = None, order: Any = None, *, like: Any = None) -> Any:
    return _ordered(build, creation.empty(build, shape, creation.dtype_of(build, dtype, FLOAT64)), order)


@rule(np.full)
def full(build: Builder, shape: Any, fill_value: Any, dtype: Any = None, order: Any = None, *, like: Any = None) -> Any:
    return _ordered(build, creation.filled(build, shape, fill_value, dtype_or_none(build, dtype)), order)


def _shape_like(build: Builder, a: Any, shape: Any) -> Any:
    if not absent(shape):
        return shape
    return TupleValue(tuple(Scalar(dim, weak=True) for dim in as_array(build, a).dims))


def _dtype_like(build: Builder, a: Any, dtype: Any) -> np.dtype:
    return creation.dtype_of(build, dtype, array_or_number(build, a).dtype)


def _in_the_order_of(build: Builder, made: Any, a: Any, order: Any) -> Any:
    """np.zeros_like(x.T) is in the order of x.T."""
    if not absent(order) and order.value in ("C", "F"):
        return _ordered(build, made, order)
    if not isinstance(made, ArrayValue) or not isinstance(a, ArrayValue) or a.ndim < 2:
        return made
    if build.follows_order(a):
        return made
    return creation.in_any_order(build, made)


@rule(np.zeros_like)
def zeros_like(
    build: Builder, a: Any, dtype: Any = None, order: Any = None, subok: Any = True, shape: Any = None
) -> Any:
    made = _constant(build, _shape_like(build, a, shape), 0, _dtype_like(build, a, dtype))
    return _in_the_order_of(build, made, a, order)


@rule(np.ones_like)
def ones_like(
    build: Builder, a: Any, dtype: Any = None, order: Any = None, subok: Any = True, shape: Any = None
) -> Any:
    made = _constant(build, _shape_like(build, a, shape), 1, _dtype_like(build, a, dtype))
    return _in_the_order_of(build, made, a, order)


@rule(np.empty_like)
def empty_like(
    build: Builder, a: Any, dtype: Any = None, order: Any = None, subok: Any = True, shape: Any = None
) -> Any:
    made = creation.empty(build, _shape_like(build, a, shape), _dtype_like(build, a, dtype))
    return _in_the_order_of(build, made, a, order)


@rule(np.full_like)
def full_like(
    build: Builder, a: Any, fill_value: Any, dtype: Any = None, order: Any = None, subok: Any = True,
    shape: Any = None,
) -> Any:  # fmt: skip
    wanted = _dtype_like(build, a, dtype)
    return _in_the_order_of(build, creation.filled(build, _shape_like(build, a, shape), fill_value, wanted), a, order)


@rule(np.eye)
def eye(
    build: Builder, N: Any, M: Any = None, k: Any = 0, dtype: Any = None, order: Any = None, *, like: Any = None
) -> Any:
    shift = affine.integer(k) if isinstance(k, int) else build.capture(creation.shape_of(build, k)[0], "k")
    columns = N if absent(M) else M
    return _ordered(build, creation.eye(build, N, columns, shift, creation.dtype_of(build, dtype, FLOAT64)), order)


@rule(np.identity)
def identity(build: Builder, n: Any, dtype: Any = None) -> Any:
    return creation.eye(build, n, n, affine.ZERO, creation.dtype_of(build, dtype, FLOAT64))


@rule(np.copy)
def copy(build: Builder, a: Any, order: Any = None) -> Any:
    value = array_or_number(build, a)
    if isinstance(value, Scalar):
        return Scalar(value.expr)  # NumPy's now, and no number of Python's any more
    made = _ordered(build, shapes.copied(build, value), order)
    return creation.in_any_order(build, made) if value.is_view_to_numpy and absent(order) else made


@rule(method="copy")
def copy_of_its_own(build: Builder, a: Any, order: Any = None) -> Any:
    """In C order, where np.copy is in that of the array."""
    made = copy(build, a, order)
    if isinstance(made, ArrayValue) and made.handle is not None and (absent(order) or order.value == "C"):
        build.uncertain.discard(made.handle.name)
    return made
