"""scipy.special's functions of complex numbers, and those that fill several results.

    airy_ai(x)         →   scipy.special.airy(x)[0]           void airy(double, double *, double *, double *, double *)
    wofz(z)            →   scipy.special.wofz(z)              double _Complex wofz(double _Complex, int)
    spherical_jn(n, x) →   scipy.special.spherical_jn(n, x)   double spherical_jn(ssize_t, double, int, void *)

The C functions are those behind SciPy's own, as in `scipy_special`.  A complex number is two of double precision for
them, as the conventions of x86-64 and AArch64 have it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import scipy.special
import scipy.special.cython_special as compiled
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import get_cython_function_address, intrinsic, overload

from srcgrad.runtime.linked import linked

DOUBLE, NOTHING, C_INT, WORD = ir.DoubleType(), ir.VoidType(), ir.IntType(32), ir.IntType(64)
COMPLEX = ir.LiteralStructType((DOUBLE, DOUBLE))

# What a C function takes and gives: a number, a whole one, a complex one.
_C_NAMES = {"d": "double", "n": "Py_ssize_t", "z": "__pyx_t_double_complex"}


@cache
def of_c() -> dict[str, dict[str, str]]:
    """SciPy's C functions by name, those of one name by their signatures."""
    found: dict[str, dict[str, str]] = {}
    for key, capsule in compiled.__pyx_capi__.items():
        name = re.sub(r"__pyx_fuse_[\d_]+", "", key)
        found.setdefault(name, {})[str(capsule)] = key
    return found


def _symbol(name: str, start: str) -> str:
    """The C function of that name whose signature starts so, known to LLVM."""
    for signature, key in of_c()[name].items():
        if start in signature:
            symbol = f"srcgrad_special_call_{name}"
            binding.add_symbol(symbol, get_cython_function_address(compiled.__name__, key))
            return symbol
    raise AssertionError(name)


def filling(name: str, operands: int, results: int, which: int) -> Any:
    """An intrinsic: the result number `which` of a function that fills several."""
    symbol = _symbol(name, f"void ({', '.join(['double'] * operands + ['double *'] * results)}")

    def fill(typing_context, *given):
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(NOTHING, [DOUBLE] * operands + [DOUBLE.as_pointer()] * results)
            rooms = [cgutils.alloca_once(builder, DOUBLE) for _ in range(results)]
            called = cgutils.get_or_insert_function(builder.module, kind, symbol)
            numbers = zip(args, signature.args, strict=True)
            builder.call(called, [*(context.cast(builder, x, t, types.float64) for x, t in numbers), *rooms])
            return builder.load(rooms[which])

        return types.float64(*map(types.unliteral, given)), generate

    return intrinsic(_with_operands(fill, operands))


def returning(name: str, takes: str, gives: str, is_optional: bool = False) -> Any:
    """An intrinsic: the C function as it is; `is_optional`: its last operand has a default, which NULL stands for."""
    symbol = _symbol(name, f"{_C_NAMES[gives]} ({', '.join(_C_NAMES[x] for x in takes)}, int __pyx_skip_dispatch")
    kinds = {"d": (types.float64,), "n": (types.intp,), "z": (types.complex128,)}

    def call(typing_context, *given):
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            numbers: list[Any] = []
            for what, x, t in zip(takes, args, signature.args, strict=True):
                number = context.cast(builder, x, t, kinds[what][0])
                numbers += [builder.extract_value(number, k) for k in range(2)] if what == "z" else [number]
            numbers.append(C_INT(0))
            if is_optional:
                numbers.append(cgutils.get_null_value(cgutils.voidptr_t))
            result = COMPLEX if gives == "z" else DOUBLE
            kind = ir.FunctionType(result, [number.type for number in numbers])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), numbers)

        return kinds[gives][0](*map(types.unliteral, given)), generate

    return intrinsic(_with_operands(call, len(takes)))


def _with_operands(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The same, with operands that have names: Numba counts them."""
    listed = ", ".join(f"x{k}" for k in range(count))
    scope: dict[str, Any] = {"function": function}
    exec(f"def called(typing_context, {listed}):\n    return function(typing_context, {listed})\n", scope)
    return scope["called"]


def said(name: str, plain: Callable[..., Any], inside: Any, count: int) -> Callable[..., Any]:
    """What generated code calls: `plain` in plain Python; the result has the dtype of the last operand."""
    listed = ", ".join(f"x{k}" for k in range(count))
    scope = {"plain": plain, "inside": inside, "kind": types.unliteral}
    last = f"x{count - 1}"
    exec(
        f"def {name}({listed}):\n    return plain({listed})\n"
        f"def choose({listed}):\n    dtype = kind({last})\n    return lambda {listed}: dtype(inside({listed}))\n",
        scope,
    )
    overload(scope[name])(scope["choose"])
    return scope[name]


def _result(function: Callable[..., Any], which: int) -> Callable[..., Any]:
    return lambda *operands: function(*operands)[which]


# fmt: off
SEVERAL = {
    "airy":    ("airy_ai", "airy_aip", "airy_bi", "airy_bip"),
    "fresnel": ("fresnel_s", "fresnel_c"),
    "sici":    ("si", "ci"),
    "shichi":  ("shi", "chi"),
    "ellipj":  ("ellipj_sn", "ellipj_cn", "ellipj_dn", "ellipj_ph"),
}
# fmt: on

# --------------------------------------------------------------------------------------------------------------
# The C functions are of positive numbers; those of negative ones by reflection (DLMF 10.47(v)).

_jn, _yn, _in, _kn = (returning(f"spherical_{name}", "nd", "d", True) for name in ("jn", "yn", "in", "kn"))


@linked
def _of_any_sign_jn(n: Any, x: Any) -> Any:
    return (-1.0 if n % 2 else 1.0) * _jn(n, -x) if x < 0.0 else _jn(n, x)


@linked
def _of_any_sign_yn(n: Any, x: Any) -> Any:
    return (1.0 if n % 2 else -1.0) * _yn(n, -x) if x < 0.0 else _yn(n, x)


@linked
def _of_any_sign_in(n: Any, x: Any) -> Any:
    return (-1.0 if n % 2 else 1.0) * _in(n, -x) if x < 0.0 else _in(n, x)


@linked
def _of_any_sign_kn(n: Any, x: Any) -> Any:
    return (1.0 if n % 2 else -1.0) * _kn(n, -x) - math.pi * _in(n, -x) if x < 0.0 else _kn(n, x)


_SPHERICAL = {
    "spherical_jn": _of_any_sign_jn,
    "spherical_yn": _of_any_sign_yn,
    "spherical_in": _of_any_sign_in,
    "spherical_kn": _of_any_sign_kn,
}

SAID: dict[str, Callable[..., Any]] = {}  # what generated code calls, by name
for _name, _results in SEVERAL.items():
    _function = getattr(scipy.special, _name)
    for _which, _result_name in enumerate(_results):
        _inside = filling(_name, _function.nin, len(_results), _which)
        SAID[_result_name] = said(_result_name, _result(_function, _which), _inside, _function.nin)
for _name, _inside in _SPHERICAL.items():
    SAID[_name] = said(_name, getattr(scipy.special, _name), _inside, 2)
SAID["wofz"] = said("wofz", scipy.special.wofz, returning("wofz", "z", "z"), 1)
