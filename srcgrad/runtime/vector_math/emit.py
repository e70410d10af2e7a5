"""Arithmetic on LLVM values, written as on numbers.

A kernel is a Python function of a `Float`; run once, it leaves its instructions in the builder:

    r = fma(-n, 0.25, x)   →   %r = call double @llvm.fma.f64(double %"minus n", double 2.5e-1, double %x)

Nothing here branches, and no instruction may be reordered: what is written is what is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import cgutils

BOOL = ir.IntType(1)


@dataclass(frozen=True)
class Format:
    """A floating-point type, or vectors of one: `digits` counts the significant bits."""

    name: str
    scalar: ir.Type
    dtype: Any
    width: int
    digits: int
    bias: int
    lanes: int = 0

    def vector(self, lanes: int) -> Format:
        return replace(self, lanes=lanes)

    @property
    def type(self) -> ir.Type:
        return ir.VectorType(self.scalar, self.lanes) if self.lanes else self.scalar

    @property
    def bits(self) -> ir.Type:
        kind = ir.IntType(self.width)
        return ir.VectorType(kind, self.lanes) if self.lanes else kind

    @property
    def smallest_normal(self) -> float:
        return math.ldexp(1.0, 1 - self.bias)

    @property
    def magic(self) -> float:
        """Added to a number below 2**(digits - 2), it leaves the nearest whole number in the lowest bits."""
        return math.ldexp(1.5, self.digits - 1)

    def bits_of(self, value: float) -> int:
        return int(self.dtype(value).view(f"u{self.width // 8}"))


FLOAT64 = Format("float64", ir.DoubleType(), np.float64, 64, 53, 1023)
FLOAT32 = Format("float32", ir.FloatType(), np.float32, 32, 24, 127)


@dataclass(frozen=True)
class Code:
    """Where instructions go, for one type.  Without `has_fma`, the processor has no fused multiply-add."""

    builder: ir.IRBuilder
    format: Format
    has_fma: bool


@dataclass(frozen=True)
class Value:
    code: Code
    ref: ir.Value

    def _make(self, instruction: str, *operands: Any) -> Any:
        refs = [self._ref(operand) for operand in operands]
        return type(self)(self.code, getattr(self.code.builder, instruction)(*refs))

    def _ref(self, operand: Any) -> ir.Value:
        return operand.ref if isinstance(operand, Value) else _constant(self.ref.type, operand)


AnyValue = TypeVar("AnyValue", bound=Value)


class Bool(Value):
    def __and__(self, other: Bool) -> Bool:
        return self._make("and_", self, other)

    def __or__(self, other: Bool) -> Bool:
        return self._make("or_", self, other)

    def __invert__(self) -> Bool:
        return self._make("xor", self, 1)


class Int(Value):
    """The bits of a number: unsigned, and they wrap."""

    def __add__(self, other: Int | int) -> Int:
        return self._make("add", self, other)

    def __sub__(self, other: Int | int) -> Int:
        return self._make("sub", self, other)

    def __rsub__(self, other: int) -> Int:
        return self._make("sub", other, self)

    def __mul__(self, other: Int | int) -> Int:
        return self._make("mul", self, other)

    def __and__(self, other: Int | int) -> Int:
        return self._make("and_", self, other)

    def __or__(self, other: Int | int) -> Int:
        return self._make("or_", self, other)

    def __xor__(self, other: Int | int) -> Int:
        return self._make("xor", self, other)

    def __lshift__(self, count: Int | int) -> Int:
        return self._make("shl", self, count)

    def __rshift__(self, count: Int | int) -> Int:
        return self._make("lshr", self, count)

    def is_(self, other: Int | int) -> Bool:
        return Bool(self.code, self.code.builder.icmp_unsigned("==", self.ref, self._ref(other)))

    def resize(self, width: int) -> Int:
        """So many of the lowest bits."""
        have = self.ref.type.width
        if width == have:
            return self
        instruction = self.code.builder.zext if width > have else self.code.builder.trunc
        return Int(self.code, instruction(self.ref, ir.IntType(width)))

    def leading_zeros(self) -> Int:
        return Int(self.code, self.code.builder.ctlz(self.ref, ir.Constant(BOOL, 1)))

    def to_float(self) -> Float:
        """The same number."""
        return Float(self.code, self.code.builder.uitofp(self.ref, self.code.format.type))

    def as_float(self) -> Float:
        """The number that has these bits."""
        return Float(self.code, self.code.builder.bitcast(self.ref, self.code.format.type))


class Float(Value):
    def _ref(self, operand: Any) -> ir.Value:
        if isinstance(operand, Value):
            return operand.ref
        return _constant(self.ref.type, float(self.format.dtype(operand)))

    def __add__(self, other: Float | float) -> Float:
        return self._make("fadd", self, other)

    def __radd__(self, other: float) -> Float:
        return self._make("fadd", other, self)

    def __sub__(self, other: Float | float) -> Float:
        return self._make("fsub", self, other)

    def __rsub__(self, other: float) -> Float:
        return self._make("fsub", other, self)

    def __mul__(self, other: Float | float) -> Float:
        return self._make("fmul", self, other)

    def __rmul__(self, other: float) -> Float:
        return self._make("fmul", other, self)

    def __truediv__(self, other: Float | float) -> Float:
        return self._make("fdiv", self, other)

    def __rtruediv__(self, other: float) -> Float:
        return self._make("fdiv", other, self)

    def __neg__(self) -> Float:
        return self._make("fneg", self)

    def __abs__(self) -> Float:
        return self._intrinsic("fabs", self)

    def __lt__(self, other: Float | float) -> Bool:
        return self._compare("<", other)

    def __le__(self, other: Float | float) -> Bool:
        return self._compare("<=", other)

    def __gt__(self, other: Float | float) -> Bool:
        return self._compare(">", other)

    def __ge__(self, other: Float | float) -> Bool:
        return self._compare(">=", other)

    def is_(self, other: Float | float) -> Bool:
        return self._compare("==", other)

    def is_nan(self) -> Bool:
        return Bool(self.code, self.code.builder.fcmp_unordered("uno", self.ref, self.ref))

    def _compare(self, how: str, other: Float | float) -> Bool:
        return Bool(self.code, self.code.builder.fcmp_ordered(how, self.ref, self._ref(other)))

    def _intrinsic(self, name: str, *operands: Any) -> Float:
        function = intrinsic(self.code.builder.module, name, self.format, len(operands))
        return Float(self.code, self.code.builder.call(function, [self._ref(operand) for operand in operands]))

    @property
    def format(self) -> Format:
        return self.code.format

    def bits(self) -> Int:
        return Int(self.code, self.code.builder.bitcast(self.ref, self.format.bits))

    def like(self, value: float) -> Float:
        """A constant of this type."""
        return Float(self.code, self._ref(value))

    def sqrt(self) -> Float:
        return self._intrinsic("sqrt", self)

    def copysign(self, other: Float) -> Float:
        return self._intrinsic("copysign", self, other)

    def at_most(self, high: float) -> Float:
        return select(self > high, self.like(high), self)  # a nan stays

    def at_least(self, low: float) -> Float:
        return select(self < low, self.like(low), self)


def fma(x: Float, y: Float | float, z: Float | float) -> Float:
    """x * y + z, rounded once where the processor can."""
    if x.code.has_fma:
        return x._intrinsic("fma", x, y, z)
    return x * y + z


def select(condition: Bool, x: AnyValue, y: AnyValue) -> AnyValue:
    return type(x)(x.code, x.code.builder.select(condition.ref, x.ref, y.ref))


def intrinsic(module: ir.Module, name: str, format: Format, operands: int) -> ir.Function:
    """LLVM's own function of that name."""
    lanes = f"v{format.lanes}" if format.lanes else ""
    kind = ir.FunctionType(format.type, [format.type] * operands)
    return cgutils.get_or_insert_function(module, kind, f"llvm.{name}.{lanes}f{format.width}")


def _constant(kind: ir.Type, value: float) -> ir.Constant:
    return ir.Constant(
        kind, [ir.Constant(kind.element, value)] * kind.count if isinstance(kind, ir.VectorType) else value
    )


Table = Mapping[str, tuple[float, ...]]  # by the name of a format


def polynomial(x: Float, coefficients: Table) -> Float:
    """c[0] + c[1]*x + c[2]*x**2 + …: even and odd powers apart, for half the latency of Horner's scheme."""
    terms = coefficients[x.format.name]
    z = x * x
    return fma(_horner(z, terms[1::2]), x, _horner(z, terms[::2]))


def _horner(x: Float, coefficients: tuple[float, ...]) -> Float:
    total = x.like(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = fma(total, x, coefficient)
    return total


__all__ = [
    "FLOAT32",
    "FLOAT64",
    "Bool",
    "Code",
    "Float",
    "Format",
    "Int",
    "Table",
    "fma",
    "intrinsic",
    "polynomial",
    "select",
]
