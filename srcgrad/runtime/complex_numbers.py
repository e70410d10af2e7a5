"""Complex numbers of a dtype from their parts, and their size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload, register_jitable

__all__ = ["complex64", "complex128", "modulus"]


@register_jitable
def complex64(real: Any, imag: Any) -> Any:
    return np.complex64(complex(real, imag))


@register_jitable
def complex128(real: Any, imag: Any) -> Any:
    return np.complex128(complex(real, imag))


def modulus(z: Any) -> Any:
    """abs(z)"""
    return abs(z)


@overload(modulus)
def _modulus(z):  # Numba's calls a function of C, around which no loop vectorises
    part = np.float32 if z == types.complex64 else np.float64
    one, infinite = part(1.0), part(np.inf)

    def modulus(z):
        x, y = abs(z.real), abs(z.imag)
        large, small = (x, y) if x > y else (y, x)
        ratio = small / large
        size = large * np.sqrt(one + ratio * ratio)  # nothing overflows that is no infinity
        size = large if small == 0 else size
        return infinite if large == infinite or small == infinite else size

    return modulus
