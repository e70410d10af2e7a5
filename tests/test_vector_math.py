"""srcgrad.runtime.vector_math: right to 2 units in the last place everywhere, at the edges, and in vectors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba import njit, types

from srcgrad.runtime import vector_math
from srcgrad.runtime.vector_math import library
from srcgrad.runtime.vector_math.emit import Float

mp = pytest.importorskip("mpmath").mp

INF, NAN = math.inf, math.nan
DTYPES = (np.float64, np.float32)

# Where each function is neither 0 nor inf, and points at which something changes.
# fmt: off
FUNCTIONS: dict[str, tuple[tuple[float, float], tuple[float, ...]]] = {
    "exp":    ((-746.0, 710.0), (709.782712893384, -708.39641853226, -745.13321910194, 88.72283, -87.33654, -103.972)),
    "exp2":   ((-1075.0, 1024.0), (0.5, -0.5, 1023.5, -1074.5, 127.5, -149.5)),
    "expm1":  ((-40.0, 710.0), (0.3465735902799726, -0.3465735902799726, 709.782712893384, 1e-9)),
    "log":    ((0.0, 10.0), (1.0, math.sqrt(0.5), math.sqrt(2), 2.0, 2.2250738585072014e-308)),
    "log2":   ((0.0, 10.0), (1.0, math.sqrt(0.5), math.sqrt(2), 2.0)),
    "log10":  ((0.0, 10.0), (1.0, math.sqrt(0.5), math.sqrt(2), 10.0, 1000.0)),
    "log1p":  ((-1.0, 10.0), (0.0, -0.29289321881345254, 0.41421356237309515, -1.0, 1e300, 1.7e308)),
}
# fmt: on


@cache
def compiled(name: str, dtype: Any) -> Callable[..., Any]:
    """y[i] = name(x[i], …), compiled."""
    return _loop(getattr(vector_math, name), dtype, operands(name))


def operands(name: str) -> int:
    return 2 if name == "pow" else 1


def _loop(function: Any, dtype: Any, count: int) -> Callable[..., Any]:
    space = {"function": function}
    args = [f"x{k}" for k in range(count)]
    elements = ", ".join(f"{arg}[i]" for arg in args)
    exec(f"def loop({', '.join(args)}, y):\n    for i in range(y.size):\n        y[i] = function({elements})", space)
    loop = njit(error_model="numpy")(space["loop"])
    array = types.Array(types.float64 if dtype is np.float64 else types.float32, 1, "C")
    loop.compile((array,) * (count + 1))
    return loop


def values(name: str, *xs: Any) -> Any:
    y = np.empty_like(xs[0])
    compiled(name, xs[0].dtype.type)(*xs, y)
    return y


def points(name: str, dtype: Any, count: int) -> Any:
    """All binades of both signs, the interval where the function lives, around 0 and 1, and around critical points."""
    rng = np.random.default_rng(len(name))
    (low, high), critical = FUNCTIONS[name]
    unsigned = np.uint64 if dtype is np.float64 else np.uint32
    with np.errstate(all="ignore"):
        middle = np.array([0.0, 1.0, -1.0, *critical]).astype(dtype)
        near = middle[:, None].view(unsigned) + np.arange(-8, 9).astype(unsigned)
        x = np.concatenate(
            [
                rng.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned).view(dtype),
                rng.uniform(low, high, count).astype(dtype),
                rng.uniform(-2, 2, count).astype(dtype),
                (1 + rng.normal(0, 1e-3, count // 4)).astype(dtype),
                (np.sign(rng.normal(size=count // 4)) * 2.0 ** rng.uniform(-30, 0, count // 4)).astype(dtype),
                near.ravel().view(dtype),
            ]
        )
    return x[np.isfinite(x)]


def true_value(name: str, *xs: float) -> Any:
    """What mpmath says, in 100 bits; nan where the function is not real, inf at a pole."""
    if name in ("log", "log2", "log10", "log1p"):
        x = mp.mpf(xs[0]) + (name == "log1p")
        if x <= 0:
            return mp.nan if x < 0 else -mp.inf
        return mp.log(x) / {"log2": mp.log(2), "log10": mp.log(10)}.get(name, 1)
    if name == "exp2":
        return mp.mpf(2) ** xs[0]
    return getattr(mp, name)(mp.mpf(xs[0]))


def ulps(name: str, xs: tuple[Any, ...], y: Any) -> Any:
    """Errors in units of the last place of the true value."""
    with mp.workprec(1200 if name == "log1p" else 120):
        return np.array([_ulps(true_value(name, *map(float, x)), got) for *x, got in zip(*xs, y, strict=True)])


def _ulps(true: Any, got: Any) -> float:
    limits = np.finfo(type(got))
    if mp.isnan(true) or np.isnan(got):
        return 0.0 if mp.isnan(true) and np.isnan(got) else INF
    half_beyond = mp.mpf(2) ** limits.maxexp * (1 - mp.mpf(2) ** (-limits.nmant - 2))  # rounds to inf
    if mp.isinf(true) or np.isinf(got):
        return 0.0 if (true > 0) == (got > 0) and np.isinf(got) and abs(true) >= half_beyond else INF
    exponent = max(int(mp.frexp(true)[1]) if true else limits.minexp, limits.minexp + 1)
    return float(abs(mp.mpf(float(got)) - true) / mp.mpf(2) ** (exponent - limits.nmant - 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_units_in_the_last_place(name: str, dtype: Any) -> None:
    x = points(name, dtype, 300)
    errors = ulps(name, (x,), values(name, x))
    worst = int(np.argmax(errors))
    assert errors[worst] <= 2, f"{errors[worst]} at {x[worst]!r}"


# fmt: off
EXACT = {  # arguments, and what becomes of them
    "exp":   ("0 -0 inf -inf nan 1e4 -1e4 1e30 -1e30 1e-40", "1 1 inf 0 nan inf 0 inf 0 1"),
    "exp2":  ("0 -0 inf -inf nan 3 -2 2000 -2000", "1 1 inf 0 nan 8 0.25 inf 0"),
    "expm1": ("0 -0 inf -inf nan 1e4 -1e4 1e-40 -1e-40", "0 -0 inf -1 nan inf -1 1e-40 -1e-40"),
    "log":   ("0 -0 inf -inf nan 1 -1 -1e-40", "-inf -inf inf nan nan 0 nan nan"),
    "log2":  ("0 -0 inf -inf nan 1 -1 8 7.174648137343064e-43", "-inf -inf inf nan nan 0 nan 3 -140"),
    "log10": ("0 -0 inf -inf nan 1 -1 10 1000", "-inf -inf inf nan nan 0 nan 1 3"),
    "log1p": ("0 -0 inf -inf nan -1 -2 1e-40 -1e-40", "0 -0 inf nan nan -inf nan 1e-40 -1e-40"),
}
# fmt: on


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges(name: str, dtype: Any) -> None:
    x, expected = (np.array(text.split(), dtype) for text in EXACT[name])
    np.testing.assert_array_equal(_signed(values(name, x)), _signed(expected))


def _signed(x: Any) -> list[tuple[float, bool]]:
    return [(value, bool(np.signbit(value)) and not np.isnan(value)) for value in x]


# --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_loop_vectorises(name: str, dtype: Any) -> None:
    (code,) = compiled(name, dtype).inspect_asm().values()
    entry = code.partition("cpython")[0]  # what comes after boxes and unboxes
    if not re.search(r"%[xyz]mm", code):
        pytest.skip("this reads the assembly of x86")
    letter, other = ("d", "s") if dtype is np.float64 else ("s", "d")
    assert re.search(rf"\bv?mulp{letter}\b", entry), "no packed multiplication"
    assert not re.search(r"\bcallq?\b", entry)
    assert not re.search(rf"\bv?(?:add|sub|mul|div|fmadd\d*)[sp]{other}\b", entry)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain_python_gives_the_same_dtype(name: str, dtype: Any) -> None:
    x = dtype(0.375)
    y = getattr(vector_math, name)(*[x] * operands(name))
    assert type(y) is dtype
    assert abs(y - values(name, *[np.array([x])] * operands(name))[0]) <= 2 * np.spacing(abs(y))


def test_whole_numbers_are_taken_as_float64() -> None:
    exp = vector_math.exp
    assert njit(lambda n: exp(n))(3) == njit(lambda x: exp(x))(3.0)
    assert njit(lambda n: exp(n))(True) == njit(lambda x: exp(x))(1.0)


def test_fastmath_of_the_caller_changes_nothing() -> None:
    exp = vector_math.exp
    x = np.linspace(-5, 5, 101)
    fast = njit(lambda x: exp(x), fastmath=True)
    strict = njit(lambda x: exp(x))
    assert [fast(value) for value in x] == [strict(value) for value in x]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_fused_multiply_add(name: str, dtype: Any) -> None:
    """The same kernel, as it is written for a processor without."""
    kernel = library.KERNELS[getattr(vector_math, name)]

    def without(*xs):
        return kernel(*(Float(replace(x.code, has_fma=False), x.ref) for x in xs))

    without.__name__ = f"{name}_without_fma"
    function = eval(f"lambda {', '.join('xy'[: operands(name)])}: None")
    library.register(function, without, operands(name))
    x = points(name, dtype, 60)
    loop = _loop(function, dtype, operands(name))
    y = np.empty_like(x)
    loop(x, y)
    errors = ulps(name, (x,), y)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 3, f"{errors[worst]} at {x[worst]!r}"
