"""np.fft and scipy.fft: each transform as calls of `runtime.fourier`, scaled as `norm` says.

np.fft.irfftn(x)   →   t = empty(…); ifft(t, x, 1 / n, 0); out = empty(…); irfft(out, t, 1 / m, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.fft

from ...errors import ArgumentError
from ...ir import affine
from ...ir.expressions import BOOL, FLOAT64, INT64, Call, Const, Expr, complex_of, part_of
from ...ir.nodes import If, Library, Raise, Store
from ..arithmetic import cast, cast_value
from ..array_values import ArrayValue, whole
from ..builder import Builder
from ..values import Scalar, TupleValue, constant, static_int
from . import complex_numbers, indexing, shapes
from .creation import refuse_unknown_axis
from .reductions import axes_of
from .table import TABLE, Handler, absent, also_into, as_array

SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


# -------------------------------------------------------------------------------------------- what there is to do


def _scale(build: Builder, norm: str, inverse: bool, count: Expr) -> Expr:
    """What a transform of so many numbers is multiplied by."""
    one, n = Const(1.0, FLOAT64), cast(count, FLOAT64)
    if norm == "ortho":
        return Call("div", (one, Call("sqrt", (n,), FLOAT64)), FLOAT64)
    return Call("div", (one, n), FLOAT64) if (norm == "backward") == inverse else one


def _norm(build: Builder, norm: Any) -> str:
    value = "backward" if absent(norm) else getattr(norm, "value", None)
    if value not in SWAPPED:
        build.refuse(f'invalid norm value {value}: "backward", "ortho" or "forward" is known', error=ArgumentError)
    return value


def _resized(build: Builder, value: ArrayValue, axis: int, length: Expr) -> ArrayValue:
    """Cut off, or filled up with zeros, where it has not this length already."""
    if affine.same(value.dims[axis], length):
        return value
    dims = (*value.dims[:axis], length, *value.dims[axis + 1 :])
    out = build.allocate("t", value.dtype, dims, Const(value.dtype.type(0).item(), value.dtype))
    if not build.follows_order(value):
        build.uncertain.add(out.name)
    common = build.pin(affine.minimum(value.dims[axis], length))
    build.check_fresh(value.element)
    build.each((*dims[:axis], common, *dims[axis + 1 :]), lambda index: Store(out, index, value.at(index)))
    return whole(out)


def _check_length(build: Builder, length: Expr) -> None:
    if build.is_at_least(length, 1):
        return
    wrong = Call("lt", (length, affine.ONE), BOOL)
    message = "Invalid number of FFT data points specified."
    if isinstance(length, Const):
        build.refuse(message, error=ArgumentError)
    build.emit(If(wrong, (Raise("ValueError", message),)))


def _call(
    build: Builder, routine: str, value: ArrayValue, axes: Sequence[int], scale: Expr, dims: tuple[Expr, ...]
) -> ArrayValue:
    """One call of the runtime; the result has these dims."""
    dtype = part_of(value.dtype) if routine == "irfft" else complex_of(value.dtype)
    held = build.stored(value)
    out = build.allocate("t", dtype, dims)
    if not build.follows_order(value):
        build.uncertain.add(out.name)
    build.emit(Library(routine, out, (held, scale, *map(affine.integer, axes))))
    return whole(out)


def _floating(value: ArrayValue) -> ArrayValue:
    return value if value.dtype.kind in "fc" else cast_value(value, FLOAT64)


def c2c(
    build: Builder, value: ArrayValue, lengths: Sequence[Expr | None], axes: Sequence[int], norm: str, inverse: bool
) -> ArrayValue:
    """The transform of complex numbers along these axes."""
    value = _floating(value)
    value = cast_value(value, complex_of(value.dtype))
    for axis, length in zip(axes, lengths, strict=True):
        value = _resized(build, value, axis, value.dims[axis] if length is None else length)
        _check_length(build, value.dims[axis])
    if not axes:
        return value
    scale = _scale(build, norm, inverse, affine.product(tuple(value.dims[axis] for axis in axes)))
    return _call(build, "ifft" if inverse else "fft", value, axes, scale, value.dims)


def r2c(build: Builder, value: ArrayValue, length: Expr | None, axis: int, norm: str) -> ArrayValue:
    """The half of the transform of real numbers."""
    if value.dtype.kind == "c":
        build.refuse("the transform of real numbers does not take complex ones", "z.real", error=ArgumentError)
    value = _floating(value)
    value = _resized(build, value, axis, value.dims[axis] if length is None else length)
    n = value.dims[axis]
    _check_length(build, n)
    half = build.pin(affine.add(affine.floordiv(n, 2), affine.ONE))
    dims = (*value.dims[:axis], half, *value.dims[axis + 1 :])
    return _call(build, "rfft", value, (axis,), _scale(build, norm, False, n), dims)


def c2r(build: Builder, value: ArrayValue, length: Expr | None, axis: int, norm: str) -> ArrayValue:
    """The real numbers of which this is the half of a transform."""
    value = _floating(value)
    value = cast_value(value, complex_of(value.dtype))
    n = length
    if n is None:
        n = build.pin(affine.mul(affine.integer(2), affine.sub(value.dims[axis], affine.ONE)))
        _check_length(build, n)
    else:
        _check_length(build, n)
        value = _resized(build, value, axis, build.pin(affine.add(affine.floordiv(n, 2), affine.ONE)))
    dims = (*value.dims[:axis], n, *value.dims[axis + 1 :])
    return _call(build, "irfft", value, (axis,), _scale(build, norm, True, n), dims)


# ------------------------------------------------------------------------------------------------- how it is called


def _length(build: Builder, n: Any) -> Expr | None:
    if n is None or absent(n) or static_int(n) == -1:
        return None
    if not isinstance(n, Scalar) or n.dtype.kind not in "iu":
        build.refuse("the length of a transform must be an integer", error=ArgumentError)
    return build.pin(cast(n.expr, INT64))


def _axis(build: Builder, value: ArrayValue, axis: Any) -> int:
    if static_int(axis) is None:
        refuse_unknown_axis(build, axis, "axis must be a constant integer")
    return axes_of(build, value, axis)[0]


def _lengths_and_axes(build: Builder, value: ArrayValue, s: Any, axes: Any) -> tuple[list[Expr | None], list[int]]:
    sizes = None if absent(s) else list(s.items) if isinstance(s, TupleValue) else [s]
    if absent(axes):
        count = value.ndim if sizes is None else len(sizes)
        chosen = list(range(value.ndim - count, value.ndim))
    else:
        chosen = [_axis(build, value, axis) for axis in (axes.items if isinstance(axes, TupleValue) else (axes,))]
    if sizes is not None and len(sizes) != len(chosen):
        build.refuse("Shape and axes have different lengths.", error=ArgumentError)
    if len(set(chosen)) != len(chosen):
        build.refuse("a transform takes each axis once", "transform twice")
    return [None] * len(chosen) if sizes is None else [_length(build, n) for n in sizes], chosen


def _one_axis(kind: str) -> Handler:
    def transform(build: Builder, x: Any, n: Any, axis: Any, norm: Any) -> ArrayValue:
        value = as_array(build, x)
        k, length, way = _axis(build, value, axis), _length(build, n), _norm(build, norm)
        match kind:
            case "fft" | "ifft":
                return c2c(build, value, [length], [k], way, kind == "ifft")
            case "rfft":
                return r2c(build, value, length, k, way)
            case "irfft":
                return c2r(build, value, length, k, way)
            case "hfft":
                return c2r(build, complex_numbers.conjugate(build, value), length, k, SWAPPED[way])
        return complex_numbers.conjugate(build, r2c(build, value, length, k, SWAPPED[way]))

    return transform


def _more_axes(kind: str) -> Handler:
    def transform(build: Builder, x: Any, s: Any, axes: Any, norm: Any) -> ArrayValue:
        value = as_array(build, x)
        (lengths, chosen), way = _lengths_and_axes(build, value, s, axes), _norm(build, norm)
        if kind in ("fftn", "ifftn"):
            return c2c(build, value, lengths, chosen, way, kind == "ifftn")
        if not chosen:
            build.refuse("at least one axis must be transformed", error=ArgumentError)
        if kind == "rfftn":
            half = r2c(build, value, lengths[-1], chosen[-1], way)
            return c2c(build, half, lengths[:-1], chosen[:-1], way, False)
        others = c2c(build, value, lengths[:-1], chosen[:-1], way, True)
        return c2r(build, others, lengths[-1], chosen[-1], way)

    return transform


def _register() -> None:
    """Each transform under its names in NumPy and SciPy, with the arguments of each."""
    last, last_two = constant(-1), TupleValue((constant(-2), constant(-1)))
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        _both(name, _one_axis(name), "n", "axis", last)
    for name in ("fft", "ifft", "rfft", "irfft"):
        _both(f"{name}2", _more_axes(f"{name}n"), "s", "axes", last_two)
        _both(f"{name}n", _more_axes(f"{name}n"), "s", "axes", None)


def _both(name: str, transform: Handler, size: str, along: str, default: Any) -> None:
    TABLE[getattr(np.fft, name)] = _handler(transform, size, along, default, scipy_like=False)
    TABLE[getattr(scipy.fft, name)] = _handler(transform, size, along, default, scipy_like=True)


def _handler(transform: Handler, size: str, along: str, default: Any, scipy_like: bool) -> Handler:
    if size == "n":
        if scipy_like:
            return lambda build, x, n=None, axis=default, norm=None, overwrite_x=None, workers=None: transform(
                build, x, n, axis, norm
            )
        return lambda build, a, n=None, axis=default, norm=None, out=None: also_into(
            build, out, transform(build, a, n, axis, norm)
        )
    if scipy_like:
        return lambda build, x, s=None, axes=default, norm=None, overwrite_x=None, workers=None: transform(
            build, x, s, axes, norm
        )
    return lambda build, a, s=None, axes=default, norm=None, out=None: also_into(
        build, out, transform(build, a, s, axes, norm)
    )


_register()


# ---------------------------------------------------------------------------------------------------------- shifts


def _shifted(build: Builder, x: Any, axes: Any, back: bool) -> ArrayValue:
    """Turned round by half of its length along each axis."""
    value = as_array(build, x)
    for axis in axes_of(build, value, axes):
        n = value.dims[axis]
        half = affine.floordiv(n, 2)
        middle = Scalar(build.pin(half if back else affine.sub(n, half)), weak=True)
        around = [indexing.Slice(None, None, None)] * axis
        parts = [
            indexing.subscript(build, value, [*around, indexing.Slice(start, stop, None)])
            for start, stop in ((middle, None), (None, middle))
        ]
        value = shapes.concatenate(build, parts, Scalar(affine.integer(axis), weak=True))
    return value


def fftshift(build: Builder, x: Any, axes: Any = None) -> ArrayValue:
    return _shifted(build, x, axes, back=False)


def ifftshift(build: Builder, x: Any, axes: Any = None) -> ArrayValue:
    return _shifted(build, x, axes, back=True)


TABLE[np.fft.fftshift] = TABLE[scipy.fft.fftshift] = fftshift
TABLE[np.fft.ifftshift] = TABLE[scipy.fft.ifftshift] = ifftshift
