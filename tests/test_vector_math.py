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

INF, PI = math.inf, math.pi
DTYPES = (np.float64, np.float32)

# The last two are as close to a multiple of pi / 2 as a float64 and a float32 can be.
ANGLES = (PI / 4, PI / 2, PI, 1e6 * PI, 2.0**40, 2.0**15, 6381956970095103 * 2.0**797, 16367173.0 * 2.0**72)

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
    "sin":    ((-100.0, 100.0), ANGLES),
    "cos":    ((-100.0, 100.0), ANGLES),
    "tan":    ((-100.0, 100.0), ANGLES),
    "arcsin": ((-1.0, 1.0), (math.sin(PI / 8), math.cos(PI / 8), 1.0 - 2.0**-53, 1.5)),
    "arccos": ((-1.0, 1.0), (math.sin(PI / 8), math.cos(PI / 8), 1.0 - 2.0**-53, 1.5)),
    "arctan": ((-20.0, 20.0), (math.tan(PI / 8), math.tan(3 * PI / 8))),
    "sinh":   ((-711.0, 711.0), (0.3465735902799726, 1.0397207708399179, 710.4758600739439, 89.41599)),
    "cosh":   ((-711.0, 711.0), (0.3465735902799726, 1.0397207708399179, 710.4758600739439, 89.41599)),
    "tanh":   ((-22.0, 22.0), (0.1732867951399863, 18.714973875118524, 18.36, 9.01, 8.32)),
    "arcsinh": ((-20.0, 20.0), (0.5**27, 0.5**13, 2.0**53, 2.0**24, 0.41, 1.7e308, 3.4e38)),
    "arccosh": ((1.0, 20.0), (1.001, 1.25, 2.0, 2.0**53, 2.0**24, 1.7e308, 3.4e38)),
    "arctanh": ((-1.0, 1.0), (0.5**27, 0.5**13, 0.17157287525380988, 1.0 - 2.0**-53, 1.5)),
    "cbrt":   ((-10.0, 10.0), (8.0, math.sqrt(2), math.sqrt(0.125), 2.2250738585072014e-308, 5e-324, 1.4e-45)),
    "erf":    ((-6.5, 6.5), (5.92, 3.92, 0.5, 2.0)),
    "erfc":   ((-6.5, 27.5), (5.92, 3.92, 0.5, 2.0, 10.05, 26.543, 27.226)),
}
# fmt: on


@cache
def compiled(name: str, dtype: Any) -> Callable[..., Any]:
    """y[i] = name(x[i], …), compiled."""
    return _loop(getattr(vector_math, name), dtype, operands(name))


def operands(name: str) -> int:
    return library.KERNELS[getattr(vector_math, name)].operands


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


def points(name: str, dtype: Any, count: int) -> tuple[Any, ...]:
    """Where to look: a row for each operand."""
    if name in ("logaddexp", "logaddexp2"):
        return _pairs_of_exponents(dtype, count)
    if name in ("arctan2", "hypot"):
        return _points_of_planes(dtype, count)
    return _power_points(dtype, count) if name == "pow" else (_points(name, dtype, count),)


def _points_of_planes(dtype: Any, count: int) -> tuple[Any, ...]:
    """Of all binades, by themselves and beside each other, in all quadrants; near angles where something changes."""
    rng = np.random.default_rng(6)
    size = np.ldexp(
        rng.uniform(1, 2, count), rng.integers(np.finfo(dtype).minexp - 20, np.finfo(dtype).maxexp - 1, count)
    )
    ratio = np.concatenate([2.0 ** rng.uniform(-60, 60, count), 2.0 ** rng.normal(size=count), np.ones(count // 8)])
    ratio = np.concatenate([ratio, np.tan(PI / 8 * np.array([1, 3]))]) * (1 + rng.normal(0, 1e-8, ratio.size + 2))
    near = rng.choice(size, ratio.size)
    with np.errstate(all="ignore"):
        y, x = (np.concatenate(parts).astype(dtype) for parts in ([near, size], [near * ratio, rng.permutation(size)]))
    good = np.isfinite(x) & np.isfinite(y)
    return tuple(part[good] * rng.choice([-1, 1], good.sum()).astype(dtype) for part in (y, x))


def _pairs_of_exponents(dtype: Any, count: int) -> tuple[Any, ...]:
    """Near each other and far apart, with 0, and small beside large: there the last digits of x - y count."""
    rng = np.random.default_rng(4)
    zero, near, wide = np.zeros(count), rng.uniform(-50, 50, count), np.finfo(dtype).maxexp * 0.7
    x = [near, rng.uniform(-wide, wide, count), zero, 2.0 ** rng.uniform(-60, 3, count), rng.uniform(-3, 3, count)]
    y = [near + rng.normal(size=count), rng.uniform(-wide, wide, count), rng.uniform(-1.1 * wide, wide, count)]
    y += [-(2.0 ** rng.uniform(-10, 6, count)), rng.uniform(-3, 3, count)]
    left, right = np.concatenate(x).astype(dtype), np.concatenate(y).astype(dtype)
    return np.concatenate([left, right]), np.concatenate([right, left])


def _power_points(dtype: Any, count: int) -> tuple[Any, ...]:
    """Bases of all binades, near 1 and negative, with exponents that put the result anywhere from 0 to inf."""
    rng = np.random.default_rng(3)
    limits = np.finfo(dtype)
    bases = np.concatenate(
        [2.0 ** rng.uniform(limits.minexp - limits.nmant, limits.maxexp, count), 1 + rng.normal(0, 1e-4, count)]
    ).astype(dtype)
    with np.errstate(all="ignore"):
        exponents = (rng.uniform(-1.1, 1.1, 2 * count) * limits.maxexp / np.log2(bases.astype(float))).astype(dtype)
    whole = np.rint(rng.uniform(-20, 20, count)).astype(dtype)
    x, y = np.concatenate([bases, -rng.uniform(0, 4, count).astype(dtype)]), np.concatenate([exponents, whole])
    good = np.isfinite(x) & np.isfinite(y) & (x != 0)
    return x[good], y[good]


def _points(name: str, dtype: Any, count: int) -> Any:
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
    if name == "pow":
        return mp.mpf(xs[0]) ** mp.mpf(xs[1])
    if name in ("logaddexp", "logaddexp2"):
        base = mp.e if name == "logaddexp" else mp.mpf(2)
        x, y = sorted(map(mp.mpf, xs))
        return y + mp.log1p(base ** (x - y)) / mp.log(base)
    if name in ("arctan2", "hypot"):
        return (mp.hypot if name == "hypot" else mp.atan2)(*map(mp.mpf, xs))
    if name == "erfc" and abs(xs[0]) > 40.0:  # nearer to 0 or 2 than half of what any float can tell; mpmath overflows
        return mp.mpf(0.0 if xs[0] > 0.0 else 2.0)
    if name in ("arcsin", "arccos", "arctanh") and abs(xs[0]) > 1.0 or name == "arccosh" and xs[0] < 1.0:
        return mp.nan
    if name == "arctanh" and abs(xs[0]) == 1.0:
        return xs[0] * mp.inf
    if name == "cbrt":
        return mp.sign(xs[0]) * mp.cbrt(abs(xs[0]))
    return getattr(mp, name.replace("arc", "a"))(mp.mpf(xs[0]))


def ulps(name: str, xs: tuple[Any, ...], y: Any) -> Any:
    """Errors in units of the last place of the true value."""
    with mp.workprec(1200 if name == "log1p" else 120):
        size = max if name.startswith("logaddexp") else lambda *x: 0.0  # a result near 0 is the rest of two large terms
        return np.array(
            [_ulps(true_value(name, *map(float, x)), got, size(*x)) for *x, got in zip(*xs, y, strict=True)]
        )


def _ulps(true: Any, got: Any, beside: Any) -> float:
    """In units of the true value, or of a negative term `beside` it that is larger."""
    limits = np.finfo(type(got))
    if mp.isnan(true) or np.isnan(got):
        return 0.0 if mp.isnan(true) and np.isnan(got) else INF
    half_beyond = mp.mpf(2) ** limits.maxexp * (1 - mp.mpf(2) ** (-limits.nmant - 2))  # rounds to inf
    if mp.isinf(true) or np.isinf(got):
        return 0.0 if (true > 0) == (got > 0) and np.isinf(got) and abs(true) >= half_beyond else INF
    size = max(abs(true), -mp.mpf(float(beside)))
    exponent = max(int(mp.frexp(size)[1]) if size else limits.minexp, limits.minexp + 1)
    return float(abs(mp.mpf(float(got)) - true) / mp.mpf(2) ** (exponent - limits.nmant - 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", vector_math.__all__)
def test_two_units_in_the_last_place(name: str, dtype: Any) -> None:
    xs = points(name, dtype, 300)
    errors = ulps(name, xs, values(name, *xs))
    worst = int(np.argmax(errors))
    assert errors[worst] <= 2, f"{errors[worst]} at {[x[worst] for x in xs]}"


# fmt: off
EXACT = {  # arguments, and what becomes of them
    "exp":   ("0 -0 inf -inf nan 1e4 -1e4 1e30 -1e30 1e-40", "1 1 inf 0 nan inf 0 inf 0 1"),
    "exp2":  ("0 -0 inf -inf nan 3 -2 2000 -2000", "1 1 inf 0 nan 8 0.25 inf 0"),
    "expm1": ("0 -0 inf -inf nan 1e4 -1e4 1e-40 -1e-40", "0 -0 inf -1 nan inf -1 1e-40 -1e-40"),
    "log":   ("0 -0 inf -inf nan 1 -1 -1e-40", "-inf -inf inf nan nan 0 nan nan"),
    "log2":  ("0 -0 inf -inf nan 1 -1 8 7.174648137343064e-43", "-inf -inf inf nan nan 0 nan 3 -140"),
    "log10": ("0 -0 inf -inf nan 1 -1 10 1000", "-inf -inf inf nan nan 0 nan 1 3"),
    "sin":   ("0 -0 inf -inf nan 1e-40 -1e-40", "0 -0 nan nan nan 1e-40 -1e-40"),
    "cos":   ("0 -0 inf -inf nan 1e-40 -1e-40", "1 1 nan nan nan 1 1"),
    "tan":   ("0 -0 inf -inf nan 1e-40 -1e-40", "0 -0 nan nan nan 1e-40 -1e-40"),
    "arcsin": ("0 -0 1 -1 inf -inf nan 2 1e-40 -1e-40", f"0 -0 {PI / 2} {-PI / 2} nan nan nan nan 1e-40 -1e-40"),
    "arccos": ("0 -0 1 -1 inf -inf nan 2", f"{PI / 2} {PI / 2} 0 {PI} nan nan nan nan"),
    "arctan": ("0 -0 inf -inf nan 1e-40 -1e-40", f"0 -0 {PI / 2} {-PI / 2} nan 1e-40 -1e-40"),
    "sinh":  ("0 -0 inf -inf nan 1e4 -1e4 1e-40 -1e-40", "0 -0 inf -inf nan inf -inf 1e-40 -1e-40"),
    "cosh":  ("0 -0 inf -inf nan 1e4 -1e4 1e-40 -1e-40", "1 1 inf inf nan inf inf 1 1"),
    "tanh":  ("0 -0 inf -inf nan 1e4 -1e4 1e-40 -1e-40", "0 -0 1 -1 nan 1 -1 1e-40 -1e-40"),
    "arcsinh": ("0 -0 inf -inf nan 1e-40 -1e-40", "0 -0 inf -inf nan 1e-40 -1e-40"),
    "arccosh": ("0 1 inf -inf nan -1 0.5 -5", "nan 0 inf nan nan nan nan nan"),
    "arctanh": ("0 -0 1 -1 inf -inf nan 2 -2 1e-40 -1e-40", "0 -0 inf -inf nan nan nan nan nan 1e-40 -1e-40"),
    "cbrt":  ("0 -0 inf -inf nan 1 -1 8 -27 0.125", "0 -0 inf -inf nan 1 -1 2 -3 0.5"),
    "erf":   ("0 -0 inf -inf nan 1e4 -1e4", "0 -0 1 -1 nan 1 -1"),
    "erfc":  ("0 -0 inf -inf nan 1e4 -1e4 1e-40", "1 1 0 2 nan 0 2 1"),
    "log1p": ("0 -0 inf -inf nan -1 -2 1e-40 -1e-40", "0 -0 inf nan nan -inf nan 1e-40 -1e-40"),
}
# fmt: on


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges(name: str, dtype: Any) -> None:
    x, expected = (np.array(text.split(), dtype) for text in EXACT[name])
    np.testing.assert_array_equal(_signed(values(name, x)), _signed(expected))


@pytest.mark.parametrize("dtype", DTYPES)
def test_edges_of_powers(dtype: Any) -> None:
    corners = "0 -0 1 -1 2 -2 0.5 -0.5 3 -3 7 -7 1.5 -1.5 1e-45 1e30 -1e30 1e-30 1.00001 inf -inf nan"
    x, y = (np.ascontiguousarray(part.ravel()) for part in np.meshgrid(*[np.array(corners.split(), dtype)] * 2))
    got = values("pow", x, y)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    special = ~np.isfinite(expected) | (expected == 0) | (abs(expected) == 1)
    assert special.sum() > 200
    np.testing.assert_array_equal(_signed(got[special]), _signed(expected[special]))
    np.testing.assert_array_max_ulp(got[~special], expected[~special], 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2", "arctan2", "hypot"])
def test_edges_of_two_operands(name: str, dtype: Any) -> None:
    corners = "0 -0 1 -1 1e4 -1e4 1e38 -1e38 1e-40 -1e-40 inf -inf nan"
    x, y = (np.ascontiguousarray(part.ravel()) for part in np.meshgrid(*[np.array(corners.split(), dtype)] * 2))
    got = values(name, x, y)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
    special = ~np.isfinite(expected) | (expected == 0)
    np.testing.assert_array_equal(_signed(got[special]), _signed(expected[special]))
    np.testing.assert_array_max_ulp(got[~special], expected[~special], 2)


def _signed(x: Any) -> list[tuple[float, bool]]:
    return [(value, bool(np.signbit(value)) and not np.isnan(value)) for value in x]


# --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", vector_math.__all__)
def test_the_loop_vectorises(name: str, dtype: Any) -> None:
    code = assembly(compiled(name, dtype))
    if not re.search(r"%[xyz]mm", "".join(code.values())):
        pytest.skip("this reads the assembly of x86")
    (loop,) = (text for symbol, text in code.items() if symbol.startswith("_ZN") and "cpython" not in symbol)
    twins = [text for symbol, text in code.items() if re.fullmatch(rf"srcgrad_{name}_\w+x\d+", symbol)]
    if library.KERNELS[getattr(vector_math, name)].limit:  # a call for each vector, and the arithmetic is there
        (arithmetic,) = twins
    else:
        arithmetic = loop
        assert not twins
        assert not re.search(r"\bcallq?\b", loop)
    letter, other = ("d", "s") if dtype is np.float64 else ("s", "d")
    assert re.search(rf"\bv?mulp{letter}\b", arithmetic), "no packed multiplication"
    assert not re.search(rf"\bv?(?:add|sub|mul|div|fmadd\d*)[sp]{other}\b", loop + arithmetic)


def assembly(function: Any) -> dict[str, str]:
    """The assembly of each symbol."""
    (text,) = function.inspect_asm().values()
    parts = re.split(r"(?m)^([\w.]+):\s*$", re.sub(r"(?m)^\.L\w+:", "", text))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", vector_math.__all__)
def test_plain_python_gives_the_same_dtype(name: str, dtype: Any) -> None:
    x = dtype(1.375 if name == "arccosh" else 0.375)
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


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, DTYPES[k % len(DTYPES)]) for k, name in enumerate(vector_math.__all__)]
)
def test_without_fused_multiply_add(name: str, dtype: Any) -> None:
    """The same kernel, as it is written for a processor without."""
    kernel = library.KERNELS[getattr(vector_math, name)]

    def without(*xs):
        return kernel.write(*(Float(replace(x.code, has_fma=False), x.ref) for x in xs))

    without.__name__ = f"{name}_without_fma"
    function = eval(f"lambda {', '.join('xy'[: operands(name)])}: None")
    library.register(function, without, kernel.operands, limit=kernel.limit, far=kernel.far)
    xs = points(name, dtype, 60)
    loop = _loop(function, dtype, operands(name))
    y = np.empty_like(xs[0])
    loop(*xs, y)
    errors = ulps(name, xs, y)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 2, f"{errors[worst]} at {[x[worst] for x in xs]}"
