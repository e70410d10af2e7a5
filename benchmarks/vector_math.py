"""The kernels of srcgrad.runtime.vector_math: how far off they are, and what they cost.

    python -m benchmarks.vector_math                 everything; writes benchmarks/results/vector_math.json
    python -m benchmarks.vector_math loops           some of it, printed only

Errors are in units of the last place, over 10^6 points of every function: half of them are random bits, so that every
binade comes with both signs; half lie where the function is neither 0 nor inf.  NumPy's long double (on x86, 64 digits)
finds the worst ones, and mpmath measures those again; for float32, float64 is exact enough.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import mpmath
import numba
import numpy as np
import scipy.special

from benchmarks import record
from srcgrad.runtime import vector_math

POINTS = 1_000_000
TRIED_AGAIN = 300  # of the worst, by mpmath
DTYPES = (np.float64, np.float32)

# Where the function lives, and where it is timed.
# fmt: off
DOMAINS = {
    "exp":    ((-746.0, 710.0), (-5.0, 5.0)),
    "exp2":   ((-1075.0, 1024.0), (-5.0, 5.0)),
    "expm1":  ((-40.0, 710.0), (-5.0, 5.0)),
    "log":    ((0.0, 10.0), (0.1, 10.0)),
    "log2":   ((0.0, 10.0), (0.1, 10.0)),
    "log10":  ((0.0, 10.0), (0.1, 10.0)),
    "log1p":  ((-1.0, 10.0), (-0.9, 10.0)),
    "logaddexp": ((-100.0, 100.0), (-5.0, 5.0)),
    "logaddexp2": ((-100.0, 100.0), (-5.0, 5.0)),
    "sin":    ((-1e4, 1e4), (-10.0, 10.0)),
    "cos":    ((-1e4, 1e4), (-10.0, 10.0)),
    "tan":    ((-1e4, 1e4), (-10.0, 10.0)),
    "arctan": ((-20.0, 20.0), (-5.0, 5.0)),
    "arctan2": ((-20.0, 20.0), (-5.0, 5.0)),
    "arcsin": ((-1.0, 1.0), (-1.0, 1.0)),
    "arccos": ((-1.0, 1.0), (-1.0, 1.0)),
    "hypot":  ((-20.0, 20.0), (-5.0, 5.0)),
    "sinh":   ((-711.0, 711.0), (-5.0, 5.0)),
    "cosh":   ((-711.0, 711.0), (-5.0, 5.0)),
    "tanh":   ((-22.0, 22.0), (-5.0, 5.0)),
    "erf":    ((-6.5, 6.5), (-3.0, 3.0)),
    "erfc":   ((-6.5, 27.5), (-3.0, 3.0)),
    "pow":    ((0.0, 10.0), (0.1, 10.0)),
}
TWO_OPERANDS = ("arctan2", "hypot", "logaddexp", "logaddexp2", "pow")
# What `math` spells otherwise, or does not have.
LIBM = {
    "arctan": math.atan, "exp2": np.exp2, "pow": math.pow, "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2,
    "arctan2": math.atan2, "arcsin": math.asin, "arccos": math.acos,
}
NUMPY = {"erf": scipy.special.erf, "erfc": scipy.special.erfc, "pow": np.power}
MPMATH = {
    "arctan": mpmath.atan, "arctan2": mpmath.atan2, "arcsin": mpmath.asin, "arccos": mpmath.acos,
    "exp2": lambda x: mpmath.mpf(2) ** x, "pow": lambda x, y: mpmath.mpf(x) ** y,
    "log2": lambda x: mpmath.log(x, 2),
    "logaddexp": lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))),
    "logaddexp2": lambda x, y: max(x, y) + mpmath.log1p(mpmath.mpf(2) ** -abs(x - y)) / mpmath.log(2),
}
# fmt: on


def loop(function: Callable[..., Any], dtype: Any, operands: int = 1) -> Callable[..., None]:
    """out[i] = function(x[i], …), compiled."""
    if operands == 1:

        def body(x, out):
            for i in range(out.size):
                out[i] = function(x[i])
    else:

        def body(x, y, out):
            for i in range(out.size):
                out[i] = function(x[i], y[i])

    compiled = numba.njit(error_model="numpy")(body)
    compiled.compile((numba.typeof(np.empty(1, dtype)),) * (operands + 1))
    return compiled


# --------------------------------------------------------------------------------------------------------------


def errors() -> dict[str, Any]:
    """The largest error of each function, and where it is."""
    assert np.finfo(np.longdouble).nmant >= 63, "long double is no wider than float64 here"
    return {f"{name} {np.dtype(dtype).name}": _worst(name, dtype) for name in DOMAINS for dtype in DTYPES}


def _worst(name: str, dtype: Any) -> dict[str, Any]:
    operands = _points(name, dtype)
    got = np.empty_like(operands[0])
    loop(getattr(vector_math, name), dtype, len(operands))(*operands, got)
    with np.errstate(all="ignore"):
        true = _reference(name, dtype)(*(x.astype(np.longdouble if dtype is np.float64 else float) for x in operands))
        found = _ulps(got, true)
    worst = np.argsort(found)[-(TRIED_AGAIN if name not in ("erf", "erfc") else 20 * TRIED_AGAIN) :]
    with mpmath.workprec(150):
        function = MPMATH.get(name) or getattr(mpmath, name)
        exact = [function(*map(_exact, x)) for x in zip(*(x[worst] for x in operands), strict=True)]
    again = _ulps(got[worst], np.array([_longdouble(value) for value in exact]))
    place = int(np.argmax(again))
    return {
        "worst": round(float(again[place]), 3),
        "at": [float(x[worst[place]]) for x in operands],
        "points": len(got),
    }


def _points(name: str, dtype: Any) -> tuple[Any, ...]:
    rng = np.random.default_rng(7)
    unsigned = np.uint64 if dtype is np.float64 else np.uint32
    (low, high), _ = DOMAINS[name]
    with np.errstate(all="ignore"):
        if name == "pow":
            return _power_points(dtype, rng)
        if name.startswith("logaddexp"):
            return _exponent_points(dtype, rng)

        def some() -> Any:
            bits = rng.integers(0, np.iinfo(unsigned).max, POINTS // 2, dtype=unsigned).view(dtype)
            near = rng.uniform(low, high, POINTS // 4), rng.uniform(-2, 2, POINTS // 4)
            return np.concatenate([bits, *near]).astype(dtype)

        x = some()
        if name in TWO_OPERANDS:
            y = some()
            good = np.isfinite(x) & np.isfinite(y)
            return x[good], y[good]
    if name in ("log", "log2", "log10"):
        x = np.abs(x)
    return (x[np.isfinite(x) & ((x > -1) if name == "log1p" else True)],)


def _power_points(dtype: Any, rng: Any) -> tuple[Any, Any]:
    """Bases of all binades and near 1, with exponents that put the result anywhere from 0 to inf."""
    limits = np.finfo(dtype)
    x = 2.0 ** rng.uniform(limits.minexp - limits.nmant, limits.maxexp, POINTS // 2)
    x = np.concatenate([x, 1 + rng.normal(0, 1e-3, POINTS // 4), rng.uniform(0, 10, POINTS // 4)]).astype(dtype)
    y = rng.uniform(-1.02, 1.02, POINTS) * limits.maxexp / np.log2(x.astype(float))
    y[-POINTS // 4 :] = rng.uniform(-20, 20, POINTS // 4)
    y = y.astype(dtype)
    good = np.isfinite(x) & np.isfinite(y) & (x > 0)
    return x[good], y[good]


def _exponent_points(dtype: Any, rng: Any) -> tuple[Any, Any]:
    """One of them is not negative: else the result may be the small rest of two large terms."""
    x = np.concatenate(
        [rng.uniform(0, 100, POINTS // 4), 2.0 ** rng.uniform(-60, 3, POINTS // 4), np.zeros(POINTS // 2)]
    )
    y = np.concatenate([rng.uniform(-100, 100, POINTS // 4), -(2.0 ** rng.uniform(-10, 6, POINTS // 4))])
    y = np.concatenate([y, rng.uniform(-110, 5, POINTS // 2)])
    return x.astype(dtype), y.astype(dtype)


def _reference(name: str, dtype: Any) -> Callable[..., Any]:
    if name in ("erf", "erfc"):  # nothing in long double: float64, whose own errors are below a unit
        return lambda x: NUMPY[name](x.astype(float)).astype(x.dtype)
    return NUMPY.get(name) or getattr(np, name)


def _exact(x: Any) -> Any:
    return mpmath.mpf(float(x))


def _longdouble(x: Any) -> Any:
    if not mpmath.isfinite(x):
        return np.longdouble(float(x))
    mantissa, exponent = mpmath.frexp(x)
    high = float(mantissa)
    return np.ldexp(np.longdouble(high) + np.longdouble(float(mantissa - high)), int(exponent))


def _ulps(got: Any, true: Any) -> Any:
    """In units of the last place that the true value has in the format of `got`."""
    limits = np.finfo(got.dtype)
    exponent = np.clip(np.frexp(np.abs(true))[1], limits.minexp + 1, limits.maxexp)
    off = np.abs(got.astype(true.dtype) - true) / np.ldexp(true.dtype.type(1), exponent - limits.nmant - 1)
    same = (got == true.astype(got.dtype)) & ~np.isfinite(got) | np.isnan(got) & np.isnan(true)
    return np.where(same, 0, np.where(np.isnan(off), np.inf, off)).astype(float)


# --------------------------------------------------------------------------------------------------------------


def times() -> dict[str, Any]:
    """Nanoseconds for one of 10^6 numbers."""
    return {f"{name} {np.dtype(dtype).name}": _times(name, dtype) for name in DOMAINS for dtype in DTYPES}


def _times(name: str, dtype: Any) -> dict[str, float]:
    rng = np.random.default_rng(7)
    operands = [rng.uniform(*DOMAINS[name][1], POINTS).astype(dtype) for _ in range(1 + (name in TWO_OPERANDS))]
    out = np.empty_like(operands[0])
    ours = loop(getattr(vector_math, name), dtype, len(operands))
    libm = loop(LIBM.get(name) or getattr(math, name), dtype, len(operands))
    numpy = NUMPY.get(name) or getattr(np, name)
    return {
        "ours": _nanoseconds(lambda: ours(*operands, out)),
        "math in Numba": _nanoseconds(lambda: libm(*operands, out)),
        "NumPy": _nanoseconds(lambda: numpy(*operands, out)),
    }


def _nanoseconds(call: Callable[[], object], count: int = POINTS) -> float:
    """For each of `count` numbers, the best of many calls; in time of this thread, so that others do not count."""
    call()
    spent = []
    for _ in range(50):
        start = time.thread_time()
        call()
        spent.append(time.thread_time() - start)
    return round(1e9 * min(spent) / count, 3)


# --------------------------------------------------------------------------------------------------------------


def loops() -> dict[str, Any]:
    """A sum of Gaussians, its adjoint, and a recurrence, which can't vectorise; with our exp, and with math.exp."""
    return {
        f"{loop.__name__}, {label}": _loop(loop(exp), **options)
        for loop in (gaussians, adjoint, recurrence)
        for label, exp in (("ours", vector_math.exp), ("math.exp", math.exp))
        for options in ({"fastmath": {"reassoc", "nsz"} if loop is gaussians else False},)
    }


def gaussians(exp):
    def gaussians(x, x_b):
        s = 0.0
        for i in range(x.size):
            s += exp(-x[i] * x[i])
        return s

    return gaussians


def adjoint(exp):
    def adjoint(x, x_b):
        for i in range(x.size):
            x_b[i] -= 2.0 * x[i] * exp(-x[i] * x[i])

    return adjoint


def recurrence(exp):
    def recurrence(x, x_b):
        s = 0.0
        for i in range(x.size):
            s = exp(-s * x[i])
        return s

    return recurrence


def _loop(function: Callable[..., Any], fastmath: Any) -> dict[str, float]:
    x = np.random.default_rng(7).uniform(-2, 2, POINTS)
    x_b = np.zeros_like(x)
    compiling = []
    for _ in range(9):
        compiled = numba.njit(error_model="numpy", fastmath=fastmath)(function)
        start = time.thread_time()
        compiled.compile((numba.typeof(x), numba.typeof(x_b)))
        compiling.append(time.thread_time() - start)
    return {"ns": _nanoseconds(lambda: compiled(x, x_b)), "compiling, ms": round(1e3 * min(compiling), 1)}


# --------------------------------------------------------------------------------------------------------------

PARTS = {"errors": errors, "times": times, "loops": loops}


def main(arguments: list[str]) -> None:
    figures = {}
    for name in arguments or PARTS:
        figures[name] = PARTS[name]()
        print(json.dumps({name: figures[name]}, indent=1), flush=True)
    if not arguments:
        record.save("vector_math", figures)
        record.show("vector_math", table(record.load("vector_math")))


def table(saved: dict[str, Any]) -> str:
    """The figures as Markdown."""
    machine, figures = saved["machine"], saved["figures"]
    rows = []
    for name in DOMAINS:
        cells = [f"`{name}`"]
        for dtype in ("float64", "float32"):
            spent = figures["times"][f"{name} {dtype}"].values()
            cells += [f"{figures['errors'][f'{name} {dtype}']['worst']:.2f}", *(f"{value:.2f}" for value in spent)]
        rows.append(f"| {' | '.join(cells)} |")
    heads = [f"{head} {dtype}" for dtype in ("float64", "float32") for head in ("ulp", "ours", "`math`", "NumPy")]
    loops = [f"| {name} | {v['ns']:.2f} | {v['compiling, ms']:.0f} |" for name, v in figures["loops"].items()]
    return "\n".join(
        [
            f"{saved['date']}; {machine['processor']}, {machine['system']}; numba {machine['numba']}, "
            f"numpy {machine['numpy']}.  Nanoseconds for one of 10^6 numbers; `math` is a loop compiled by Numba.",
            "",
            f"| | {' | '.join(heads)} |",
            f"|---|{'---|' * len(heads)}",
            *rows,
            "",
            "| loop over 10^6 numbers | ns for one | compiling, ms |",
            "|---|---|---|",
            *loops,
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
