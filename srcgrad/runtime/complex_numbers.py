"""Complex numbers of a dtype from their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

__all__ = ["complex64", "complex128"]


@register_jitable
def complex64(real: Any, imag: Any) -> Any:
    return np.complex64(complex(real, imag))


@register_jitable
def complex128(real: Any, imag: Any) -> Any:
    return np.complex128(complex(real, imag))
