"""Expressions of the intermediate representation: pure, typed, hashable, over scalars, array elements and lengths.

Arithmetic on them builds larger ones, so that rules read like a textbook.  An `Array` is a handle on memory: an
argument, a fresh allocation, or a view of another handle; which memory a handle denotes never changes, only contents
do.  Scalars are variables, told apart by name; a name has one dtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

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
    """A place in the user's program: file, first line, columns, and the function that it is in."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str = ""


class Expr:
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


Kind = TypeVar("Kind", bound=type)


def hashed_once(kind: Kind) -> Kind:
    """Trees are keys of many tables: a node remembers its hash, so that asking for it does not walk the tree."""
    walk: Any = kind.__hash__

    def hash_of(self: Any) -> int:
        held: dict[str, int] = self.__dict__
        try:
            return held["hashed"]
        except KeyError:
            held["hashed"] = found = walk(self)
            return found

    kind.__hash__ = hash_of  # type: ignore
    return kind


@hashed_once
@dataclass(frozen=True)
class Const(Expr):
    """A number; `dtype` is part of what it is."""

    value: Any
    dtype: np.dtype = FLOAT64

    def __post_init__(self) -> None:
        if self.dtype.kind == "c":
            object.__setattr__(self, "value", complex(self.value))  # one text for 1.0 and 1.0 + 0j

    def __hash__(self) -> int:
        return hash((repr(self.value), self.dtype))

    def __eq__(self, other: object) -> bool:  # nan equals itself, 0.0 differs from -0.0: this is text, not arithmetic
        return isinstance(other, Const) and repr(self.value) == repr(other.value) and self.dtype == other.dtype


@hashed_once
@dataclass(frozen=True)
class Var(Expr):
    """A scalar variable."""

    name: str
    dtype: np.dtype = FLOAT64


@dataclass(frozen=True)
class Axis(Expr):
    """The index along axis `number` of the array value that this expression is an element of (frontend only)."""

    number: int
    dtype: np.dtype = INT64


@hashed_once
@dataclass(frozen=True)
class Call(Expr):
    """A primitive of the rule table applied to operands."""

    op: str
    args: tuple[Expr, ...]
    dtype: np.dtype


@hashed_once
@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Dim(Expr):
    """The length of one axis of an argument."""

    array: str
    axis: int
    dtype: np.dtype = INT64


@hashed_once
@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Cotangent(Expr):
    """The cotangent of a scalar or of an array element (only in the adjoint of a `Rule`)."""

    of: Var | Load

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.of.dtype


@dataclass(frozen=True)
class OldArray:
    """The contents that `array` had just before the forward statement labelled `at` (between `reverse` and `keep`)."""

    array: Array
    at: int


@hashed_once
@dataclass(frozen=True)
class Array:
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
