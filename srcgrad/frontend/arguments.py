"""Parameters: from argument types to variables and array handles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..ir.expressions import Array, Dim, Var
from ..ir.types import ArrayType, ScalarType, StaticType, TupleType, ValueType
from .builder import Builder


def type_of(name: str, value: Any) -> ValueType:
    """The type of an argument, or a `TypeError` that says what to pass instead."""
    if isinstance(value, np.ma.MaskedArray) or isinstance(value, np.matrix):
        raise ArgumentError(f"{name} is a {type(value).__name__}; pass a plain array:  np.asarray({name})")
    if isinstance(value, np.ndarray):
        check_dtype(name, value.dtype)
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return ArrayType(value.dtype, value.ndim, layout)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        dtype = np.asarray(value).dtype
        check_dtype(name, dtype)
        return ScalarType(dtype, weak=not isinstance(value, np.generic))
    if isinstance(value, tuple):
        return TupleType(tuple(type_of(f"{name}[{k}]", item) for k, item in enumerate(value)), type(value))
    return StaticType(value)


def check_dtype(name: str, dtype: np.dtype) -> None:
    if dtype not in SUPPORTED:
        raise ArgumentError(
            f"{name} has dtype {dtype}; float32, float64, complex64, complex128, integers and bool are supported"
        )


SUPPORTED = tuple(map(np.dtype, "f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 ?".split()))


def parameter(build: Builder, name: str, kind: ValueType) -> Var | Array:
    """A fresh parameter of a scalar or array type."""
    fresh = build.names.fresh(name)
    build.parameters.add(fresh)
    if isinstance(kind, ScalarType):
        return Var(fresh, kind.dtype)
    assert isinstance(kind, ArrayType), kind
    array = Array(fresh, kind.dtype, tuple(Dim(fresh, axis) for axis in range(kind.ndim)))
    build.roots[fresh] = fresh
    if kind.layout == "C":
        build.contiguous.add(fresh)
    return array
