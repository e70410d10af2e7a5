"""How users spell the primitives: NumPy functions, `math`, operators, builtins, methods; and which ufunc sets dtypes.

    np.absolute, abs(x), math.fabs  →  "abs"        x ** 2, np.power(x, 2), pow(x, 2)  →  "pow"

`np.clip` is `clip_low`, then `clip_high`: its conventions are those of the two, so it has no row of its own.
"""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Like:
    """A function that is no ufunc, with the dtypes that a ufunc has; if it `widens`, whole numbers become float64."""

    function: Callable[..., Any]
    model: np.ufunc
    widens: bool = True

    @property
    def __name__(self) -> str:
        return self.function.__name__

    @property
    def nin(self) -> int:
        return self.model.nin

    def resolve_dtypes(self, dtypes: tuple[Any, ...]) -> tuple[np.dtype, ...]:
        whole = all(t is int or (t not in (float, None) and np.dtype(t).kind in "iub") for t in dtypes[:-1])
        return self.model.resolve_dtypes((float,) * self.nin + (None,) if whole and self.widens else dtypes)

    def __call__(self, *operands: Any) -> Any:
        return self.function(*operands)


# fmt: off

# What a primitive does to values that are known, and the dtypes that NumPy gives it.  None has: select, round_to, cast.
UFUNCS: dict[str, np.ufunc | Like] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "neg": np.negative,
    "pos": np.positive, "floordiv": np.floor_divide, "mod": np.remainder, "fmod": np.fmod,
    "ieee_remainder": Like(math.remainder, np.fmod),
    "pow": np.power, "square": np.square, "reciprocal": np.reciprocal, "abs": np.absolute, "sign": np.sign,
    "copysign": np.copysign, "hypot": np.hypot, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax,
    "fmin": np.fmin, "max": np.maximum, "min": np.minimum, "clip_low": np.maximum, "clip_high": np.minimum,
    "heaviside": np.heaviside,
    "sqrt": np.sqrt, "cbrt": np.cbrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan,
    "arctan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "arcsinh": np.arcsinh,
    "arccosh": np.arccosh, "arctanh": np.arctanh, "deg2rad": np.deg2rad, "rad2deg": np.rad2deg,
    "sinc": Like(np.sinc, np.sin),
    "conj": Like(np.conjugate, np.conjugate), "modulus": Like(np.absolute, np.absolute),
    "phase": Like(np.angle, np.absolute),
    "erf": Like(math.erf, np.sin), "erfc": Like(math.erfc, np.sin), "gamma": Like(math.gamma, np.sin),
    "lgamma": Like(math.lgamma, np.sin),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "ldexp": np.ldexp,
    "nextafter": np.nextafter, "spacing": np.spacing,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "invert": np.invert,
    "lshift": np.left_shift, "rshift": np.right_shift, "gcd": np.gcd, "lcm": np.lcm,
}

# NumPy's functions that are a primitive by another name; aliases (np.divide, np.mod, np.abs …) are the same objects.
FUNCTIONS: dict[Callable[..., Any], str] = {u: op for op, u in UFUNCS.items() if isinstance(u, np.ufunc)} | {
    np.maximum: "maximum", np.minimum: "minimum", np.fabs: "abs", np.float_power: "pow",
    np.degrees: "rad2deg", np.radians: "deg2rad", np.sinc: "sinc", np.fix: "trunc",
    np.logical_xor: "ne",
}

# What the operands become first, where the primitive alone would compute in another dtype.
OPERAND_DTYPES: dict[Callable[..., Any], np.dtype] = {
    np.float_power: np.dtype(np.float64),
    np.logical_and: np.dtype(np.bool_), np.logical_or: np.dtype(np.bool_), np.logical_xor: np.dtype(np.bool_),
    np.logical_not: np.dtype(np.bool_),
}

# `math` computes in double precision and gives a Python number, whatever it is handed.
MATH: dict[Callable[..., Any], str] = {
    math.sqrt: "sqrt", math.exp: "exp", math.expm1: "expm1", math.log: "log", math.log2: "log2", math.log10: "log10",
    math.log1p: "log1p", math.sin: "sin", math.cos: "cos", math.tan: "tan", math.asin: "arcsin", math.acos: "arccos",
    math.atan: "arctan", math.atan2: "arctan2", math.sinh: "sinh", math.cosh: "cosh", math.tanh: "tanh",
    math.asinh: "arcsinh", math.acosh: "arccosh", math.atanh: "arctanh", math.degrees: "rad2deg",
    math.radians: "deg2rad", math.pow: "pow", math.fabs: "abs", math.fmod: "fmod", math.remainder: "ieee_remainder",
    math.copysign: "copysign", math.hypot: "hypot", math.erf: "erf", math.erfc: "erfc", math.gamma: "gamma",
    math.lgamma: "lgamma", math.nextafter: "nextafter",
    math.isnan: "isnan", math.isinf: "isinf", math.isfinite: "isfinite", math.ldexp: "ldexp",
}
for _name in ("cbrt", "exp2"):  # Python 3.11
    if hasattr(math, _name):
        MATH[getattr(math, _name)] = _name

# `cmath` computes in double precision and gives Python's complex numbers; `polar` and `rect` are of two parts.
COMPLEX_MATH: dict[Callable[..., Any], str] = {
    cmath.sqrt: "sqrt", cmath.exp: "exp", cmath.log: "log", cmath.log10: "log10", cmath.sin: "sin", cmath.cos: "cos",
    cmath.tan: "tan", cmath.asin: "arcsin", cmath.acos: "arccos", cmath.atan: "arctan", cmath.sinh: "sinh",
    cmath.cosh: "cosh", cmath.tanh: "tanh", cmath.asinh: "arcsinh", cmath.acosh: "arccosh", cmath.atanh: "arctanh",
    cmath.phase: "phase", cmath.isnan: "isnan", cmath.isinf: "isinf", cmath.isfinite: "isfinite",
    cmath.polar: "modulus", cmath.rect: "complex",
}

# These give a Python int.
TO_INT: dict[Callable[..., Any], str] = {
    math.floor: "floor", math.ceil: "ceil", math.trunc: "trunc", round: "rint", int: "trunc",
}
WHOLE_MATH: dict[Callable[..., Any], str] = {math.gcd: "gcd", math.lcm: "lcm"}

BUILTINS: dict[Callable[..., Any], str] = {abs: "abs", pow: "pow", max: "max", min: "min"}

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "bitand", ast.BitOr: "bitor", ast.BitXor: "bitxor", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.And: "and", ast.Or: "or",
}
# fmt: on

__all__ = [
    "BUILTINS",
    "COMPLEX_MATH",
    "FUNCTIONS",
    "MATH",
    "OPERAND_DTYPES",
    "OPERATORS",
    "TO_INT",
    "UFUNCS",
    "WHOLE_MATH",
]
