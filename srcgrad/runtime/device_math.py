"""The functions that kernels call, by the names of C's math library.

On a device they are CUDA's own; in Numba's simulator, which runs kernels as plain Python, NumPy's and SciPy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special
from numba.core import config

from srcgrad.rules.device import FUNCTIONS, NAMES, OF_TWO_RESULTS

_NUMPY = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
          "acosh": np.arccosh, "atanh": np.arctanh}  # fmt: skip
_SCIPY = {"tgamma": "gamma", "lgamma": "gammaln", "normcdf": "ndtr", "normcdfinv": "ndtri"}  # fmt: skip


def _sine_and_cosine(x: Any) -> Any:
    return np.sin(x), np.cos(x)


def _simulated(name: str) -> Any:
    if name in OF_TWO_RESULTS:
        return _sine_and_cosine
    if name in _NUMPY:
        return _NUMPY[name]
    if name not in _SCIPY and hasattr(np, name):
        return getattr(np, name)
    return getattr(scipy.special, _SCIPY.get(name, name))


def _on_device(name: str) -> Any:
    if name in FUNCTIONS.values():
        return getattr(math, name)
    from numba.cuda import libdevice

    return getattr(libdevice, name)


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(name)
    return _simulated(name) if config.ENABLE_CUDASIM else _on_device(name)
