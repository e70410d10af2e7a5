"""Expressions of the intermediate representation: pure, typed, over scalars, array elements and lengths.

Arithmetic on them builds larger ones, so that rules read like a textbook.  An `Array` is a handle on memory: an
argument, a fresh allocation, or a view of another handle; which memory a handle denotes never changes, only contents
do.  Scalars are variables, told apart by name; a name has one dtype.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .interned import Node, interned, the_one

FLOAT64 = np.dtype(np.float64)
FLOAT32 = np.dtype(np.float32)
INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)
COMPLEX128 = np.dtype(np.complex128)
COMPLEX64 = np.dtype(np.complex64)
LAZY = ("select", "and", "or")  # primitives whose operands may be left alone, but for the first


def is_inexact(dtype: np.dtype) -> bool:
    """Does a value of this dtype carry a derivative: is it a float or complex?"""
    return dtype.kind in "fc"


def part_of(dtype: np.dtype) -> np.dtype:
    """The dtype of the real and imaginary parts of a complex number."""
    return FLOAT32 if dtype == COMPLEX64 else FLOAT64


def complex_of(dtype: np.dtype) -> np.dtype:
    """The complex dtype with parts of this one."""
    return COMPLEX64 if dtype in (FLOAT32, COMPLEX64) else COMPLEX128


@dataclass(frozen=True)
class Span:
    """A place in the user's program: file, first line, columns, and the function that it is in.

    `derived`: what has it is no statement of the user's, but was made for the one that stands there.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str = ""
    derived: bool = False


class Expr(Node):
    """A typed scalar value: reading it changes nothing."""

    dtype: np.dtype

    def __add__(self, other: Any) -> Expr:
        return call("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return call("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return call("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return call("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return call("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return call("mul", other, self)

    def __truediv__(self, other: Any) -> Expr:
        return call("div", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return call("div", other, self)

    def __pow__(self, other: Any) -> Expr:
        return call("pow", self, other)

    def __neg__(self) -> Expr:
        return call("neg", self)


@interned
@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A number; `dtype` is part of what it is."""

    value: Any
    dtype: np.dtype = FLOAT64

    def __new__(cls, value: Any, dtype: np.dtype = FLOAT64) -> Any:
        """Told apart as text, not as numbers: nan is nan, and 0.0 is not -0.0."""
        if dtype.kind == "c":
            value = complex(value)
        return the_one(cls, (value, dtype), (cls, value if type(value) is int else repr(value), dtype))


@interned
@dataclass(frozen=True, eq=False)
class Var(Expr):
    """A scalar variable."""

    name: str
    dtype: np.dtype = FLOAT64


@interned
@dataclass(frozen=True, eq=False)
class Axis(Expr):
    """The index along axis `number` of the array value that this expression is an element of (frontend only)."""

    number: int
    dtype: np.dtype = INT64


# primitives that give a number whatever their operands are
NEVER_FAIL = frozenset("add sub mul neg maximum minimum max min select lt le gt ge eq ne and or not cast".split())


@interned
@dataclass(frozen=True, eq=False)
class Call(Expr):
    """A primitive of the rule table applied to operands."""

    op: str
    args: tuple[Expr, ...]
    dtype: np.dtype


@interned
@dataclass(frozen=True, eq=False)
class Load(Expr):
    """One element of an array.  `checked=False`: the index is proved to be inside (see `prove_bounds`).

    `natural`: it is proved to be at least 0, if not to be inside.
    """

    array: Array
    index: tuple[Expr, ...]
    checked: bool = True
    natural: bool = False

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.array.dtype


@interned
@dataclass(frozen=True, eq=False)
class Dim(Expr):
    """The length of one axis of an argument."""

    array: str
    axis: int
    dtype: np.dtype = INT64


@interned
@dataclass(frozen=True, eq=False)
class Old(Expr):
    """The value that `expr` had just before the forward statement labelled `at` (between `reverse` and `keep`).

    `local` are index variables in it that belong to the sweep.
    """

    expr: Expr
    at: int
    local: frozenset[str] = frozenset()

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.expr.dtype


@interned
@dataclass(frozen=True, eq=False)
class Cotangent(Expr):
    """The cotangent of a scalar or of an array element (only in the adjoint of a `Rule`)."""

    of: Var | Load

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.of.dtype


@interned
@dataclass(frozen=True, eq=False)
class OldArray(Node):
    """The contents that `array` had just before the forward statement labelled `at` (between `reverse` and `keep`)."""

    array: Array
    at: int


@interned
@dataclass(frozen=True, eq=False)
class Array(Node):
    """A handle on memory: C-ordered unless it is a view."""

    name: str
    dtype: np.dtype
    dims: tuple[Expr, ...]

    @property
    def ndim(self) -> int:
        return len(self.dims)


def call(op: str, *args: Any) -> Expr:
    """A primitive on operands of one dtype; bare numbers take the dtype of the expressions beside them."""
    dtype = next(a.dtype for a in args if isinstance(a, Expr) and a.dtype != BOOL)
    return Call(op, tuple(a if isinstance(a, Expr) else Const(a, dtype) for a in args), dtype)


def less(x: Any, y: Any) -> Expr:
    return compare("lt", x, y)


def compare(op: str, x: Any, y: Any) -> Expr:
    return Call(op, call(op, x, y).args, BOOL)  # type: ignore[attr-defined]


def both(x: Expr | None, y: Expr) -> Expr:
    """x and y; y, where x is no condition yet."""
    return y if x is None else Call("and", (x, y), BOOL)


def all_of(conditions: Iterable[Expr | None]) -> Expr | None:
    """All conditions in one; None is one that always holds."""
    out: Expr | None = None
    for condition in conditions:
        if condition is not None:
            out = both(out, condition)
    return out


def either(x: Expr | None, y: Expr) -> Expr:
    """x or y; y, where x is no condition yet."""
    return y if x is None else Call("or", (x, y), BOOL)


def negated(x: Expr) -> Expr:
    """not x; of lengths that are equal, all of them, that one differs: so a check says it."""
    return _differ(x) or Call("not", (x,), BOOL)


def _differ(x: Expr) -> Expr | None:
    match x:
        case Call(op="eq", args=(first, second)) if first.dtype == second.dtype == INT64:
            return Call("ne", (first, second), BOOL)
        case Call(op="and", args=(first, second)):
            one, other = _differ(first), _differ(second)
            return one and other and Call("or", (one, other), BOOL)
    return None


def select(condition: Expr, x: Any, y: Any) -> Expr:
    """x where the condition holds, else y; the side not taken counts for nothing, not even as 0 * inf."""
    dtype = next(a.dtype for a in (x, y) if isinstance(a, Expr))
    return Call("select", (condition, *(a if isinstance(a, Expr) else Const(a, dtype) for a in (x, y))), dtype)


def integer(value: int) -> Const:
    return Const(int(value), INT64)


def whole_exponent(expr: Expr) -> Expr | None:
    """k, of a power x ** k whose exponent is a whole number that is known at run time."""
    match expr:
        case Call(op="pow", args=(_, Call(op="cast", args=(Expr(dtype=dtype) as k,)))) if dtype.kind in "iu":
            return k
    return None
