"""Matrix products of generated code, and of stacks of matrices: each works in plain Python and compiled.

    matmul(out, x, y)           out = x @ y
    add_matmul_nt(out, x, y)    out += x @ y.T

`t` says that an operand is taken with its matrices transposed.  Operands are contiguous matrices, or stacks of them
with three axes, of which one of length 1 serves all (as an operand), or takes the sum over all (as the result).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload, register_jitable

SMALL = 300  # multiplications in a product of two matrices, below which BLAS spends its time on getting started


def _product(turn_x: bool, turn_y: bool, adds: bool) -> Callable[[Any, Any, Any], None]:
    """The routine for matrices and stacks, and how it is compiled."""

    def product(out: Any, x: Any, y: Any) -> None:
        result = np.matmul(x.swapaxes(-1, -2) if turn_x else x, y.swapaxes(-1, -2) if turn_y else y)
        if out.ndim == 3 and len(out) == 1:
            result = result.sum(axis=0, keepdims=True)
        out[...] = out + result if adds else result

    @overload(product)
    def compiled(out, x, y):  # no types: Numba compares signatures
        texts = {"x": "x.T" if turn_x else "x", "y": "y.T" if turn_y else "y", "length": 0 if turn_x else -1}
        if out.ndim == 2:
            return _made((_MATRICES_ADDED if adds else _MATRICES).format(**texts))
        return stacks("np.dot({x}, {y}, out[p])" if out.layout == "C" else "out[p] = np.dot({x}, {y})")

    def stacks(set_one: str) -> Any:
        ranges = {"i": "out.shape[1]", "j": "out.shape[2]", "k": "length"}
        order = "ijk" if turn_y else "kij" if turn_x else "ikj"
        x, y = "x[q].T" if turn_x else "x[q]", "y[r].T" if turn_y else "y[r]"
        texts = {
            "length": 1 if turn_x else 2,
            "clear": "" if adds else "out[:] = 0",
            "is_first": "False" if adds else "b == 0 or len(out) > 1",
            "left": "x[q, k, i]" if turn_x else "x[q, i, k]",
            "right": "y[r, j, k]" if turn_y else "y[r, k, j]",
            "set": set_one.format(x=x, y=y),
        }
        loops = {
            name: f"{index} in range({ranges[index]})"
            for name, index in zip(("outer", "middle", "inner"), order, strict=True)
        }
        return _made(_STACKS.format(x=x, y=y, **texts, **loops))

    return product


_MATRICES = """
def product(out, x, y):
    if out.size:
        if x.shape[{length}] == 0:
            out[:] = 0
        else:
            np.dot({x}, {y}, out)
"""

# Additions are loops: Numba takes seconds to compile `out += part`.
_MATRICES_ADDED = """
def product(out, x, y):
    if out.size and x.size:
        part = np.dot({x}, {y})
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] += part[i, j]
"""

_STACKS = """
def product(out, x, y):
    length = x.shape[{length}]
    count = max(len(out), len(x), len(y))
    if len(x) * len(y) * length == 0:
        {clear}
        return
    if out.size == 0:
        return
    is_small = out.shape[1] * out.shape[2] * length <= SMALL
    part = np.empty((0, 0) if is_small else out.shape[1:], out.dtype)
    for b in range(count):
        p, q, r = min(b, len(out) - 1), min(b, len(x) - 1), min(b, len(y) - 1)
        is_first = {is_first}
        if is_small:
            if is_first:
                out[p] = 0
            for {outer}:
                for {middle}:
                    for {inner}:
                        out[p, i, j] += {left} * {right}
        elif is_first:
            {set}
        else:
            np.dot({x}, {y}, part)
            for i in range(out.shape[1]):
                for j in range(out.shape[2]):
                    out[p, i, j] += part[i, j]
"""


def _made(text: str) -> Any:
    namespace: dict[str, Any] = {"np": np, "SMALL": SMALL}
    exec(text, namespace)
    return namespace["product"]


# fmt: off
matmul,    add_matmul    = (_product(False, False, adds) for adds in (False, True))
matmul_nt, add_matmul_nt = (_product(False, True,  adds) for adds in (False, True))
matmul_tn, add_matmul_tn = (_product(True,  False, adds) for adds in (False, True))
matmul_tt, add_matmul_tt = (_product(True,  True,  adds) for adds in (False, True))
# fmt: on


@register_jitable
def matvec(out: Any, x: Any, y: Any) -> None:
    """out = x @ y"""
    if out.size:
        if y.size == 0:
            out[:] = 0
        else:
            np.dot(x, y, out)


@register_jitable
def add_matvec(out: Any, x: Any, y: Any) -> None:
    """out += x @ y"""
    if x.size:
        part = np.dot(x, y)
        for i in range(out.size):
            out[i] += part[i]


@register_jitable
def matvec_t(out: Any, x: Any, y: Any) -> None:
    """out = x.T @ y"""
    matvec(out, x.T, y)


@register_jitable
def add_matvec_t(out: Any, x: Any, y: Any) -> None:
    """out += x.T @ y"""
    add_matvec(out, x.T, y)


@register_jitable
def outer(out: Any, x: Any, y: Any) -> None:
    """out = x[:, None] * y"""
    for i in range(x.size):
        for j in range(y.size):
            out[i, j] = x[i] * y[j]


@register_jitable
def add_outer(out: Any, x: Any, y: Any) -> None:
    """out += x[:, None] * y"""
    for i in range(x.size):
        for j in range(y.size):
            out[i, j] += x[i] * y[j]


__all__ = [
    "add_matmul",
    "add_matmul_nt",
    "add_matmul_tn",
    "add_matmul_tt",
    "add_matvec",
    "add_matvec_t",
    "add_outer",
    "matmul",
    "matmul_nt",
    "matmul_tn",
    "matmul_tt",
    "matvec",
    "matvec_t",
    "outer",
]
