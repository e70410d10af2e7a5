"""Elementwise arithmetic on values: NumPy's promotion (asked of NumPy itself), folding.

x32 * 2.0        →  mul(x32[#0], float32(2.0))
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, NoneArgumentError, UnsupportedError
from ..ir import affine
from ..ir.expressions import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Call,
    Const,
    Expr,
    Load,
    part_of,
)
from ..ir.types import ScalarType
from ..rules.names import UFUNCS
from .array_values import ArrayValue, computed
from .broadcasting import broadcast
from .builder import Builder
from .joined_numbers import (
    are_joined,
    computes_apart,
    of_a_common_source,
    on_each_path,
    refuse_joined,
    several,
    small_types,
    types_of,
)
from .values import Scalar

PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg, "pos": operator.pos, "abs": abs,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
    "ne": operator.ne, "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor,
    "max": max, "min": min,
}  # fmt: skip
COMPLEX_NAMES = {"abs": "modulus"}  # what an operation is called where an operand is complex
TAKE_COMPLEX = frozenset((
    "add", "sub", "mul", "div", "neg", "pos", "pow", "square", "reciprocal", "modulus", "phase", "conj", "sqrt", "exp",
    "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh",
    "tanh", "arcsinh", "arccosh", "arctanh", "eq", "ne", "isnan", "isinf", "isfinite", "wofz",
))  # fmt: skip
HALF = np.dtype(np.float16)  # of integers of 8 bits and bools; Numba has no arithmetic in it
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def cast(expr: Expr, dtype: np.dtype) -> Expr:
    """The value in another dtype; constants change theirs on the spot."""
    if expr.dtype == dtype:
        return expr
    if expr.dtype.kind == "c" and dtype.kind in "fiu":  # NumPy drops the imaginary part
        return cast(real_part(expr), dtype)
    if isinstance(expr, Const):
        with np.errstate(over="ignore"):  # best = -1e300, beside float32
            return Const(np.asarray(expr.value).astype(dtype).item(), dtype)
    return Call("cast", (expr,), dtype)


def real_part(expr: Expr) -> Expr:
    part = part_of(expr.dtype)
    return Const(expr.value.real, part) if isinstance(expr, Const) else Call("real", (expr,), part)


def imaginary_part(expr: Expr) -> Expr:
    part = part_of(expr.dtype)
    return Const(expr.value.imag, part) if isinstance(expr, Const) else Call("imag", (expr,), part)


def cast_value(value: Any, dtype: np.dtype) -> Any:
    if isinstance(value, Scalar):
        return Scalar(cast(value.expr, dtype))
    return computed(value, cast(value.element, dtype))


PYTHON_KINDS: dict[str, type] = {"i": int, "u": int, "f": float, "c": complex}


def _kind(value: Any) -> Any:
    """What NumPy's promotion takes for an operand: a dtype, or a Python type for Python numbers."""
    if isinstance(value, Scalar) and value.weak and value.dtype != BOOL:
        return PYTHON_KINDS[value.dtype.kind]
    return value.dtype


def loop_dtypes(builder: Builder, op: str, values: Sequence[Any], python: bool) -> tuple[np.dtype, ...]:
    """The dtypes that NumPy computes in: one per operand, the result's last."""
    if python and all(isinstance(v, Scalar) and v.weak for v in values):
        if op in COMPARISONS:
            common = np.result_type(*(v.dtype for v in values))
            return (*[common] * len(values), BOOL)
        common = np.result_type(INT64, *(v.dtype for v in values))  # True + True is 2
        if op in ("bitand", "bitor", "bitxor") and all(v.dtype == BOOL for v in values):
            common = BOOL
        if op in ("bitand", "bitor", "bitxor", "invert", "lshift", "rshift") and common.kind not in "iub":
            builder.refuse(f"{UFUNCS[op].__name__} takes integers, not {common}", error=ArgumentError)
        if op == "div":
            common = np.result_type(FLOAT64, common)
        if op == "modulus":
            return (common, FLOAT64)
        return (common,) * (len(values) + 1)
    if op in COMPARISONS and any(isinstance(v, Scalar) and v.weak and not v.is_constant for v in values):
        if all(v.dtype.kind in "iu" for v in values):  # NumPy compares what the integer is, in whatever dtype
            return (*(v.dtype if v.dtype == np.dtype(np.uint64) else INT64 for v in values), BOOL)
    ufunc = UFUNCS[op]
    kinds = [v.dtype if all(isinstance(u, Scalar) and u.weak for u in values) else _kind(v) for v in values]
    try:
        return ufunc.resolve_dtypes((*kinds, None))
    except TypeError:
        names = " and ".join(str(v.dtype) for v in values)
        return builder.refuse(f"NumPy's {ufunc.__name__} does not take {names}", error=ArgumentError)
    except OverflowError as problem:
        return builder.refuse(str(problem), error=ArgumentError)


def elementwise(builder: Builder, op: str, values: Sequence[Any], *, python: bool = False) -> Any:
    """A primitive on scalars and arrays.  `python`: written as an operator, so Python numbers stay Python numbers."""
    for value in values:
        if not isinstance(value, (Scalar, ArrayValue)):
            what = type(getattr(value, "value", value)).__name__
            error = {"str": ArgumentError, "NoneType": NoneArgumentError}.get(what, UnsupportedError)
            if op in ("eq", "ne"):  # of None and an array: NumPy has an answer
                error = UnsupportedError
            builder.refuse(f"{op} needs numbers or arrays, not {what}", "pass a number or an array", error=error)
    if any(value.dtype.kind == "c" for value in values):
        op = COMPLEX_NAMES.get(op, op)
        if op not in TAKE_COMPLEX:
            builder.refuse(
                f"{op} does not take complex numbers", "take the real part, z.real, or abs(z)", error=ArgumentError
            )
    dtypes = loop_dtypes(builder, op, values, python)
    if HALF in dtypes and dtypes[-1] == BOOL:  # signbit: float32 tells the same
        dtypes = tuple(FLOAT32 if dtype == HALF else dtype for dtype in dtypes)
    if HALF in dtypes:
        refuse_half(builder, UFUNCS[op], values)
    if any(dtype.kind not in "fciub" for dtype in dtypes):
        supported = "float32, float64, complex64, complex128, integers and bool are supported"
        builder.refuse(f"{op} on these operands has dtype {dtypes[-1]}", supported)
    if op == "pow" and python and _is_root(values, dtypes[-1]):
        op, values, dtypes = "sqrt", values[:1], (dtypes[0], dtypes[-1])
    weak, types = python and are_pythons(values), frozenset[ScalarType]()
    if are_joined(builder, values):
        types = _types_of_result(builder, op, values, python, ScalarType(dtypes[-1], weak))
    if all(isinstance(v, Scalar) and v.is_constant for v in values):  # ahead of bounds: Python's numbers have none
        folded = _fold(op, values, dtypes, weak)
        if folded is not None:
            return folded
    outside = [is_out_of_bounds(v, d) for v, d in zip(values, dtypes, strict=False)]
    if any(outside) and op not in COMPARISONS:
        number, dtype = next((v.value, d) for v, d, is_out in zip(values, dtypes, outside, strict=False) if is_out)
        builder.refuse(f"Python integer {number} out of bounds for {dtype}", error=ArgumentError)
    if any(outside):  # every number of that dtype compares as 0 does
        same = Const(PYTHON[op](*(v.value if o else 0 for v, o in zip(values, outside, strict=False))), BOOL)
        dims, _ = broadcast(builder, list(values))
        return ArrayValue(dims, same) if dims else Scalar(same)
    if all(isinstance(v, Scalar) for v in values):
        args = tuple(cast(v.expr, d) for v, d in zip(values, dtypes, strict=False))
        return Scalar(_exact(op, args, dtypes[-1]), weak, types)
    dims, elements = broadcast(builder, list(values))
    args = tuple(cast(e, d) for e, d in zip(elements, dtypes, strict=False))
    if not dims:  # NumPy makes a scalar of a 0-d result
        for value in values:
            if isinstance(value, ArrayValue):
                builder.check_fresh(value.element)
        return Scalar(_exact(op, args, dtypes[-1]), types=types)
    element = _exact(op, args, dtypes[-1])
    if isinstance(element, Load):  # k * 1 is no other name for k
        element = Call("pos", (element,), element.dtype)
    return ArrayValue(dims, element, types=types, in_order=len(dims) < 2 or builder.leave_order(values))


def _types_of_result(
    builder: Builder, op: str, values: Sequence[Any], python: bool, made: ScalarType
) -> frozenset[ScalarType]:
    """The types of the result on different paths; refused where it is another number in each (see `joined_numbers`)."""
    given = [kind for v in values if len(types_of(builder, v)) > 1 for kind in types_of(builder, v)]
    small = small_types(given)
    found = {made} if small and made.dtype.kind in "iu" else set()

    def dtype_of(operands: Sequence[Any]) -> np.dtype:
        try:
            return loop_dtypes(builder, op, operands, python)[-1]
        except ArgumentError:  # NumPy subtracts no bools: nobody goes on there
            if builder.watches or builder.in_composition:  # np.diff of bools asks which are not equal
                raise
            return made.dtype

    for operands in on_each_path(builder, values):
        found.add(ScalarType(dtype_of(operands), python and are_pythons(operands)))
    are_apart = len({kind.dtype for kind in found}) > 1 and HALF in {kind.dtype for kind in found}
    if are_apart or computes_apart(op, values, found):
        joined = [v for v in values if len(types_of(builder, v)) > 1]
        because = f"{UFUNCS[op].__name__} gives another number in {{}}"
        refuse_joined(builder, given, because, is_array=isinstance(joined[0], ArrayValue))
    return of_a_common_source(builder, values, several(frozenset(found)), dtype_of)


def _is_root(values: Sequence[Any], dtype: np.dtype) -> bool:
    """x**0.5 of an array x: np.sqrt, which is another number than the power of -inf and of -0."""
    base, exponent = values
    is_half = isinstance(exponent, Scalar) and exponent.is_constant and exponent.value == 0.5
    return is_half and isinstance(base, ArrayValue) and dtype.kind == "f"


def are_pythons(operands: Sequence[Any]) -> bool:
    """Is what an operator makes of them a number of Python's?"""
    if not all(isinstance(value, Scalar) for value in operands):
        return False
    if len(operands) == 2 and operands[0].weak and operands[0].dtype.kind == "c":
        return operands[1].weak or operands[1].dtype == FLOAT64  # NumPy's float64 is one of Python's floats
    return all(value.weak for value in operands)


def refuse_half(builder: Builder, ufunc: Any, values: Sequence[Any]) -> None:
    names = " and ".join(dict.fromkeys(str(v.dtype) for v in values))
    help = "convert the operands:  x.astype(float), or np.float64(x) of a number"
    builder.refuse(f"NumPy computes {ufunc.__name__} of {names} in float16, which is not supported", help)


def is_out_of_bounds(value: Any, dtype: np.dtype) -> bool:
    """Is it a Python integer that this dtype of integers does not have?"""
    if not isinstance(value, Scalar) or not value.is_constant or not value.weak or dtype.kind not in "iu":
        return False
    return value.dtype.kind == "i" and not np.iinfo(dtype).min <= value.value <= np.iinfo(dtype).max


def _exact(op: str, args: tuple[Expr, ...], dtype: np.dtype) -> Expr:
    if op in ("add", "sub", "mul", "neg", "maximum", "minimum") and dtype == INT64:
        return affine.normal(Call(op, args, dtype)) if op in ("add", "sub", "neg", "mul") else Call(op, args, dtype)
    return Call(op, args, dtype)


def _fold(op: str, values: Sequence[Any], dtypes: tuple[np.dtype, ...], weak: bool) -> Scalar | None:
    try:
        with np.errstate(all="ignore"):
            if weak:
                result: Any = PYTHON[op](*(v.value for v in values))
            else:
                result = UFUNCS[op](*(d.type(v.value) for v, d in zip(values, dtypes, strict=False)))
    except (ArithmeticError, ValueError, KeyError, TypeError, OverflowError):
        return None
    dtype = np.asarray(result).dtype
    if dtype.kind not in "fciub" or (dtype.kind in "iu" and not -(2**63) <= int(result) < 2**63):
        return None
    plain = result.item() if isinstance(result, np.generic) else result
    return Scalar(Const(plain, dtype if not weak or dtype != dtypes[-1] else dtypes[-1]), weak)
