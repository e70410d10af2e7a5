"""The types of arguments and results: what a function is specialised to.

`ArrayType(float64, ndim=2)`, `ScalarType(float64, weak=True)` (a Python float), `TupleType((...))`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ScalarType:
    """A number.  `weak`: a Python number, which takes the dtype of the NumPy value that it meets (NEP 50)."""

    dtype: np.dtype
    weak: bool = False


@dataclass(frozen=True)
class ArrayType:
    """An array of `ndim` axes; `layout` is "C", "F" or "A" (any)."""

    dtype: np.dtype
    ndim: int
    layout: str = "C"


@dataclass(frozen=True)
class TupleType:
    """A tuple (or a list, where `kind` says so) of fixed structure."""

    items: tuple[Any, ...]
    kind: type = tuple


@dataclass(frozen=True)
class StaticType:
    """Anything that is known when the function is specialised: a string, None, a function."""

    value: Any


ValueType = ScalarType | ArrayType | TupleType | StaticType
