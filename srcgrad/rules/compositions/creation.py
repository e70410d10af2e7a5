"""Arrays that are computed from their indices, or by a function of the user's for each of their parts."""

from __future__ import annotations

import numpy as np

from srcgrad.rules.compositions.registry import means, of_one_type, of_types, types_of_results
from srcgrad.rules.compositions.shapes import axis_of


@means(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    if np.ndim(base) > 0:
        start, stop, base = np.broadcast_arrays(start, stop, base)
        base = np.expand_dims(base, axis)
    out = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return out if dtype is None else out.astype(dtype)


@means(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    if np.any(np.equal(start, 0)) or np.any(np.equal(stop, 0)):
        raise ValueError("Geometric sequence cannot include zero")
    start, stop = np.asarray(start, np.float64), np.asarray(stop, np.float64)
    ratio = np.log(stop / start)
    out = start * np.exp(np.linspace(np.zeros_like(ratio), ratio, num, endpoint))
    if num > 0:
        out[0] = start
    if num > 1 and endpoint:
        out[-1] = stop
    if axis != 0:
        out = np.moveaxis(out, 0, axis)
    return out if dtype is None else out.astype(dtype)


@means(np.fromfunction)
def fromfunction(function, shape, *, dtype=float):
    return function(*np.indices(shape, dtype=dtype))


@means(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    arr = np.asarray(arr)
    axis = axis_of(arr, axis)
    if arr.ndim == 1:
        out = func1d(arr, *args, **kwargs)
        return np.copy(out) if np.ndim(out) > 0 else out
    last = np.moveaxis(arr, axis, -1)
    rows = np.reshape(last, (-1, last.shape[-1]))
    out = np.asarray([func1d(row, *args, **kwargs) for row in rows])
    out = np.reshape(out, last.shape[:-1] + out.shape[1:])
    for k in tuple(range(out.ndim - arr.ndim + 1)):
        out = np.moveaxis(out, arr.ndim - 1 + k, axis + k)
    return out


@means(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    value = np.asarray(a)
    for axis in (axes,) if np.ndim(axes) == 0 else tuple(axes):
        axis = axis if axis >= 0 else np.ndim(a) + axis
        reduced = func(value, axis)
        value = reduced if reduced.ndim == value.ndim else np.expand_dims(reduced, axis)
    return value


@means(method=".vectorized")
def vectorized(pyfunc, *args, **named):
    """What np.vectorize(pyfunc) does when it is called: of NumPy's numbers the first time, then of Python's."""
    arrays = np.broadcast_arrays(*args, *named.values())
    columns = [np.ravel(a) for a in arrays]
    n, keys = len(args), tuple(named)
    if arrays[0].ndim > 0 and arrays[0].size == 0:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    types = types_of_results(pyfunc, [c[0] for c in columns[:n]], {k: columns[n + j][0] for j, k in enumerate(keys)})
    keep = tuple([keeps_numpys(a) for a in (*args, *named.values())])
    if arrays[0].ndim == 0:
        first = [items_of(columns[j], 0, keep[j]) for j in range(n)]
        others = {k: items_of(columns[n + j], 0, keep[n + j]) for j, k in enumerate(keys)}
        one = of_types(pyfunc(*first, **others), types)
        return tuple(map(np.asarray, one)) if isinstance(one, tuple) else np.asarray(one)
    made = [
        of_types(
            pyfunc(
                *[items_of(columns[j], i, keep[j]) for j in range(n)],
                **{k: items_of(columns[n + j], i, keep[n + j]) for j, k in enumerate(keys)},
            ),
            types,
        )
        for i in range(arrays[0].size)
    ]
    if isinstance(made[0], tuple):
        parts = [np.asarray([several[k] for several in made]) for k in range(len(made[0]))]
        return tuple(part.reshape(arrays[0].shape) for part in parts)
    return np.asarray(made).reshape(arrays[0].shape)


def keeps_numpys(a):
    """Are NumPy's numbers that are no array, and those in lists, handed on as they are?"""
    if isinstance(a, (list, tuple)):
        return np.asarray(a).dtype not in (np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.bool_))
    return isinstance(a, np.generic)


def items_of(column, i, as_it_is):
    return column[i] if as_it_is else column[i].item()


@means(method=".elementwise")
def elementwise(pyfunc, *args):
    """What numba.vectorize(pyfunc) does when it is called."""
    arrays = np.broadcast_arrays(*args)
    columns = [np.ravel(a) for a in arrays]
    if arrays[0].ndim == 0:
        return of_one_type(pyfunc(*[c[0] for c in columns]))
    made = [of_one_type(pyfunc(*[c[i] for c in columns])) for i in range(arrays[0].size)]
    return np.asarray(made).reshape(arrays[0].shape)


@means(np.piecewise)
def piecewise(x, condlist, funclist, *args):
    x = np.asarray(x)
    conditions = tuple(condlist) if isinstance(condlist, (list, tuple)) else (condlist,)
    if len(funclist) != len(conditions) and len(funclist) != len(conditions) + 1:
        raise ValueError(f"with {len(conditions)} condition(s), as many functions, or one more, are expected")
    if len(funclist) == len(conditions) + 1:
        conditions = conditions + (np.logical_not(np.any(np.stack(conditions), axis=0)),)
    y = np.zeros_like(x)
    for k in tuple(range(len(conditions))):
        function = funclist[k]
        if isinstance(function, (int, float, np.generic)):
            y[conditions[k]] = function
        else:
            y[conditions[k]] = function(x[conditions[k]], *args)
    return y
