"""The rule table is its own test: every partial, every spelling, every primitive in every frame, and the control.

partials     against extrapolated differences of what the user writes, in extended precision where NumPy has it
corners      the figures of the table where a convention decides
spellings    plain Python and compiled agree with NumPy, in value and in dtype
frames       straight line, loop, branch, branch in a loop, while, loop-carried, in place, through a view, whole arrays
control      with `keep` disabled the same programs must go wrong
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import numba
import numpy as np
import pytest
import scipy
import scipy.special
from support import from_text

from srcgrad import grad, runtime
from srcgrad.emit.expressions import expression_text
from srcgrad.ir.expressions import BOOL, FLOAT32, FLOAT64, INT64, Call, Const, Expr, Var, less, select
from srcgrad.ir.walk import variables
from srcgrad.passes import order
from srcgrad.rules import names
from srcgrad.rules.bessel import BESSEL
from srcgrad.rules.distribution_functions import DISTRIBUTIONS
from srcgrad.rules.partials import UNKNOWN, number
from srcgrad.rules.scalar import PRIMITIVES as EVERY_PRIMITIVE
from srcgrad.rules.scalar import Interval, spelling, times
from srcgrad.rules.special import SPECIAL as OTHERS
from srcgrad.runtime import scipy_special, special
from srcgrad.runtime.special import whole_power
from srcgrad.testing import check_grad, richardson

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

OF_COMPLEX = ("real", "imag", "complex", "conj", "modulus", "phase", "wofz")  # see test_complex
OF_SCIPY = OTHERS | BESSEL | DISTRIBUTIONS
SPECIAL = {op: row for op, row in OF_SCIPY.items() if op not in OF_COMPLEX}
OURS = {op: row for op, row in EVERY_PRIMITIVE.items() if not op.startswith("user.")}  # not those of other tests
PRIMITIVES = {op: row for op, row in OURS.items() if op not in OF_COMPLEX}

# fmt: off
# How a user writes each primitive.  Those whose result is no real number choose between two that are.
WRITTEN = {
    op: f"np.{function.__name__}({', '.join(['{}'] * function.nin)})"
    for op, function in names.UFUNCS.items() if names.FUNCTIONS.get(function) == op and op not in OF_SCIPY
} | {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}", "pos": "+{}",
    "floordiv": "{} // {}", "mod": "{} % {}", "pow": "{} ** {}", "abs": "abs({})",
    "max": "max({}, {})", "min": "min({}, {})", "clip_low": "np.clip({}, {}, None)",
    "clip_high": "np.clip({}, None, {})",
    "select": "({1} if {0} > 0.4 else {2})", "unless_zero": "({1} if {0} != 0 else {0} * 0)",
    "cast": "np.float64({})", "round_to": "np.round({}, 1)",
    "sinc": "np.sinc({})", "erf": "math.erf({})", "erfc": "math.erfc({})", "gamma": "math.gamma({})",
    "lgamma": "math.lgamma({})", "digamma": "scipy.special.digamma({})",
    "ieee_remainder": "math.remainder({}, {})", "ldexp": "np.ldexp({}, 2)",
    "lt": "({0} if {0} < {1} else 0.5 * {1})", "le": "({0} if {0} <= {1} else 0.5 * {1})",
    "gt": "({0} if {0} > {1} else 0.5 * {1})", "ge": "({0} if {0} >= {1} else 0.5 * {1})",
    "eq": "({0} if {0} == {1} else 0.5 * {1})", "ne": "({0} if {0} != {1} else 0.5 * {1})",
    "isnan": "(0.5 if np.isnan({0}) else 2 * {0})", "isinf": "(0.5 if np.isinf({0}) else 2 * {0})",
    "isfinite": "(2 * {0} if np.isfinite({0}) else 0.5)", "signbit": "(0.3 * {0} if np.signbit({0}) else 2 * {0})",
    "and": "({0} if {0} > 0.3 and {1} > 0.4 else 0.5 * {1})", "or": "({0} if {0} > 0.8 or {1} > 0.7 else 0.5 * {1})",
    "not": "({0} if not {0} > 0.5 else 0.5 * {0})",
    "bitand": "{0} * (int(4 * {1}) & 3)", "bitor": "{0} * (int(4 * {1}) | 3)", "bitxor": "{0} * (int(4 * {1}) ^ 3)",
    "invert": "{0} * ~int(4 * {0})", "lshift": "{0} * (int(4 * {1}) << 2)", "rshift": "{0} * (int(4 * {1}) >> 1)",
    "gcd": "{0} * math.gcd(int(4 * {1}), 6)", "lcm": "{0} * math.lcm(int(4 * {1}), 6)",
}
# met in slopes of others only, or in functions that are no single primitive
INTERNAL = ("trigamma", "sinc_slope", "per_square", "exprel_slope", "log1p_ratio_slope", "exponent", "stop_gradient",
            "steady", "follow", "wrap_low", "wrap_high",
            "eval_jacobi", "eval_genlaguerre", "eval_chebyu")
# one result of several
ONE_OF = {f"airy_{name}": f"scipy.special.airy({{}})[{k}]" for k, name in enumerate(("ai", "aip", "bi", "bip"))} | {
    f"ellipj_{name}": f"scipy.special.ellipj({{}}, {{}})[{k}]" for k, name in enumerate(("sn", "cn", "dn", "ph"))
} | {
    "fresnel_s": "scipy.special.fresnel({})[0]", "fresnel_c": "scipy.special.fresnel({})[1]",
    "si": "scipy.special.sici({})[0]", "ci": "scipy.special.sici({})[1]",
    "shi": "scipy.special.shichi({})[0]", "chi": "scipy.special.shichi({})[1]",
    "spherical_legendre": "np.real(scipy.special.sph_harm_y(2, 1, {2}, 0.0))",
}
SCALAR_ONLY = [op for op, text in WRITTEN.items() if re.search(r"\b(if|math|int|max|min|float64|abs)\b", text)]
# fmt: on


def middle(interval: Interval) -> Any:
    return 2 if interval.dtype == INT64 else round((interval.low + interval.high) / 2, 2)


def written_special(op: str) -> str:
    """How a user writes a function of SciPy's: a number stands where no derivative is known."""
    if op in ONE_OF:
        return ONE_OF[op]
    row = SPECIAL[op]
    assert row.partials
    holes = [f"{{{k}}}" if p is not UNKNOWN else str(middle(row.domain[k])) for k, p in enumerate(row.partials)]
    return f"scipy.special.{row.spelling[8 : row.spelling.index('(')]}({', '.join(holes)})"


WRITTEN_SPECIAL = {op: written_special(op) for op in SPECIAL if op not in INTERNAL}
TEXTS = WRITTEN | WRITTEN_SPECIAL
WHOLE = [op for op, row in SPECIAL.items() if row.domain[0].dtype == INT64]
WITH_SLOPE = [op for op, row in PRIMITIVES.items() if row.partials and op != "follow"]  # (which nobody writes)
REAL_RESULT = [op for op in WRITTEN if all(i.dtype == FLOAT64 for i in PRIMITIVES[op].domain) or op == "ldexp"]
LETTERS = "xyzw"


def test_every_primitive_is_written_somehow() -> None:
    assert set(WRITTEN) | set(WRITTEN_SPECIAL) | set(INTERNAL) == set(PRIMITIVES)


# ------------------------------------------------------------------------------------------ the value of an Expr


def value(expr: Expr, variables: dict[str, Any]) -> Any:
    """What the generated text of an expression evaluates to; every part must have the dtype that it claims."""
    match expr:
        case Var(name=name):
            return variables[name]
        case Const(value=number, dtype=dtype):
            return dtype.type(number)
        case Call(op="select", args=(condition, x, y)):
            return value(x if value(condition, variables) else y, variables)
        case Call(op="cast", args=(x,), dtype=dtype):
            return dtype.type(value(x, variables))
        case Call(args=args):
            result = spelled(spelling(expr), [value(arg, variables) for arg in args])
            if not any(isinstance(v, np.longdouble) for v in variables.values()):
                assert np.asarray(result).dtype == expr.dtype, f"{expr.op} gives {np.asarray(result).dtype}"
            return result
    raise AssertionError(f"not in a partial: {expr!r}")


def spelled(template: str, operands: list[Any]) -> Any:
    """The text with values in its holes, run by Python."""
    holes = {f"_{k}": operand for k, operand in enumerate(operands)}
    text = template.format(*holes) if template else "_0"
    with np.errstate(all="ignore"):
        return eval(text, {"np": np, "math": math, "scipy": scipy, **vars(runtime), "special": scipy_special}, holes)


def partials(op: str, point: tuple[Any, ...], dtype: np.dtype = FLOAT64) -> list[Any]:
    row = PRIMITIVES[op]
    types = [dtype if interval.dtype == FLOAT64 else interval.dtype for interval in row.domain]
    operands = [Var(LETTERS[k], t) for k, t in enumerate(types)]
    given = {LETTERS[k]: t.type(x) for k, (t, x) in enumerate(zip(types, point, strict=True))}
    kind = operands[-1].dtype if op == "select" or op in SPECIAL else operands[0].dtype
    given["out"] = value(Call(op, tuple(operands), kind), given)
    out = Var("out", kind)
    rules = row.partials or (None,) * len(operands)
    assert len(rules) == len(operands)
    zero = kind.type(0)
    slopes = [zero if rule in (None, UNKNOWN) else rule(*operands, out) for rule in rules]
    return [value(s, given) if isinstance(s, Expr) else kind.type(s) for s in slopes]


def points(op: str, count: int) -> list[tuple[float, ...]]:
    random = np.random.default_rng(sum(map(ord, op)))
    return [tuple(draw(interval, random) for interval in PRIMITIVES[op].domain) for _ in range(count)]


def draw(interval: Interval, random: np.random.Generator) -> Any:
    if interval.dtype == FLOAT64:
        return random.uniform(interval.low, interval.high)
    return interval.dtype.type(random.integers(interval.low, interval.high, endpoint=True))


# ------------------------------------------------------------------------------------------------------ partials


@pytest.mark.parametrize("op", [*WITH_SLOPE, "floor", "ceil", "trunc", "rint", "sign", "floordiv"])
def test_partials_are_the_slopes_of_what_the_user_writes(op: str) -> None:
    for point in points(op, 20):
        found = partials(op, point)
        for k, interval in enumerate(PRIMITIVES[op].domain):
            if interval.dtype == FLOAT64 and has_slope(op, k):
                slope, error = slope_of_written(op, point, k)
                near = 1e-9 + 4 * min(error, 1e-6)
                assert math.isclose(found[k], slope, rel_tol=1e-9, abs_tol=near), f"{op}{point}, operand {k}"


def has_slope(op: str, k: int) -> bool:
    row = PRIMITIVES[op]
    return row.partials is None or row.partials[k] is not UNKNOWN


def slope_of_written(op: str, point: tuple[Any, ...], k: int) -> tuple[float, float]:
    return richardson(lambda x: written_value(op, (*point[:k], x, *point[k + 1 :])), np.longdouble(point[k]))


def written_value(op: str, point: tuple[Any, ...]) -> Any:
    if op in ("exprel_slope", "log1p_ratio_slope"):
        x = np.longdouble(point[0])
        rises = (x * np.exp(x), np.expm1(x)) if op == "exprel_slope" else (x / (1 + x), np.log1p(x))
        return (rises[0] - rises[1]) / x**2
    if op in SPECIAL or op == "digamma":
        operands = [p if isinstance(p, np.integer) else float(p) for p in point]
        if op == "spherical_legendre":
            return np.real(scipy.special.sph_harm_y(*operands, 0.0))
        if op in ONE_OF:
            return spelled(ONE_OF[op], operands)
        return getattr(scipy.special, op.removeprefix("scipy_"))(*operands)
    if op == "trigamma":
        return scipy.special.polygamma(1, float(point[0]))
    if op == "select":
        return point[1] if point[0] else point[2]
    if op == "sinc_slope":
        u = np.longdouble("3.14159265358979323846") * point[0]
        return np.pi * (np.cos(u) - np.sin(u) / u) / u
    if op == "per_square":
        x, y = map(np.longdouble, point)
        return x / (x * x + y * y)
    if op == "ldexp":
        return point[0] * 2.0 ** point[1]
    return spelled(WRITTEN[op], [p if isinstance(p, np.generic) else np.longdouble(p) for p in point])


@pytest.mark.parametrize("op", [op for op, row in PRIMITIVES.items() if row.corners])
def test_corners(op: str) -> None:
    for point, expected in PRIMITIVES[op].corners.items():
        np.testing.assert_allclose(partials(op, point), expected, rtol=1e-14, err_msg=f"{op}{point}")


@pytest.mark.parametrize("op", [op for op in WITH_SLOPE if op not in WHOLE])  # whole and float32: float64
def test_partials_keep_float32(op: str) -> None:
    for point in points(op, 3):
        for slope, wide in zip(partials(op, point, FLOAT32), partials(op, point), strict=True):
            assert slope.dtype == FLOAT32
            assert math.isclose(slope, wide, rel_tol=2e-4, abs_tol=1e-5), f"{op}{point}"


@pytest.mark.parametrize("op", [op for op in WITH_SLOPE if not PRIMITIVES[op].singular])
def test_only_singular_primitives_have_infinite_slopes(op: str) -> None:
    edges = (0.0, -0.0, 1.0, -1.0, 710.0, -710.0, 1e30)
    for a in edges:
        for b in edges:
            domain = PRIMITIVES[op].domain
            point = [x if i.dtype == FLOAT64 else i.dtype.type(1) for x, i in zip((a, b, 1.0), domain, strict=False)]
            assert np.all(np.isfinite(partials(op, tuple(point)))), f"{op}{point}"


# fmt: off
@pytest.mark.parametrize(("exponent", "text"), [
    (0.0, "0.0"), (1.0, "1.0"), (2.0, "2.0 * x"), (3.0, "3.0 * (x * x)"), (0.5, "0.5 / out"), (-1.0, "-(out * out)"),
    (4.0, "4.0 * x ** 3"), (-2.0, "-2.0 * x ** -3"), (1.5, "1.5 * x ** 0.5"),
])
# fmt: on
def test_powers_with_a_constant_exponent_have_simple_slopes(exponent: float, text: str) -> None:
    slope = PRIMITIVES["pow"].partials[0]
    assert expression_text(slope(Var("x"), Const(exponent), Var("out"))) == text


# ------------------------------------------------------------------------------- a branch not taken counts for nothing


def test_times_goes_into_the_sides_of_a_select() -> None:
    x, g = Var("x"), Var("g")
    maximum = PRIMITIVES["maximum"].partials[0](x, Const(0.0), Var("out"))
    for cotangent in (math.inf, math.nan):
        assert value(times(g, maximum), {"x": np.float64(-1.0), "g": np.float64(cotangent)}) == 0.0
    assert times(g, select(less(x, 0.0), 1.0, Const(0.0))) == select(less(x, 0.0), g, Const(0.0))


def test_times_is_simple() -> None:
    x, g = Var("x"), Var("g", FLOAT32)
    assert times(g, 1.0) == g
    assert times(g, -1.0) == -g
    assert times(g, 0.0) == number(0, g)
    assert times(x, 1.0 / Var("y")) == x / Var("y")
    assert times(x, -(Var("out") / Var("y"))) == -(x * Var("out") / Var("y"))


# ------------------------------------------------------------------------------------------------------ spellings


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32, INT64, np.dtype(np.int32), BOOL], ids=str)
def test_spellings_agree_compiled(dtype: np.dtype) -> None:
    """One function with every primitive that takes this dtype: plain Python and Numba agree, in dtype too."""
    operands = [Var(letter, dtype) for letter in LETTERS[:3]]
    calls = {op: text for op in PRIMITIVES if (text := _spelled_call(op, operands, dtype)) is not None}
    lines = [f"    {op}_ = {text}" for op, text in calls.items()]
    returned = ", ".join(f"{op}_" for op in calls)
    helpers = f"from srcgrad.runtime import scipy_special as special, {', '.join(runtime.__all__)}"
    text = f"import numpy as np\n{helpers}\n\n\ndef f(x, y, z):\n" + "\n".join([*lines, f"    return {returned}\n"])
    f = from_text(text, "f")
    compiled = numba.njit(error_model="numpy")(f)
    for point in ((0.5, 0.25, 1.5), (0.75, 2.0, -1.0), (1.0, 1.0, 1.0), (3.0, 2.0, 2.0), (0.0, 3.0, 0.0)):
        args = [dtype.type(x) for x in point]
        with np.errstate(all="ignore"):
            expected, found = f(*args), compiled(*args)
        types = compiled.overloads[compiled.signatures[0]].signature.return_type
        for op, want, got, kind in zip(calls, expected, found, types, strict=True):
            np.testing.assert_allclose(
                np.float64(got), np.float64(want), rtol=1e-14 if dtype != FLOAT32 else 1e-5, err_msg=f"{op}{point}"
            )
            if dtype.kind == "f":
                assert str(kind) == ("bool" if np.asarray(want).dtype == BOOL else dtype.name), op


def _spelled_call(op: str, operands: list[Var], dtype: np.dtype) -> str | None:
    """The text of a primitive on operands of one dtype; None where it does not take that dtype."""
    intervals = PRIMITIVES[op].domain
    if op in ("cast", "exponent", "gamma", "lgamma"):  # the emitter's own; an integer; errors at poles
        return None
    if len(intervals) > len(operands):
        return None
    ufunc = names.UFUNCS.get(op)
    if dtype.kind != "f":
        if ufunc is None:
            return None
        try:
            loop = ufunc.resolve_dtypes((dtype,) * ufunc.nin + (None,))
        except TypeError:
            return None
        if any(t != dtype for t in loop[:-1]) or (op in ("and", "or", "not") and dtype != BOOL):
            return None
    elif any(i.dtype == INT64 for i in intervals) and op not in ("ldexp", "round_to"):
        return None
    args = [
        x if i.dtype == FLOAT64 or dtype.kind != "f" else Const(2, INT64) if i.dtype == INT64 else less(x, 0.6)
        for x, i in zip(operands, intervals, strict=False)
    ]
    texts = [f"({spelling(a).format('x', repr(0.6))})" if isinstance(a, Call) else _plain(a) for a in args]
    return spelling(Call(op, tuple(args), dtype)).format(*texts)


def _plain(expr: Expr) -> str:
    return str(expr.value) if isinstance(expr, Const) else expr.name  # type: ignore[attr-defined]


@pytest.mark.parametrize("function", [
        *(function for function, op in names.FUNCTIONS.items() if op not in OF_COMPLEX), *names.MATH, *names.WHOLE_MATH
    ], ids=lambda f: f.__name__)
def test_functions_are_the_primitives_they_are_said_to_be(function: Any) -> None:
    op = {**names.FUNCTIONS, **names.MATH, **names.WHOLE_MATH}[function]
    row = PRIMITIVES[op]
    for point in points(op, 10):
        cast = names.OPERAND_DTYPES.get(function)
        operands = [i.dtype.type(x) if cast is None else cast.type(x) for i, x in zip(row.domain, point, strict=True)]
        types = [Var(LETTERS[k], np.asarray(o).dtype) for k, o in enumerate(operands)]
        got = spelled(spelling(Call(op, tuple(types), FLOAT64)), operands)
        plain = [o.item() for o in operands] if function in names.MATH or function in names.WHOLE_MATH else operands
        np.testing.assert_allclose(np.float64(got), np.float64(function(*plain)), rtol=1e-13, err_msg=f"{operands}")


@pytest.mark.parametrize("op", [op for op in names.UFUNCS if op in WITH_SLOPE])
def test_constants_fold_to_the_value_of_the_primitive(op: str) -> None:
    row = PRIMITIVES[op]
    operands = [Var(LETTERS[k], i.dtype) for k, i in enumerate(row.domain)]
    for point in points(op, 3):
        given = [i.dtype.type(x) for i, x in zip(row.domain, point, strict=True)]
        want = value(Call(op, tuple(operands), FLOAT64), dict(zip(LETTERS, given, strict=False)))
        assert math.isclose(names.UFUNCS[op](*given), want, rel_tol=1e-13)


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.int64, np.float32, np.float64, float, int])
def test_functions_that_are_no_ufuncs_have_numpys_dtypes(dtype: type) -> None:
    kind = dtype if dtype in (float, int) else np.dtype(dtype)
    assert names.UFUNCS["sinc"].resolve_dtypes((kind, None))[-1] == np.sinc(np.ones(2, dtype)).dtype


# fmt: off
@pytest.mark.parametrize(("op", "function"), [
    ("fmod", np.fmod), ("lshift", np.left_shift), ("rshift", np.right_shift), ("floordiv", np.floor_divide),
    ("mod", np.remainder), ("bitxor", np.bitwise_xor), ("gcd", np.gcd),
])
# fmt: on
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8])
def test_integers_are_numpys(op: str, function: np.ufunc, dtype: type) -> None:
    types = (Var("x", np.dtype(dtype)), Var("y", np.dtype(dtype)))
    compiled = numba.njit(error_model="numpy")(_function(spelling(Call(op, types, np.dtype(dtype)))))
    for a in (0, 1, 2, 7, 100, -1, -2, -7, -100):
        for b in (0, 1, 3, 7, 100, -1, -3):
            if min(a, b) < 0 and dtype is np.uint8:
                continue
            x, y = dtype(a), dtype(b)
            with np.errstate(all="ignore"):
                want = function(x, y)
                assert dtype(compiled.py_func(x, y)) == want, (a, b)
                assert np.array(compiled(x, y)).astype(dtype) == want, (a, b)


def _function(template: str) -> Any:
    helpers = f"from srcgrad.runtime import scipy_special as special, {', '.join(runtime.__all__)}"
    return from_text(f"import numpy as np\n{helpers}\n\n\ndef f(x, y):\n    return {template.format('x', 'y')}\n", "f")


def test_a_negative_integer_power_is_refused_as_by_numpy() -> None:
    types = (Var("x", INT64), Var("y", INT64))
    compiled = numba.njit(_function(spelling(Call("pow", types, INT64))))
    for f in (compiled, compiled.py_func):
        assert f(np.int64(3), np.int64(4)) == 81
        with pytest.raises(ValueError, match="negative integer powers"):
            f(np.int64(3), np.int64(-1))
    assert spelling(Call("pow", (types[0], Const(2, INT64)), INT64)) == "{} ** {}"  # nothing to guard against


# fmt: off
@pytest.mark.parametrize(("function", "reference"), [
    (special.digamma, scipy.special.digamma), (special.trigamma, lambda x: scipy.special.polygamma(1, x)),
    (runtime.erf, scipy.special.erf), (runtime.erfc, scipy.special.erfc), (special.log_gamma, scipy.special.gammaln),
    (special.gamma_function, scipy.special.gamma), (special.error_function, scipy.special.erf),
    (special.complementary_error_function, scipy.special.erfc),
])
# fmt: on
def test_special_functions(function: Any, reference: Any) -> None:
    compiled = numba.njit(_one_argument(function.__name__))
    for x in (1e-8, 0.1, 0.5, 1.0, 1.4616, 2.0, 3.7, 7.99, 8.0, 25.0, -0.5, -1.25, -7.75, -1e-30, -1.0 - 2e-15):
        if function is special.trigamma and x < 0:
            want = (math.pi / math.sin(math.pi * (x - round(x)))) ** 2 - reference(1 - x)  # scipy has none here
        else:
            want = reference(x)
        assert math.isclose(function(np.float64(x)), want, rel_tol=1e-12, abs_tol=1e-13), x
        assert math.isclose(compiled(x), want, rel_tol=1e-12, abs_tol=1e-13), x
        assert isinstance(function(np.float32(1.5)), np.float32)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_whole_powers(kind: Any) -> None:
    """Of few factors a product; at the edges, and of many, the C library's."""
    compiled = numba.njit(lambda x, k: whole_power(x, k))
    numbers = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 1.1, 1e30, 1e-30, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 1e-150]
    exponents = [*range(-66, 67), 1000, -1001, 2**62, -(2**63)]
    tolerance = 64 * np.finfo(np.float64 if kind is float else kind).eps
    with np.errstate(all="ignore"):
        for x in map(kind, numbers):
            for k in exponents:
                ours, want = whole_power(x, k), kind(np.float64(x) ** np.float64(k))
                assert type(ours) is kind
                np.testing.assert_allclose(ours, want, rtol=tolerance)
                assert np.signbit(ours) == np.signbit(want) or np.isnan(want)
                np.testing.assert_equal(compiled(x, k), ours)


def _one_argument(name: str) -> Any:
    return from_text(f"from srcgrad.runtime import {name}\n\n\ndef f(x):\n    return {name}(x)\n", "f")


# fmt: off
@pytest.mark.parametrize(("function", "point", "want"), [
    (special.digamma, (0.0,), -math.inf), (special.digamma, (-0.0,), math.inf), (special.digamma, (-1.0,), math.nan),
    (special.digamma, (math.inf,), math.inf), (special.trigamma, (0.0,), math.inf),
    (special.trigamma, (-2.0,), math.inf), (special.trigamma, (math.inf,), 0.0),
    (special.digamma, (math.nan,), math.nan), (special.sinc, (0.0,), 1.0), (special.sinc_slope, (0.0,), 0.0),
    (special.heaviside, (math.nan, 0.5), math.nan), (special.heaviside, (0.0, 0.5), 0.5),
    (special.ieee_remainder, (5.0, 2.0), 1.0), (special.ieee_remainder, (3.0, 2.0), -1.0),
    (special.ieee_remainder, (-3.0, 2.0), 1.0), (special.ieee_remainder, (2.5, math.inf), 2.5),
    (special.round_to, (2.675, 2), 2.68), (special.round_to, (1234.0, -2), 1200.0),
])
# fmt: on
def test_special_functions_at_their_edges(function: Any, point: tuple[float, ...], want: float) -> None:
    operands = [np.float64(x) if isinstance(x, float) else x for x in point]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(function(*operands), want, rtol=1e-15)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", ["beta", "poch", "zeta"])
def test_special_functions_of_reals_and_integers(name: str, jit: bool) -> None:
    """They compute in SciPy's dtype, whichever operand is the integer."""
    function = getattr(scipy.special, name)
    f = grad(from_text(f"import scipy.special\n\ndef f(x, y):\n    return scipy.special.{name}(x, y)\n", "f"), jit=jit)
    x, k, small = np.array([1.25, 2.5]), np.array([1, 2]), np.array([1, 2], np.uint8)
    for operands in (x, k), (k, x), (x.astype(np.float32), k), (x.astype(np.float32), small), (small, small), (1.25, 2):
        got, want = f(*operands), function(*operands)
        assert np.asarray(got).dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6 if want.dtype == np.float32 else 1e-12)


def test_the_slope_of_sinc_does_not_cancel() -> None:
    for x in (1e-9, 1e-5, 1e-3, 0.1, 0.159, 0.16, 0.5):
        u = math.pi * x
        series = math.fsum((-1) ** k * 2 * k * u ** (2 * k - 1) / math.factorial(2 * k + 1) for k in range(1, 12))
        assert math.isclose(special.sinc_slope(x), math.pi * series, rel_tol=5e-14), x


# --------------------------------------------------------------------------------------------------------- frames

# Every program works on x and y in (-1, 1).  E(a, b) brings its operands into the primitive's domain and the result
# back into (-1, 1), by linear maps only: so nothing but the primitive itself needs a value kept.
FRAMES = {
    "straight": """
        a = 0.5 * x[0] + 0.5 * x[1]
        b = y[1]
        a = E(a, b)
        b = 0.5 * a + 0.5 * b
        a = E(a, b)
        return a
    """,
    "loop": """
        s = 0.0
        for i in range(x.shape[0]):
            a = 0.9 * x[i]
            t = E(a, y[i])
            s += (i + 1.0) * t
        return s
    """,
    "branch": """
        a = x[0]
        if a > y[0]:
            a = E(a, y[1])
        else:
            a = -E(0.5 * a, y[2])
        if a < 2.0:
            a = E(a, y[3])
        return a
    """,
    "branch_in_loop": """
        s = 0.0
        for i in range(x.shape[0]):
            a = 0.5 * x[i] + 0.4 * y[i]
            if x[i] > y[i]:
                a = E(a, y[i])
                s += 2.0 * a
            else:
                a = -E(0.5 * a, x[i])
                s -= a
        return s
    """,
    "while": """
        a = x[0]
        k = 0
        while k < 4 and a < 9.0:
            a = E(0.8 * a, y[k])
            k += 1
        return a
    """,
    "counted": """
        a = x[0]
        k = 0
        while k < 4:
            a = E(0.8 * a, y[k])
            k += 1
        return a
    """,
    "carried": """
        a = x[0]
        b = 0.3 * y[0]
        for i in range(x.shape[0]):
            a = E(0.5 * a + 0.5 * x[i], b)
            b = 0.5 * b + 0.5 * y[i]
        return a + b
    """,
    "in_place": """
        u = x.copy()
        for i in range(1, u.shape[0]):
            u[i] = E(0.5 * u[i] + 0.5 * u[i - 1], y[i])
        for i in range(u.shape[0]):
            u[i] = E(u[i], y[i])
        return u
    """,
    "written_argument": """
        for i in range(x.shape[0]):
            x[i] = E(x[i], y[i])
        for i in range(1, x.shape[0]):
            x[i] = E(0.5 * x[i] - 0.5 * x[i - 1], y[i])
    """,
    "view": """
        u = x.copy()
        w = u[1:]
        for i in range(w.shape[0]):
            w[i] = E(0.5 * w[i] + 0.5 * u[i], y[i])
        u[0] = E(w[0], y[0])
        return u
    """,
}
ARRAYS = {
    "array": """
        return E(x, y)
    """,
    "array_twice": """
        u = E(x, y)
        u[1:] = E(0.5 * u[1:] + 0.5 * x[:-1], y[1:])
        u = E(u, y)
        return u
    """,
}
OVERWRITING = ("loop", "branch_in_loop", "while", "carried", "in_place", "view")


def read_by_slopes(op: str) -> tuple[Any, ...]:
    """Which operands there are, which of them and of the result its slopes read, and how it may be written.

    Primitives that have this in common go the same way through every frame, whatever they compute.
    """
    row = PRIMITIVES[op]
    operands = [Var(LETTERS[k], i.dtype) for k, i in enumerate(row.domain)]
    out = Var("out", operands[-1 if op == "select" else 0].dtype)
    slopes = [rule(*operands, out) for rule in row.partials or () if rule not in (None, UNKNOWN)]
    read = {v.name for slope in slopes if isinstance(slope, Expr) for v in variables(slope)}
    return len(operands), frozenset(read), bool(row.partials), op in SCALAR_ONLY


ALIKE = [read_by_slopes(op) for op in WRITTEN]
FRAMES_OF = [  # each primitive in every second of its frames, by turns; in every fourth where four or more are alike
    (op, f)
    for i, op in enumerate(WRITTEN)
    for j, f in enumerate(FRAMES if op in SCALAR_ONLY else {**FRAMES, **ARRAYS})
    if ((ALIKE[:i].count(ALIKE[i]) + j) % 4 == 0 if ALIKE.count(ALIKE[i]) >= 4 else (i + j) % 2)
]
FRAMES_OF += [(op, "branch_in_loop") for op in WRITTEN_SPECIAL]  # the frames do not look into a row


HEAD = "import math\n\nimport numpy as np\nimport scipy.special\n\n\ndef f(x, y):\n"


def program(op: str, frame: str) -> str:
    """The text of f(x, y): a frame with the primitive in it."""
    body = {**FRAMES, **ARRAYS}[frame]
    return HEAD + re.sub(r"^ {4}", "", with_primitive(body, op), flags=re.M)


def with_primitive(body: str, op: str) -> str:
    """E(a, b) replaced by the primitive on operands scaled into its domain."""
    pattern = re.compile(r"E\(((?:[^(),]|\[[^\]]*\])*), ([^()]*?)\)")
    return pattern.sub(lambda match: scaled(op, match[1], match[2]), body).strip("\n").rstrip() + "\n"


def scaled(op: str, *operands: str) -> str:
    inner = [f"({middle} + {half} * ({o}))" for o, (middle, half) in zip(operands * 2, maps(op), strict=False)]
    middle, half = result_map(op)
    holes = max([int(k) + 1 for k in re.findall(r"\{(\d)\}", TEXTS[op])], default=TEXTS[op].count("{}"))
    return f"({TEXTS[op].format(*inner[:holes])} - {middle}) / {half}"


def maps(op: str) -> list[tuple[float, float]]:
    """The linear map from (-1, 1) into each operand's domain; a condition or a whole number is made from a real one."""
    intervals = [i if i.dtype == FLOAT64 else Interval(-1.0, 1.0) for i in PRIMITIVES[op].domain]
    return [(round((i.low + i.high) / 2, 4), round((i.high - i.low) / 2, 4)) for i in intervals + [Interval(-1, 1)] * 2]


@cache
def result_map(op: str) -> tuple[float, float]:
    """The linear map of the results to (-1, 1)."""
    grid = np.linspace(-1, 1, 21)
    places = [(a, b, a * b, a) for a in grid for b in grid]
    scaled = [[np.float64(m + h * t) for (m, h), t in zip(maps(op), place)] for place in places]
    results = [float(spelled(TEXTS[op], operands)) for operands in scaled]
    low, high = min(results), max(results)
    return round((low + high) / 2, 3) + 0.0, max(round((high - low) / 2 * 1.05, 3), 0.1)


X = np.array([0.31, -0.72, 0.57, -0.13, 0.87])
Y = np.array([-0.44, 0.63, 0.21, -0.81, 0.38])


@pytest.mark.parametrize(("op", "frame"), FRAMES_OF)
def test_every_primitive_in_every_frame(op: str, frame: str) -> None:
    from srcgrad import grad

    f = grad(jit=False)(from_text(program(op, frame), "f"))
    outputs = ("x",) if frame == "written_argument" else None
    check_grad(f, X.copy(), Y.copy(), outputs=outputs)


@pytest.mark.parametrize("op", WRITTEN)
def test_every_primitive_keeps_float32(op: str) -> None:
    from srcgrad import grad

    frame = ("branch_in_loop", "in_place")[[*WRITTEN].index(op) % 2]  # by turns
    f = grad(jit=False)(from_text(program(op, frame), "f"))
    check_grad(f, X.astype(np.float32), Y.astype(np.float32))  # the cotangents' dtype is checked too


# --------------------------------------------------------------------------------------------- the negative control


def is_nonlinear(op: str) -> bool:
    """Its slopes are not the same everywhere, so that a value has to be kept for them."""
    if op not in WITH_SLOPE or op == "ldexp":  # a whole exponent is no value of the sweep's
        return False
    slopes = [partials(op, point) for point in points(op, 8)]
    return bool(np.any(np.ptp(np.array(slopes), axis=0) > 0))


@pytest.mark.parametrize("op", [op for op in WRITTEN if is_nonlinear(op)][::2])
def test_without_keep_the_frames_go_wrong(op: str) -> None:
    from srcgrad import grad

    wrong = set()
    with order.without("keep"):
        for frame in OVERWRITING:
            f = grad(jit=False, cache=False)(from_text(program(op, frame), "f"))
            for x, y in ((X, Y), (Y, X), (-Y, X[::-1])):  # the last choice may be the one of all iterations
                try:
                    check_grad(f, x.copy(), y.copy())
                except AssertionError:
                    wrong.add(frame)
                    break
            if "loop" in wrong and len(wrong) > 1:
                break
    assert "loop" in wrong and len(wrong) > 1, f"without keep, only {wrong} go wrong"


# ------------------------------------------------------------------------------------------------------- compiled

# fmt: off
FAMILIES = {
    "arithmetic": "add sub mul div neg pos mod fmod ieee_remainder pow square reciprocal abs copysign hypot",
    "choices": "maximum minimum fmax fmin max min clip_low clip_high select unless_zero heaviside sign",
    "powers": "sqrt cbrt exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2",
    "angles": "sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg sinc",
    "special": "erf erfc gamma lgamma digamma ldexp round_to floor ceil trunc rint floordiv cast nextafter spacing",
    "questions": "lt le gt ge eq ne isnan isinf isfinite signbit and or not",
    "integers": "bitand bitor bitxor invert lshift rshift gcd lcm",
}
# fmt: on

MANY = """
    a = x[0]
    for i in range(4):
        if y[i] > 0.0:
            a = E(0.5 * a + 0.5 * x[i], y[i])
        else:
            w[i] = E(0.5 * u[i] + 0.5 * a, y[i])
            a = 0.5 * w[i]
    out[{k}] = a + u[{k} % 3]
"""


def test_families_hold_every_primitive() -> None:
    assert sorted(" ".join(FAMILIES.values()).split()) == sorted(WRITTEN)


@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_families(family: str) -> None:
    """Branch in a loop, loop-carried, in place through a view, for each primitive, in one compiled module."""
    from srcgrad import grad

    ops = FAMILIES[family].split()
    bodies = "".join(with_primitive(MANY.replace("{k}", str(k)), op) for k, op in enumerate(ops))
    text = f"{HEAD}    out = np.zeros({len(ops)})\n    u = x.copy()\n    w = u[1:]\n{bodies}    return out\n"
    check_grad(grad(from_text(text, "f")), X.copy(), Y.copy())
