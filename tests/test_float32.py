"""float32 stays float32, down to the machine code."""

from __future__ import annotations

import re
import statistics
import warnings
from typing import Any

import numpy as np
import pytest

from srcgrad import check_grad, grad
from srcgrad.backends import cpu


def polynomial(x, w):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = 0.5 * x[i] ** 2 + w[i] / 3 - x[i] * w[i]
    return y


def in_place(x):
    y = x * 2.0
    y[1:] += 0.25 * y[:-1] * x[1:]
    y *= x
    return y


def recurrence(x, a):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = a[i] * y[i - 1] + np.maximum(x[i], 0.1)
    return y


def machine_code(f, *args) -> str:
    """The assembly of the function itself: what Numba puts around it boxes and unboxes."""
    before = set(cpu._compiled)
    f.backward(*args)
    (made,) = (cpu._compiled[key] for key in set(cpu._compiled) - before)
    blocks = re.split(r"(?m)^(?=\S+:\s*$)", made.library.get_asm_str())
    return "".join(blocks)


@pytest.mark.parametrize(("function", "arguments"), [(polynomial, 2), (in_place, 1), (recurrence, 2)])
def test_no_double_arithmetic_in_float32_loops(function, arguments) -> None:
    x = np.linspace(0.5, 1.5, 9, dtype=np.float32)
    code = machine_code(grad(function, cache=False), *[x] * arguments, np.ones(9, np.float32))
    double = re.findall(
        r"\bv?(?:add|sub|mul|div|fmadd\d*|fnmadd\d*|fmsub\d*|max|min)[sp]d\b|\bv?cvts[sd]2s[sd]\b", code
    )
    assert re.search(r"\bv?(?:add|mul)[sp]s\b", code), "no float32 arithmetic found: is this the right code?"
    assert not double, sorted(set(double))


@pytest.mark.parametrize(("function", "arguments"), [(polynomial, 2), (in_place, 1), (recurrence, 2)])
def test_the_search_finds_double_arithmetic(function, arguments) -> None:
    x = np.linspace(0.5, 1.5, 9)
    code = machine_code(grad(function, cache=False), *[x] * arguments, np.ones(9))
    assert re.search(r"\bv?(?:add|mul)[sp]d\b", code)


def test_a_number_that_float32_has_no_room_for() -> None:
    def largest(x):
        best = -1e300
        for i in range(len(x)):
            if x[i] > best:
                best = x[i]
        return best

    x = np.array([0.25, 0.5], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = grad(largest, jit=False)
        assert f.backward(x).tolist() == [0.0, 1.0]
        assert f(x).dtype == np.float32


def scaled(x, w):
    return np.sum(x * w)


def of_every_other_column(x, w):
    return np.sum(x[:, ::2] * w) + np.mean(x)


@pytest.mark.parametrize("parallel", [False, True])
def test_long_sums_keep_their_digits(parallel):
    """Of a million numbers that are all alike, whose rounding errors add up: the sum, and that in its gradient."""
    x, w = np.full(2_000_000, 0.1, np.float32), np.float32(0.7)
    want = x.size * float(x[0])
    y, (_, w_b) = grad(scaled, parallel=parallel).value_and_backward(x, w)
    assert y.dtype == w_b.dtype == np.float32
    np.testing.assert_allclose((float(y), float(w_b)), (want * float(w), want), rtol=2e-6)


@pytest.mark.parametrize("n", [0, 1, 4095, 4096, 4097, 9000])
def test_every_part_of_a_sum_is_in_it(n):
    x, w = np.linspace(-1, 2, n, dtype=np.float32), np.float32(0.7)
    y, (x_b, w_b) = grad(scaled, jit=False).value_and_backward(x, w)
    np.testing.assert_allclose((y, w_b), (np.sum(x.astype(float) * w), np.sum(x, dtype=float)), rtol=1e-5)
    np.testing.assert_array_equal(x_b, np.full(n, w))


def test_sums_in_nests():
    x, w = np.linspace(-1, 2, 60, dtype=np.float32).reshape(6, 10), np.float32(0.7)
    g = grad(of_every_other_column, jit=False)
    y, (x_b, w_b) = g.value_and_backward(x, w)
    np.testing.assert_allclose(y, of_every_other_column(x.astype(float), float(w)), rtol=1e-6)
    np.testing.assert_allclose(w_b, np.sum(x[:, ::2], dtype=float), rtol=1e-6)
    np.testing.assert_allclose(x_b[0], np.tile([0.7 + 1 / 60, 1 / 60], 5), rtol=1e-6)
    assert "wide" in g.source(x, w)


FLOATS_OF_PYTHON = [
    lambda x, c: x * round(c, 2),
    lambda x, c: x * round(2.675, 2),
    lambda x, c: x * round(c, len(x)),
    lambda x, c: x * round(np.float64(c), 1),
    lambda x, c: x * round(x[0], 1),
    lambda x, c: x * statistics.mean([1.0, 2.0]),
    lambda x, c: x * statistics.mean([c * i for i in range(len(x))]),
    lambda x, c: x * statistics.mean([1, 2, len(x)]),
    lambda x, c: x * statistics.mean([np.float64(c), 2.0]),
    lambda x, c: x * statistics.mean(x),
    lambda x, c: x * statistics.mean(x.astype(float)),
    lambda x, c: x * statistics.median([c, 2.0, c * c]),
    lambda x, c: x * statistics.variance(x.tolist()),
    lambda x, c: x * statistics.pvariance((c, 1)),
    lambda x, c: x * statistics.harmonic_mean([c, 1.0]),
    lambda x, c: x * statistics.covariance(x.astype(float), [c, 2.0, c * c]),
]


@pytest.mark.parametrize("function", FLOATS_OF_PYTHON, ids=map(str, range(len(FLOATS_OF_PYTHON))))
def test_what_python_makes_of_its_floats_takes_the_dtype_of_an_array(function: Any) -> None:
    x = np.array([1.5, 0.25, 0.75], np.float32)
    found, wanted = grad(function, jit=False)(x, 0.7), function(x, 0.7)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert found.dtype == wanted.dtype
    check_grad(grad(function, jit=False, wrt="x"), x.astype(float), 0.7)


TOTALS = [
    lambda x, y: np.sum(x, axis=0, out=y),
    lambda x, y: x.mean(0, out=y),
    lambda x, y: np.prod(x, 0, None, y),
    lambda x, y: np.add.reduce(x, out=y),
    lambda x, y: np.cumsum(x[0], out=y),
    lambda x, y: np.nanmean(np.where(x > 0.3, x, np.nan), axis=0, out=y),
    lambda x, y: np.std(x, axis=0, out=y),
    lambda x, y: np.median(x, axis=0, out=y),
    lambda x, y: np.ptp(x, axis=0, out=y),
    lambda x, y: np.percentile(x, 70, axis=0, out=y),
    lambda x, y: np.prod(np.arange(1, 61).reshape(20, 3), axis=0, out=y),  # which wraps in int64
]


@pytest.mark.parametrize("into", TOTALS)
def test_totals_into_an_array_of_more_digits_have_these(into) -> None:
    x = np.array([[0.7, 1.3, 0.4], [0.9, 0.25, 1.6]], np.float32)

    def f(x):
        y = np.zeros(3)
        into(x, y)
        return y * y

    np.testing.assert_allclose(grad(f, jit=False)(x), f(x), rtol=1e-14)
    check_grad(grad(f, jit=False), x.astype(np.float64))
    assert grad(f, jit=False).backward(x, np.ones(3)).dtype == np.float32


def joined(x, i):
    return (x[i] if i >= 0 else 0.1) / 3


def test_a_number_of_either_precision_is_of_float32() -> None:
    f, x = grad(joined, jit=False), np.array([0.5, 0.7], np.float32)
    assert f(x, 1) == joined(x, 1)
    assert f(x, 1).dtype == f(x, -1).dtype == np.float32
    assert f(x, -1) == np.float32(0.1) / np.float32(3)  # Python's is 0.1 / 3, with all digits
