"""How primitives are said in a kernel: as functions that the device has, or in terms of other primitives.

"exp": "exp({})"        a function of `runtime.device_math`
"square": x * x         there is none: arithmetic of the same operands

A primitive that is in neither table does not run on a GPU.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable

from ..ir.expressions import BOOL, INT64, Call, Const, Expr, both, call, compare, either, is_inexact, less, select
from ..ir.naturals import remainder
from . import scalar
from .partials import number
from .scalar import PRIMITIVES

BITS = 64  # of an integer
SHIFTS = {"lshift": "{} << {}", "rshift": "{} >> {}"}
MOST_FACTORS = 16  # of a product that is a power of an integer

# Operators, and what Numba spells alike for both targets.
AS_EVER = (
    "add", "sub", "mul", "div", "neg", "pos", "floordiv", "mod", "abs", "max", "min", "select", "cast",
    "stop_gradient", "steady", "follow", "wrap_low", "wrap_high",
    "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "bitand", "bitor", "bitxor", "invert",
)  # fmt: skip

FUNCTIONS = {
    "sqrt": "sqrt", "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "hypot": "hypot", "copysign": "copysign", "fmod": "fmod", "erf": "erf", "erfc": "erfc",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
}  # fmt: skip

# Of double precision alone: the result is rounded to what it is of.
WIDE = {
    "cbrt": "cbrt", "exp2": "exp2", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
    "gamma": "tgamma", "scipy_gamma": "tgamma", "lgamma": "lgamma",
    "gammaln": "lgamma", "erfinv": "erfinv", "erfcinv": "erfcinv", "erfcx": "erfcx", "ndtr": "normcdf",
    "ndtri": "normcdfinv", "j0": "j0", "j1": "j1", "y0": "y0", "y1": "y1",
}  # fmt: skip


def _is_nan(x: Expr) -> Expr:
    return compare("ne", x, x)


def _of_two(x: Expr, y: Expr, wins: Expr) -> Expr:
    """The winner, or whichever is nan."""
    return select(either(wins, _is_nan(x)), x, y)


def _largest(x: Expr, y: Expr) -> Expr:
    if is_inexact(x.dtype):
        return _of_two(x, y, less(y, x))
    return either(x, y) if x.dtype == BOOL else Call("max", (x, y), x.dtype)  # a length is said once, and not twice


def _smallest(x: Expr, y: Expr) -> Expr:
    if is_inexact(x.dtype):
        return _of_two(x, y, less(x, y))
    return both(x, y) if x.dtype == BOOL else Call("min", (x, y), x.dtype)


def _pythons(op: str) -> Callable[[Expr, Expr], Expr]:
    """The first, unless the second is really greater, or less: a nan is neither.  (CUDA's own drops it.)"""

    def pythons(x: Expr, y: Expr) -> Expr:
        if not is_inexact(x.dtype):
            return Call(op, (x, y), x.dtype)
        return select(less(x, y) if op == "max" else less(y, x), y, x)

    return pythons


def _of_numbers(op: str) -> Callable[[Expr, Expr], Expr]:
    """The winner, or whichever is not nan."""

    def of_numbers(x: Expr, y: Expr) -> Expr:
        if not is_inexact(x.dtype):
            return (_largest if op == "fmax" else _smallest)(x, y)
        return select(either(less(y, x) if op == "fmax" else less(x, y), _is_nan(y)), x, y)

    return of_numbers


def _sign(x: Expr) -> Expr:
    zero, one = number_of(x, 0), number_of(x, 1)
    return select(less(zero, x), one, select(less(x, zero), number_of(x, -1), x))


def number_of(x: Expr, value: int) -> Expr:
    """A constant of the dtype of x."""
    return number(value, x) if is_inexact(x.dtype) else Const(value, x.dtype)


def _trip_count(start: Expr, stop: Expr, step: Expr) -> Expr:
    """len(range(start, stop, step))"""
    one = Const(1, start.dtype)
    upwards = Call("floordiv", (stop - start + step - one, step), start.dtype)
    downwards = Call("floordiv", (start - stop - step - one, -step), start.dtype)
    count = select(less(Const(0, start.dtype), step), upwards, downwards)
    return select(less(count, 0), Const(0, start.dtype), count)


def _expit(x: Expr) -> Expr:
    return 1.0 / (1.0 + call("exp", -x))


def _log_sum(x: Expr, y: Expr, exp: str, log1p: Callable[[Expr], Expr]) -> Expr:
    """log(exp(x) + exp(y)), by the larger one: nothing overflows."""
    low, high = select(less(x, y), x, y), select(less(x, y), y, x)
    return select(compare("eq", x, y), x + log1p(number(1.0, x)), high + log1p(call(exp, low - high)))


def _per_square(x: Expr, y: Expr) -> Expr:
    is_larger = less(call("abs", y), call("abs", x))
    larger, smaller = select(is_larger, x, y), select(is_larger, y, x)
    ratio = smaller / larger
    return select(is_larger, number(1.0, x), ratio) / (larger * (1.0 + ratio * ratio))


def _sinc(x: Expr) -> Expr:
    u = math.pi * x
    return select(compare("eq", x, 0.0), number(1.0, x), call("sin", u) / u)


def _sinc_slope(x: Expr) -> Expr:
    u = math.pi * x
    t = u * u
    series = 1.0 - t * (1 / 10 - t * (1 / 280 - t * (1 / 15120 - t * (1 / 1330560 - t / 172972800.0))))
    exact = math.pi * (call("cos", u) - call("sin", u) / u) / u
    return select(less(t, 0.25), -math.pi / 3 * u * series, exact)


def _unless_zero(x: Expr, y: Expr, value: Expr) -> Expr:
    """`value`, but 0 where x is 0 (and y is a number)."""
    counts = either(compare("ne", x, 0.0), _is_nan(y))
    return select(counts, value, number(0.0, x))


def _power(x: Expr, y: Expr) -> Expr:
    """By multiplications, where there are few: the device's own takes fifty times as long."""
    exponent = y.value if isinstance(y, Const) else None
    match exponent:
        case 2:
            return x * x
        case 3:
            return x * x * x
        case 4:
            return (x * x) * (x * x)
        case -1 if is_inexact(x.dtype):
            return 1.0 / x
        case int() if not is_inexact(x.dtype) and 0 <= exponent <= MOST_FACTORS:
            return functools.reduce(operator.mul, [x] * exponent) if exponent else number_of(x, 1)
    return Call("pow", (x, y), x.dtype)


def _mod(x: Expr, y: Expr) -> Expr:
    """The remainder with the sign of y.  By fmod, which is exact: the device's own subtracts a rounded quotient."""
    if not is_inexact(x.dtype):
        return Call("mod", (x, y), x.dtype)
    return call("copysign", call("fmod", x, y) + _where_it_goes_down(x, y, y), y)


def _floordiv(x: Expr, y: Expr) -> Expr:
    """As NumPy does it: without what fmod leaves, x is a multiple of y, up to rounding."""
    if not is_inexact(x.dtype):
        return Call("floordiv", (x, y), x.dtype)
    down = (x - call("fmod", x, y)) / y - _where_it_goes_down(x, y, number(1.0, x))
    return select(compare("eq", y, 0.0), x / y, call("copysign", call("rint", down), x / y))


def _where_it_goes_down(x: Expr, y: Expr, value: Expr) -> Expr:
    """The value, where x / y is negative and no integer: there fmod has gone up, to zero."""
    one_sign = Call("eq", (less(x, 0.0), less(y, 0.0)), BOOL)
    return select(either(one_sign, compare("eq", call("fmod", x, y), 0.0)), number(0.0, x), value)


def _shift(op: str) -> Callable[[Expr, Expr], Expr]:
    """By what is not a number of bits nothing of x is left, but its sign."""

    def shift(x: Expr, n: Expr) -> Expr:
        parts = remainder(n)
        is_short = 0 <= n.value < BITS if isinstance(n, Const) else parts is not None and parts[1] <= BITS
        if x.dtype != INT64 or is_short:
            return Call(op, (x, n), x.dtype)
        shifted = Call(op, (x, Call("bitand", (n, number_of(n, BITS - 1)), n.dtype)), x.dtype)
        rest = number_of(x, 0) if op == "lshift" else select(less(x, 0), number_of(x, -1), number_of(x, 0))
        return select(both(less(-1, n), less(n, BITS)), shifted, rest)

    return shift


INSTEAD: dict[str, Callable[..., Expr]] = {
    "square": lambda x: x * x,
    "pow": _power,
    "mod": _mod,
    "floordiv": _floordiv,
    "reciprocal": lambda x: number_of(x, 1) / x,
    "sign": _sign,
    "maximum": _largest,
    "minimum": _smallest,
    "max": _pythons("max"),
    "min": _pythons("min"),
    "clip_low": _largest,
    "clip_high": _smallest,
    "fmax": _of_numbers("fmax"),
    "fmin": _of_numbers("fmin"),
    "heaviside": lambda x, h: select(less(x, 0.0), number(0.0, x), select(less(0.0, x), number(1.0, x),
                                     select(compare("eq", x, 0.0), h, x))),
    "trip_count": _trip_count,
    "lshift": _shift("lshift"),
    "rshift": _shift("rshift"),
    "deg2rad": lambda x: x * (math.pi / 180),
    "rad2deg": lambda x: x * (180 / math.pi),
    "logaddexp": lambda x, y: _log_sum(x, y, "exp", lambda r: call("log1p", r)),
    "logaddexp2": lambda x, y: _log_sum(x, y, "exp2", lambda r: call("log1p", r) * (1 / math.log(2))),
    "per_square": _per_square,
    "sinc": _sinc,
    "sinc_slope": _sinc_slope,
    "expit": _expit,
    "log_expit": lambda x: select(less(x, 0.0), x - call("log1p", call("exp", x)), -call("log1p", call("exp", -x))),
    "logit": lambda x: call("log", x / (1.0 - x)),
    "xlogy": lambda x, y: _unless_zero(x, y, x * call("log", y)),
    "xlog1py": lambda x, y: _unless_zero(x, y, x * call("log1p", y)),
    "signbit": lambda x: less(call("copysign", number(1.0, x), x), 0.0) if is_inexact(x.dtype) else less(x, 0),
}  # fmt: skip


OF_WHOLE_NUMBERS = {"maximum": "max", "minimum": "min"}  # lengths that are put in order where they are printed


def spelling(expr: Call) -> str | None:
    """The text of a primitive on a device; None where it has none."""
    op = expr.op
    of = expr.args[0].dtype if expr.args else expr.dtype
    if op in OF_WHOLE_NUMBERS and of.kind in "iu":
        return f"{OF_WHOLE_NUMBERS[op]}({{}}, {{}})"
    row = PRIMITIVES.get(op)
    own = "" if row is None else row.boolean if of.kind == "b" else row.integer if of.kind in "iu" else ""
    if own:
        return own if "(" not in own else None
    if op == "pow":
        return "{} ** {}"
    if op in SHIFTS and expr.dtype == INT64:  # by less than there are bits: `_shift`
        return SHIFTS[op]
    if op in SHIFTS:
        text = scalar.spelling(expr)
        return None if "(" in text else text
    if op in AS_EVER and row is not None:
        return row.spelling
    places = ", ".join(["{}"] * len(expr.args))
    if op in FUNCTIONS:
        return f"{FUNCTIONS[op]}({places})"
    if op in WIDE:
        return f"np.float32({WIDE[op]}({places}))" if expr.dtype.itemsize == 4 else f"{WIDE[op]}({places})"
    return None


OF_TWO_RESULTS = ("sincos", "sincosf")
NAMES = tuple(dict.fromkeys((*FUNCTIONS.values(), *WIDE.values(), *OF_TWO_RESULTS)))  # what `runtime.device_math` has
HOST_NAMES = (
    "cell",
    "copied",
    "empty",
    "fetch",
    "finish",
    "kernel",
    "new_status",
    "own",
    "put",
    "room",
    "scratch",
    "stack",
    "zeros",
    "zeros_together",
)  # what `runtime.device` has
ARRAY_NAMES = (
    "absorb",
    "conform",
    "conform_zeros",
    "keep_array",
    "kept_array",
    "reshaped",
    "subscript",
    "transposed",
    "with_split_axis",
)  # what `runtime.device_arrays` has
LIBRARY = (
    *(f"{add}matmul{turned}" for add in ("", "add_") for turned in ("", "_nt", "_tn", "_tt")),
    *(f"{add}{name}" for add in ("", "add_") for name in ("matvec", "matvec_t", "outer")),
    "solve", "solve_to_matrix", "solve_to_right", "solve_adjoint",
    "solve_again_to_matrix", "solve_again_to_right", "solve_again_adjoint",
    "solve_triangular", "triangular_to_matrix", "triangular_to_right", "triangular_adjoint",
    "inv", "inv_adjoint", "det", "det_adjoint", "slogdet", "slogdet_adjoint",
    "cholesky", "cholesky_adjoint", "mirror", "mirror_adjoint", "find_nonzero", "search_left", "search_right",
)  # fmt: skip  # routines on whole arrays that a device has: `runtime.device_library`
IN_KERNELS = (
    "cuda", "numba", "thread", "member", "is_last", "blocks_done", "half", "status", "block_sums", "place",
    "lane", "row", "turn", "by_rows", "resident",
)  # fmt: skip
RESERVED = frozenset((*NAMES, *HOST_NAMES, *ARRAY_NAMES, *IN_KERNELS))

__all__ = ["ARRAY_NAMES", "HOST_NAMES", "INSTEAD", "LIBRARY", "NAMES", "RESERVED", "spelling"]
