"""Array helpers of generated code: each works in plain Python and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from numba.extending import overload, register_jitable


@register_jitable
def trip_count(start: Any, stop: Any, step: Any) -> Any:
    """len(range(start, stop, step))"""
    if step > 0:
        return max(0, (stop - start + step - 1) // step)
    return max(0, (start - stop - step - 1) // -step)


@register_jitable
def find_nonzero(positions: Any, mask: Any) -> None:
    """The positions, in C order, where a contiguous mask holds."""
    flat = mask.reshape(mask.size)
    k = 0
    for i in range(flat.size):
        if flat[i]:
            positions[k] = i
            k += 1


@register_jitable
def matmul(out: Any, x: Any, y: Any) -> None:
    """out = x @ y"""
    if out.size:
        if x.shape[-1] == 0:
            out[:] = 0
        else:
            np.dot(x, y, out)


@register_jitable
def add_matmul_nt(out: Any, x: Any, y: Any) -> None:
    """out += x @ y.T"""
    if out.size and x.size:
        out += np.dot(x, y.T)


@register_jitable
def add_matmul_tn(out: Any, x: Any, y: Any) -> None:
    """out += x.T @ y"""
    if out.size and x.size:
        out += np.dot(x.T, y)


@register_jitable
def add_matvec(out: Any, x: Any, y: Any) -> None:
    """out += x @ y"""
    if x.size:
        out += np.dot(x, y)


@register_jitable
def add_matvec_t(out: Any, x: Any, y: Any) -> None:
    """out += x.T @ y"""
    if x.size:
        out += np.dot(x.T, y)


@register_jitable
def add_outer(out: Any, x: Any, y: Any) -> None:
    """out += x[:, None] * y"""
    for i in range(x.size):
        for j in range(y.size):
            out[i, j] += x[i] * y[j]


@register_jitable
def conform(x: Any, shape: Any) -> Any:
    """x where it has this shape, else a copy broadcast to it."""
    if x.shape == shape:
        return x
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


@register_jitable
def conform_zeros(x_b: Any, shape: Any) -> Any:
    """The shadow of `conform(x, shape)`: that of x where it is x, else zeros for `absorb` to sum up."""
    if x_b.shape == shape:
        return x_b
    return np.zeros(shape, x_b.dtype)


@register_jitable
def absorb(x_b: Any, out_b: Any) -> None:
    """x_b += out_b, summed over the axes where x has length 1; nothing where they are one array."""
    if x_b.shape != out_b.shape:
        for index in np.ndindex(out_b.shape):
            _absorb_element(x_b, out_b, index)


def _absorb_element(x_b: Any, out_b: Any, index: Any) -> None:
    x_b[tuple(k if n != 1 else 0 for k, n in zip(index, x_b.shape))] += out_b[index]


@overload(_absorb_element)
def _absorb_element_compiled(x_b, out_b, index):  # type: ignore[no-untyped-def]  # Numba compares signatures
    ndim = x_b.ndim
    terms = ", ".join(f"index[{k}] if x_b.shape[{k}] != 1 else 0" for k in range(ndim))
    namespace: dict[str, Any] = {}
    exec(f"def absorb_element(x_b, out_b, index):\n    x_b[{terms}] += out_b[index]\n", namespace)
    return namespace["absorb_element"]


@register_jitable
def push(buffer: Any, top: Any, value: Any) -> Any:
    """Keep a value; the new top."""
    if top == buffer[0].size:
        grown = np.empty(2 * top, buffer[0].dtype)
        grown[:top] = buffer[0]
        buffer[0] = grown
    buffer[0][top] = value
    return top + 1


@register_jitable
def push_array(buffer: Any, top: Any, values: Any) -> Any:
    """Keep the elements of an array; the new top."""
    end = top + values.size
    if end > buffer[0].size:
        grown = np.empty(2 * end, buffer[0].dtype)
        grown[:top] = buffer[0][:top]
        buffer[0] = grown
    buffer[0][top:end].reshape(values.shape)[...] = values
    return end


__all__ = [
    "absorb",
    "add_matmul_nt",
    "add_matmul_tn",
    "add_matvec",
    "add_matvec_t",
    "add_outer",
    "conform",
    "conform_zeros",
    "find_nonzero",
    "matmul",
    "push",
    "push_array",
    "trip_count",
]
