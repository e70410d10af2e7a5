"""What instructions without memory compute, on arrays: one number for each thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import vectorize
from numba.core import types
from numba.extending import intrinsic

from .ptx import Unknown

DTYPES = {
    **{f"{kind}{bits}": np.dtype(f"{name}{bits // 8}") for bits in (8, 16, 32, 64) for kind, name in zip("bsu", "uiu")},
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "pred": np.dtype(bool),
}  # fmt: skip


@intrinsic
def _fused(context, a, b, c):
    return a(a, b, c), lambda context, builder, signature, args: builder.fma(*args)


@vectorize([types.float32(types.float32, types.float32, types.float32), "f8(f8, f8, f8)"], cache=True)
def fma(a, b, c):
    return _fused(a, b, c)


def high(a: Any, b: Any) -> Any:
    """The upper half of a product."""
    bits = 8 * a.dtype.itemsize
    if bits == 32:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return (a.astype(wide) * b.astype(wide) >> np.array(32, wide)).astype(a.dtype)
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    low_x, high_x, low_y, high_y = x & mask, x >> half, y & mask, y >> half
    middle = high_x * low_y + (low_x * low_y >> half)
    other = low_x * high_y + (middle & mask)
    upper = high_x * high_y + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        upper = upper - np.where(a < 0, y, 0).astype(np.uint64) - np.where(b < 0, x, 0).astype(np.uint64)
    return upper.astype(a.dtype)


def wide(a: Any, b: Any) -> Any:
    larger = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
    return a.astype(larger) * b.astype(larger)


def quotient(a: Any, b: Any) -> Any:
    """Towards zero, as processors divide."""
    if a.dtype.kind != "i":
        return a // np.maximum(b, 1)
    size = np.abs(a).view(f"u{a.dtype.itemsize}") // np.maximum(np.abs(b).view(f"u{a.dtype.itemsize}"), 1)
    return np.where((a < 0) != (b < 0), -size.view(a.dtype), size.view(a.dtype))


def shift_left(a: Any, n: Any) -> Any:
    bits = 8 * a.dtype.itemsize
    return np.where(n < bits, a << np.minimum(n, bits - 1).astype(a.dtype), a.dtype.type(0))


def shift_right(a: Any, n: Any) -> Any:
    bits = 8 * a.dtype.itemsize
    if a.dtype.kind == "i":
        return a >> np.minimum(n, bits - 1).astype(a.dtype)
    return np.where(n < bits, a >> np.minimum(n, bits - 1).astype(a.dtype), a.dtype.type(0))


def insert_bits(a: Any, b: Any, start: Any, length: Any) -> Any:
    start, length = start.astype(b.dtype), length.astype(b.dtype)
    ones = shift_left(np.ones_like(b), length) - b.dtype.type(1)
    mask = shift_left(ones, start)
    return (b & ~mask) | (shift_left(a, start) & mask)


def extract_bits(a: Any, start: Any, length: Any) -> Any:
    if a.dtype.kind == "i":
        raise Unknown("bfe of signed numbers")
    return shift_right(a, start) & (shift_left(np.ones_like(a), length) - a.dtype.type(1))


def leading_zeros(a: Any) -> Any:
    bits, x = 8 * a.dtype.itemsize, a.copy()
    count = np.full(np.shape(a), bits, np.uint32)
    for k in range(bits):
        count = np.where(x >> a.dtype.type(k) != 0, bits - 1 - k, count)
    return count.astype(np.uint32)


def smaller(a: Any, b: Any) -> Any:
    return np.fmin(a, b) if a.dtype.kind == "f" else np.minimum(a, b)


def larger(a: Any, b: Any) -> Any:
    return np.fmax(a, b) if a.dtype.kind == "f" else np.maximum(a, b)


def reciprocal_by_its_upper_half(a: Any) -> Any:
    """As `rcp.approx.ftz.f64`: the lower half of the bits is zero."""
    value = np.atleast_1d(1.0 / np.where(np.abs(a) < np.finfo(np.float64).tiny, np.copysign(0.0, a), a))
    return (value.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64).reshape(np.shape(a))


def copy_sign(sign: Any, size: Any) -> Any:
    return np.copysign(size, sign)


def divided(a: Any, b: Any) -> Any:
    return a / b if a.dtype.kind == "f" else quotient(a, b)


PLAIN: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": divided, "rem": lambda a, b: a - quotient(a, b) * b,
    "min": smaller, "max": larger, "abs": np.abs, "neg": np.negative,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "fma": fma, "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a), "rcp": lambda a: (1 / a).astype(a.dtype),
    "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "copysign": copy_sign,
    "clz": leading_zeros, "popc": lambda a: np.bitwise_count(a).astype(np.uint32), "bfi": insert_bits,
    "bfe": extract_bits, "shl": shift_left, "shr": shift_right,
}  # fmt: skip

DIRECTIONS: dict[str, Callable[[Any, Any], Any]] = {  # whether a rounded number is on the wrong side of the exact one
    "rm": lambda rounded, exact: (rounded > exact, -np.inf),
    "rp": lambda rounded, exact: (rounded < exact, np.inf),
    "rz": lambda rounded, exact: (np.abs(rounded) > np.abs(exact), 0.0),
}


def rounded_towards(compute: Callable[..., Any], direction: str) -> Callable[..., Any]:
    """For single precision: in double precision its products are exact, and sums all but exact."""

    def out(*values: Any) -> Any:
        exact = compute(*[np.float64(value) for value in values])
        rounded = exact.astype(np.float32)
        is_beyond, target = DIRECTIONS[direction](rounded, exact)
        return np.where(is_beyond, np.nextafter(rounded, np.float32(target)), rounded)

    return out


PRODUCTS: dict[str, Callable[..., Any]] = {"lo": np.multiply, "hi": high, "wide": wide}

ORDERED: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
    "ne": lambda a, b: (a != b) & (a == a) & (b == b),
}  # fmt: skip


def compared(name: str, is_float: bool) -> Callable[..., Any]:
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if is_float and name.endswith("u") and name[:-1] in ORDERED:
        if name == "neu":
            return np.not_equal
        return lambda a, b: ORDERED[name[:-1]](a, b) | np.isnan(a) | np.isnan(b)
    return ORDERED[name]


ROUNDED: dict[str, Callable[..., Any]] = {"rni": np.rint, "rmi": np.floor, "rpi": np.ceil, "rzi": np.trunc}


def converted(parts: tuple[str, ...]) -> tuple[Callable[[Any], Any], str, str]:
    """What a `cvt` does, to what, from what."""
    *how, to, of = parts[1:]
    target, source = DTYPES[to], DTYPES[of]
    rounding = next((ROUNDED[word] for word in how if word in ROUNDED), None)
    if how == ["sat"] and to == of and target.kind == "f":
        return lambda a: np.fmin(np.fmax(a, target.type(0)), target.type(1)), to, of
    if {"rz", "rm", "rp", "sat"} & set(how):
        raise Unknown(".".join(parts))
    if target.kind == "f" or source.kind != "f":
        if rounding is not None:
            return lambda a: rounding(a).astype(target), to, of
        return lambda a: a.astype(target), to, of
    assert rounding is not None
    limits = np.iinfo(target)

    def to_integer(a: Any) -> Any:
        whole = rounding(a.astype(np.float64))
        inside = (whole >= float(limits.min)) & (whole < float(limits.max))
        out = np.where(inside, whole, 0).astype(target)
        return np.where(inside, out, np.where(whole > 0, limits.max, np.where(whole < 0, limits.min, 0)).astype(target))

    return to_integer, to, of
