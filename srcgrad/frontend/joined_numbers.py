"""Numbers that are of one type on one path and of another on the other: one variable holds either.

t = 0              t is uint8, and known to be Python's int or NumPy's uint8:  t + v, of uint8, is uint8 on both
if c: t = u[i]     paths;  t - 1 is -1 on one and 255 on the other, and is refused
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ..ir.expressions import BOOL, INT64, Const, Expr, Var
from .types import ScalarType
from .values import Scalar

MAY_WRAP = frozenset(("add", "sub", "mul", "neg", "pow", "abs", "invert", "lshift"))


def join_scalars(x: Scalar, y: Scalar) -> Scalar:
    """A number of the type that a variable for either has."""
    dtype, weak = _common_type(x, y)
    types = {kind for value in (x, y) for kind in types_of(value)}
    is_mixed = len(types) > 1 and any(_is_small(kind) for kind in types)
    return Scalar(Var("", dtype), weak, frozenset(types) if is_mixed else frozenset())


def _common_type(x: Scalar, y: Scalar) -> tuple[np.dtype, bool]:
    if x.weak == y.weak:
        return np.result_type(x.dtype, y.dtype), x.weak
    weak, strong = (x, y) if x.weak else (y, x)
    kind = {"f": float, "c": complex, "i": int, "u": int, "b": bool}[weak.dtype.kind]
    if kind is bool:
        return np.result_type(strong.dtype, BOOL), False
    if kind is int and strong.dtype.kind in "iu" and not fits(weak.expr, strong.dtype):
        return np.result_type(strong.dtype, INT64), False  # uint8 holds no -1
    return np.result_type(strong.dtype, kind(0)), False


def as_small_as(joined: Scalar, ahead: Any) -> Scalar:
    """uint8, for a 0 ahead of a loop in which uint8 is added to it."""
    small = [kind for kind in joined.types if not kind.weak]
    if len(small) != 1 or not _is_small(small[0]) or joined.dtype.kind not in "iu":
        return joined
    is_held = isinstance(ahead, Scalar) and ahead.weak and fits(ahead.expr, small[0].dtype)
    return replace(joined, expr=Var("", small[0].dtype)) if is_held else joined


def fits(expr: Expr, dtype: np.dtype) -> bool:
    """Is it a number that integers of this dtype hold?"""
    limits = np.iinfo(dtype)
    return isinstance(expr, Const) and limits.min <= expr.value <= limits.max


def is_as(x: Scalar, y: Scalar) -> bool:
    """Does the variable of one do for the other?"""
    return x.dtype == y.dtype and x.weak == y.weak and x.types == y.types


def types_of(value: Scalar) -> frozenset[ScalarType]:
    """The types that it has on one path or another."""
    return value.types or frozenset((ScalarType(value.dtype, value.weak),))


def _is_small(kind: ScalarType) -> bool:
    return kind.dtype.kind in "iu" and kind.dtype != INT64 and not kind.weak


def small_types(value: Any) -> list[np.dtype]:
    return sorted((kind.dtype for kind in value.types if _is_small(kind)), key=str) if isinstance(value, Scalar) else []


def computes_apart(op: str, dtypes: set[np.dtype]) -> bool:
    """Do these dtypes give different numbers, also where the numbers are of a program's size?"""
    if op in ("floordiv", "mod"):
        return len({dtype.kind in "iu" for dtype in dtypes}) > 1  # by zero
    return any(_wraps_early(op, dtype) for dtype in dtypes)


def _wraps_early(op: str, dtype: np.dtype) -> bool:
    if dtype.kind == "u" and op in ("sub", "neg", "invert"):
        return True
    return op in MAY_WRAP and dtype.kind in "iu" and dtype.itemsize <= 2


def on_each_path(values: Sequence[Any]) -> Iterator[list[Any]]:
    """The operands as they are on one path after another: numbers of any type that they may have."""
    choices = [types_of(v) if isinstance(v, Scalar) and v.types else (None,) for v in values]
    for chosen in product(*choices):
        yield [_as(value, kind) for value, kind in zip(values, chosen, strict=True)]


def _as(value: Any, kind: ScalarType | None) -> Any:
    return value if kind is None else replace(value, expr=Var("", kind.dtype), weak=kind.weak, types=frozenset())
