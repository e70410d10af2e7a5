"""The polynomials of srcgrad.runtime.vector_math, fitted by weighted least squares; needs mpmath.

    python -m benchmarks.fit_vector_math        rewrites srcgrad/runtime/vector_math/coefficients.py

Each fit takes the lowest degree that reaches the bits asked for.  Coefficients are rounded one after the other, the
lowest first, and the rest is fitted again to what the rounding left.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf

TARGET = Path(__file__).parent.parent / "srcgrad" / "runtime" / "vector_math" / "coefficients.py"
DTYPES = {"float64": np.float64, "float32": np.float32}
DIGITS = {"float64": 53, "float32": 24}
Real = Callable[[Any], Any]

mp.dps = 60


@dataclass(frozen=True)
class Fit:
    """`f` on [low, high]; an error e of the polynomial is an error `weight(x) * e` of the result.

    `pairs` of the lowest coefficients, NAME_FIRST, are kept in twice the precision, as (high, low).
    """

    f: Real
    weight: Real
    low: Any
    high: Any
    bits: dict[str, int]
    pairs: int = 0


def least_squares(f: Real, weight: Real, low: Any, high: Any, degree: int) -> tuple[list[Any], Any]:
    """The coefficients, and the largest weighted error; at Chebyshev's nodes they are nearly those of the minimax."""
    nodes = _chebyshev(low, high, 5 * (degree + 2))
    rows = mp.matrix([[weight(x) * x**i for i in range(degree + 1)] for x in nodes])
    targets = mp.matrix([weight(x) * f(x) for x in nodes])
    coefficients = mp.lu_solve(rows.T * rows, rows.T * targets)
    return list(coefficients), max(abs(e) for e in rows * coefficients - targets)


def _chebyshev(low: Any, high: Any, count: int) -> list[Any]:
    middle, half = (low + high) / 2, (high - low) / 2
    tiny = half * mpf("1e-12")  # a removable singularity at 0 is not hit
    return [middle - half * mp.cos(mp.pi * (k + mpf(0.5)) / count) + tiny for k in range(count)]


def _evaluate(coefficients: list[Any], x: Any) -> Any:
    return mp.polyval(coefficients[::-1], x)


def fitted(fit: Fit, name: str) -> tuple[list[Any], float]:
    """Coefficients rounded to the format of that name, and how many bits are right."""
    degree = 1
    while True:
        _, error = least_squares(fit.f, fit.weight, fit.low, fit.high, degree)
        if error < mpf(2) ** -fit.bits[name]:
            break
        degree += 1
    out: list[Any] = []
    exact: list[Any] = []
    for i in range(degree + 1):

        def rest(x: Any) -> Any:
            return (fit.f(x) - _evaluate(exact, x)) / x ** len(exact) if exact else fit.f(x)

        best, _ = least_squares(rest, lambda x, i=i: fit.weight(x) * x**i, fit.low, fit.high, degree - i)
        parts = split(best[0], name) if i < fit.pairs else (nearest(best[0], name),)
        exact.append(sum(mpf(float(part)) for part in parts))
        out.append(parts if i < fit.pairs else parts[0])
    points = _chebyshev(fit.low, fit.high, 400)
    return out, -float(mp.log(max(abs(fit.weight(x) * (_evaluate(exact, x) - fit.f(x))) for x in points), 2))


def nearest(value: Any, name: str, digits: int = 0) -> float:
    """The nearest number of the format, or of fewer digits."""
    mantissa, exponent = mp.frexp(value)
    scale = mpf(2) ** (digits or DIGITS[name])
    return float(mp.nint(mantissa * scale) / scale * mpf(2) ** exponent)


def split(value: Any, name: str, *digits: int) -> tuple[float, ...]:
    """The number as a sum of parts: the first ones of so many digits, the last as it comes."""
    parts: list[float] = []
    for count in (*(digits or (0,)), 0):
        parts.append(nearest(value - sum(map(mpf, parts)), name, count))
    return tuple(parts)


# --------------------------------------------------------------------------------------------------------------

LOG2 = mp.log(2)
SQRT2 = mp.sqrt(2)


def atanh_series(z: Any) -> Any:
    """log((1 + s) / (1 - s)) / s of z = s*s."""
    s = mp.sqrt(z)
    return 2 * mp.atanh(s) / s


def root(f: Real) -> Real:
    """f of r, as a function of z = r*r."""
    return lambda z: f(mp.sqrt(z))


def scaled_erfc(t: Any) -> Any:
    x = 3 * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def bits(double: int, single: int) -> dict[str, int]:
    return {"float64": double, "float32": single}


# fmt: off
STEP = (-LOG2 / 2 * mpf("1.001"), LOG2 / 2 * mpf("1.001"))
SQUARE = (mpf(0), STEP[1] ** 2)
HALF = (mpf("-0.5005"), mpf("0.5005"))
S = (mpf(0), ((SQRT2 - 1) / (SQRT2 + 1)) ** 2 * mpf("1.001"))
EIGHTH = (mpf(0), (mp.pi / 4 * mpf("1.002")) ** 2)
SIXTEENTH = (mpf(0), (SQRT2 - 1) ** 2 * mpf("1.001"))

FITS = {
    "EXP": ("exp(r) = 1 + r + r*r*EXP(r)", Fit(
        lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.exp(r), *STEP, bits(56, 26))),
    "EXPM1": ("expm1(r) = r + r*r*EXPM1(r)", Fit(
        lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.expm1(r), *STEP, bits(57, 28))),
    "EXP2": ("2**r = 1 + r*EXP2(r)", Fit(
        lambda r: mp.expm1(r * LOG2) / r, lambda r: r / mpf(2)**r, *HALF, bits(56, 26))),
    "LOG": ("log((1 + s) / (1 - s)) = s*(2 + z*LOG(z)), z = s*s", Fit(
        lambda z: (atanh_series(z) - 2) / z, lambda z: z / atanh_series(z), *S, bits(59, 30))),
    "LOG2": ("log2((1 + s) / (1 - s)) = s*(LOG2_FIRST + z*z*LOG2(z)), z = s*s", Fit(
        lambda z: atanh_series(z) / LOG2, lambda z: LOG2 / atanh_series(z), *S, bits(69, 37), pairs=2)),
    "SINH": ("sinh(r) = r + r*z*SINH(z), z = r*r", Fit(
        root(lambda r: (mp.sinh(r) / r - 1) / r**2), root(lambda r: r**3 / mp.sinh(r)), *SQUARE, bits(57, 28))),
    "COSH": ("cosh(r) = 1 + z/2 + z*z*COSH(z), z = r*r", Fit(
        root(lambda r: (mp.cosh(r) - 1 - r**2 / 2) / r**4), root(lambda r: r**4 / mp.cosh(r)), *SQUARE, bits(57, 28))),
    "SIN": ("sin(r) = r + r*z*SIN(z), z = r*r", Fit(
        root(lambda r: (mp.sin(r) / r - 1) / r**2), root(lambda r: r**3 / mp.sin(r)), *EIGHTH, bits(58, 29))),
    "COS": ("cos(r) = 1 - z/2 + z*z*COS(z), z = r*r", Fit(
        root(lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4), root(lambda r: r**4 / mp.cos(r)), *EIGHTH, bits(58, 29))),
    "ARCTAN": ("arctan(t) = t + t*z*ARCTAN(z), z = t*t", Fit(
        root(lambda t: (mp.atan(t) / t - 1) / t**2), root(lambda t: t**3 / mp.atan(t)), *SIXTEENTH, bits(58, 29))),
    "ERF": ("erf(x) = -expm1(-x*(ERF_FIRST + x*ERF(x)))", Fit(
        lambda x: -mp.log(mp.erfc(x)) / x, lambda x: x * mp.erfc(x) / mp.erf(x), mpf(0), mpf(6), bits(56, 28), 1)),
    "ERFC": ("erfc(x) = exp(-x*x) * (ERFC_FIRST + t*ERFC(t)) / (1 + 2*x), t = (x - 3) / (x + 3)", Fit(
        scaled_erfc, lambda t: 1 / scaled_erfc(t), mpf(-1), mpf("0.807"), bits(57, 28), 1)),
    "INVERSE_CBRT": ("m**(-1/3) = INVERSE_CBRT(m - 1), the start of Newton's steps", Fit(
        lambda f: 1 / mp.cbrt(1 + f), lambda f: mp.cbrt(1 + f), 1 / SQRT2 - 1, SQRT2 - 1, bits(17, 10))),
}
EXACT_TIMES_EXPONENT = {"float64": 42, "float32": 16}  # digits of a constant whose product with an exponent is exact
CONSTANTS = {
    "LN2": ("log(2)", lambda name: split(LOG2, name, EXACT_TIMES_EXPONENT[name])),
    "INVERSE_LN2": ("1 / log(2)", lambda name: split(1 / LOG2, name)),
    "INVERSE_LN10": ("1 / log(10)", lambda name: split(1 / mp.log(10), name)),
    "LOG10_2": ("log10(2)", lambda name: split(mp.log(2, 10), name, EXACT_TIMES_EXPONENT[name])),
    "HALF_PI": ("pi / 2", lambda name: split(mp.pi / 2, name, 0, 0, 0)),
    "THREE_QUARTERS_PI": ("3 pi / 4", lambda name: split(3 * mp.pi / 4, name)),
}
# fmt: on


def main() -> None:
    text = [
        '"""Made by benchmarks/fit_vector_math.py: constants as sums, polynomials from the lowest power up."""',
        "",
    ]
    for name, (formula, parts) in CONSTANTS.items():
        text += [f"# {formula}", f"{name} = {{"]
        text += [f"    {format!r}: {parts(format)!r}," for format in DTYPES]
        text += ["}", ""]
    for name, (formula, fit) in FITS.items():
        first, rest = [f"{name}_FIRST = {{"], [f"{name} = {{"]
        for format in DTYPES:
            coefficients, right = fitted(fit, format)
            print(f"{name} {format}: degree {len(coefficients) - 1}, {right:.1f} bits", flush=True)
            first += [f"    {format!r}: {tuple(coefficients[: fit.pairs])!r},"]
            rest += [f"    {format!r}: (  # {right:.1f} bits", *(f"        {c!r}," for c in coefficients[fit.pairs :])]
            rest += ["    ),"]
        text += [f"# {formula}", *([*first, "}"] if fit.pairs else []), *rest, "}", ""]
    TARGET.write_text("\n".join(text), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(TARGET)], check=True)


if __name__ == "__main__":
    main()
