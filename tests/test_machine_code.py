"""What machine code makes of numbers, of elements and of ranges is what NumPy and Python make of them."""

from __future__ import annotations

import numpy as np
import pytest
from support import assert_close

from srcgrad import grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(46)


def comparisons(x, y):
    """Nothing is less than nan, nor equal to it; everything is not."""
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            a, b = x[i], y[j]
            if a < b:
                s += 1.0 * x[0]
            if a <= b:
                s += 2.0 * x[0]
            if a > b:
                s += 4.0 * x[0]
            if a >= b:
                s += 8.0 * x[0]
            if a == b:
                s += 16.0 * x[0]
            if a != b:
                s += 32.0 * x[0]
            if not a < b:
                s += 64.0 * x[0]
    return s


def quotients(x, y):
    """A divisor that is 0, of numbers and of what has come out of other divisions."""
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        t = x[i] / y[i]
        t /= y[-i - 1]
        out[i] = t if np.isfinite(t) else x[i] * x[i]
    return out


def functions(x):
    """NumPy's functions of numbers, where they are defined and where they are not."""
    s = 0.0
    for i in range(x.shape[0]):
        s += np.exp(-x[i]) * np.arctan2(x[i], 2.0) + np.tanh(x[i]) ** 3 + np.hypot(x[i], 1.0)
        r = np.sqrt(x[i] - 1.0)
        s += np.log1p(x[i] * x[i]) if np.isnan(r) else r * np.cbrt(x[i] + 1.0)
    return s


def ranges(x, start, stop, step):
    s = 0.0
    for i in range(start, stop, step):
        for j in range(i, -1, -2):
            if j % 3 == 2:
                continue
            s += x[i] * x[j] * (i + 1)
        if s > 50.0:
            break
    else:
        s += 3.0 * x[0]
    return s


def elements(a, mask, at):
    """An array by bytes, one by indices without a sign, and another by such as count from the end."""
    s = 0.0
    for k in range(at.shape[0]):
        i = at[k]
        if mask[i]:
            s += a[i, 0] * a[-1, k] + a[np.int8(-2), np.int64(k)]
            a[i, k] = s * a[i, k]
    return s + np.sum(a * a)


def of_complex(z, w):
    out = z.copy()
    for i in range(z.shape[0]):
        out[i] = np.exp(z[i]) * w[-i] / (1.0 + z[i] * z[i]) - np.sqrt(z[i])
        out[i] *= np.conj(w[i])
    return out


def misaligned(array):
    """The same numbers, where no number of that size should begin."""
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
    out = memory.reshape(array.shape)
    out[...] = array
    assert not out.flags.aligned
    return out


def test_comparisons_with_what_is_no_number():
    x, y = np.array([0.5, np.nan, 2.0, np.inf]), np.array([np.nan, 0.5, -np.inf, 2.0])
    f = grad(comparisons, wrt="x")
    assert_close(f(x, y), comparisons(x, y), 1e-15, "value")
    assert_close(f.backward(x, y), np.array([comparisons(x, y) / x[0], 0.0, 0.0, 0.0]), 1e-15, "gradient")


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_division_by_zero_raises_nothing():
    x, y = RNG.uniform(0.5, 2.0, 5), np.array([1.0, 0.0, 2.0, -0.0, 4.0])
    f = grad(quotients)
    assert_close(f(x, y), quotients(x, y), 1e-15, "value")
    check_grad(grad(quotients, wrt="x"), x, y)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_functions_of_numbers():
    check_grad(grad(functions), RNG.uniform(0.2, 3.0, 9))
    check_grad(grad(functions), RNG.uniform(0.2, 3.0, 9).astype(np.float32))


@pytest.mark.parametrize("start, stop, step", [(0, 9, 1), (8, 0, -3), (2, 2, 5), (7, 1, 2), (1, 9, 4), (-1, -9, -1)])
def test_ranges(start, stop, step):
    x = RNG.uniform(0.5, 2.0, 9)
    check_grad(grad(ranges, wrt="x"), x, start, stop, step)


def plain_ranges(x, start, stop, step):
    s = 0.0
    for i in range(start, stop, step):
        s += x[i] * x[i]
    return s


def lengths_of_ranges(x, start, stop, step):
    return x[0] * len(range(start, stop, step))


@pytest.mark.parametrize("function", [plain_ranges, ranges, lengths_of_ranges])
@pytest.mark.parametrize("start", [0, 5])
def test_a_step_of_zero(function, start):
    """Upwards such a loop was left out, and downwards it went on for ever, where it may end early."""
    f = grad(function, wrt="x", jit=function is plain_ranges)
    for call in (f, lambda *a: f.backward(*a, 1.0)):
        with pytest.raises(ValueError, match="must not be zero"):
            call(np.ones(3), start, 3, 0)


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int32])
def test_elements(kind):
    a, mask = RNG.uniform(0.5, 1.5, (4, 3)), np.array([True, False, True, True])
    check_grad(grad(elements, wrt="a"), a, mask, np.array([2, 1, 3], kind))
    check_grad(grad(elements, wrt="a"), np.asfortranarray(a), mask[::-1], np.array([1, 3, 0], kind))


def test_indices_that_are_outside():
    a, mask = np.ones((4, 3)), np.ones(4, bool)
    for outside in (np.array([4], np.uint8), np.array([-5]), np.array([4])):
        with pytest.raises(IndexError):
            grad(elements, wrt="a")(a, mask, outside)


def test_complex_numbers_wherever_they_begin():
    z, w = (RNG.normal(size=(2, 4)) + 1j * RNG.normal(size=(2, 4))) + 3.0
    f = grad(of_complex)
    want = f.backward(z, w, z)
    check_grad(f, z, w)
    for got in (f.backward(misaligned(z), w, z), f.backward(z, misaligned(w), misaligned(z))):
        assert_close(got, want, 1e-14, "gradient")
