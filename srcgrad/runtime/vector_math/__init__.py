"""Elementary functions without branches: the loop around them vectorises, which one around `math.exp` does not.

    for i in range(n):                          vmulpd …  vfmadd213pd …  (4 or 8 numbers at a time)
        y[i] = exp(-x[i] * x[i])        →

In plain Python they are NumPy's and SciPy's.  Compiled, they are kernels of ours, in LLVM's instructions: at most
2 units in the last place off, everywhere, with the values of IEEE 754 at the edges.  float32 stays float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgrad.runtime.vector_math import exponentials, logarithms
from srcgrad.runtime.vector_math.library import register

__all__ = ["exp", "exp2", "expm1", "log", "log1p", "log2", "log10"]


def exp(x: Any) -> Any:
    """e**x"""
    return np.exp(x)


def exp2(x: Any) -> Any:
    """2**x"""
    return np.exp2(x)


def expm1(x: Any) -> Any:
    """e**x - 1, accurate near 0."""
    return np.expm1(x)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return np.log(x)


def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return np.log2(x)


def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return np.log10(x)


def log1p(x: Any) -> Any:
    """log(1 + x), accurate near 0."""
    return np.log1p(x)


register(exp, exponentials.exp)
register(exp2, exponentials.exp2)
register(expm1, exponentials.expm1)
register(log, logarithms.log)
register(log2, logarithms.log2)
register(log10, logarithms.log10)
register(log1p, logarithms.log1p)
