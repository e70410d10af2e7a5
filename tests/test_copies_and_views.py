"""Which expressions of an array are its own memory and which are copies: a write to either is seen, or refused."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
from support import check_value_and_grad, from_text

from srcgrad import RuntimeShapeError, UnsupportedError, grad
from srcgrad.testing import check_grad

AHEAD = [
    "a = a", "a = a[::2]", "a = a.T", "a = (a * 1.0)[::-1]", "a = a[:1]", "a = np.where(a > 2.0, a, 1.0)[::2]",
    "a = (a * 1.0)[..., ::-1]", "a = a[:: len(a) // 2]", "a = np.outer(a, a)",
    "a = (np.ravel(a)[:, None] * np.ones(3)).T", "a = (a * 1j).imag", "a = np.full((2, 3), np.sum(a)).T",
]  # fmt: skip
MADE = [
    "a.ravel()", "np.ravel(a, order='F')", "a.reshape(-1)", "a.T.ravel()", "np.asarray(a, order='C')",
    "np.ascontiguousarray(a)", "np.asfortranarray(a)", "a[::-1]", "a[None].ravel()", "a.flatten()", "np.trim_zeros(a)",
]  # fmt: skip
GIVEN = {
    "row": np.arange(1.0, 6.0),
    "strided": np.arange(1.0, 11.0)[::2],
    "alone": np.arange(1.0, 3.0)[::2],
    "matrix": np.arange(1.0, 13.0).reshape(3, 4).copy(),
    "part": np.arange(1.0, 49.0).reshape(6, 8)[::2, ::2],
    "one row": np.arange(1.0, 25.0).reshape(6, 4)[:1],
}


def again(array: np.ndarray) -> np.ndarray:
    """An array with these elements and these strides, of memory of its own."""
    wide = np.zeros(64)
    start = 40 if array.strides[0] < 0 else 0
    out = np.lib.stride_tricks.as_strided(wide[start:], array.shape, array.strides)
    out[...] = array
    return out


def agrees_or_is_refused(f: Any, array: np.ndarray) -> bool | None:
    """Whether it agrees, None where Python raises."""
    mine, theirs = again(array), again(array)
    try:
        want = f(theirs)
    except (ValueError, IndexError):
        return None
    try:
        got = grad(f, jit=False)(mine)
    except (UnsupportedError, RuntimeShapeError):
        return False
    for x, y in zip((*got, mine), (*want, theirs), strict=True):
        np.testing.assert_array_equal(x, y)
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ahead", AHEAD)
def test_a_write_to_one_is_seen_in_the_other_or_refused(ahead: str) -> None:
    found = []
    for made, changed in itertools.product(MADE, "ab"):
        text = f"def f(a):\n    o = a\n    {ahead}\n    b = {made}\n    {changed}[...] = {changed} * 3.0 + 7.0\n"
        f = from_text(f"import numpy as np\n\n\n{text}    return o * 2.0, a * 1.0, b * 1.0\n", "f")
        found += [agrees_or_is_refused(f, array) for array in GIVEN.values()]
    assert found.count(True) > (3 if "len" in ahead else 20), (found.count(True), found.count(False))


def strided(x):
    b = x[::2].ravel()
    b[1] = 3.0
    return x * b[0]


def turned(x):
    b = x[::-1].ravel()
    b *= 3.0
    return x * b


def in_one_piece(x):
    b = x[1:].ravel()
    b *= x[0]
    return x * x


def a_row(x):
    m = np.zeros((x.size, x.size))
    m += np.outer(x, x)
    r = m[1].ravel()
    r *= x
    return m.sum(axis=0)


def a_column(x):
    m = np.zeros((x.size, x.size))
    m += np.outer(x, x)
    c = np.ravel(m[:, 1])
    c *= x
    return m.sum(axis=0) * c


@pytest.mark.parametrize("function", [strided, turned, in_one_piece, a_row, a_column])
def test_one_axis(function: Any) -> None:
    x = np.array([0.5, -1.0, 2.0, 1.5, 0.25])
    f = grad(function, jit=False)
    check_value_and_grad(f, x, rtol=1e-15)


def split_with_gaps(x):
    s = np.fft.fft(x).real
    v = s.reshape(2, 4)
    v[0, 1] = 2.0 * x[1]
    return s * x


def split_and_solved(x):
    y = x * 1.0
    v = y[::-2].reshape(2, 2)  # a routine is handed the view itself
    v[0, 1] = 3.0 * x[0]
    return np.linalg.solve(v, x[:2]) * y[5] * y[1:3]


def split_in_a_loop(x, k):
    y = np.outer(x, x)
    v = y[:, k].reshape(2, 2, -1)
    for i in range(2):
        for j in range(2):
            v[i, j] *= x[j] + i * v[0, 0, 1]
    return y[1:].sum(axis=0)


def split_among_others(x):
    y = np.outer(x, x)
    v = y.T.reshape(len(x), 2, -1)
    v[1] *= v[0]
    return y.sum(axis=0)


def split_in_any_order(x):
    y = np.array([x, x * x]) * np.ones((2, 8))
    v = y.T.reshape(2, 4, 2)
    v[1] *= v[0]
    return y.sum(axis=0)


def split_argument(x):
    v = x.reshape(2, -1)
    v[:, 0] *= x[1]
    return v * v + v.ravel()[3]


SPLIT = [split_with_gaps, split_and_solved, split_in_a_loop, split_among_others, split_in_any_order, split_argument]


@pytest.mark.parametrize(
    ("function", "dtype", "jit"),
    [*itertools.product(SPLIT, (np.float64, np.float32), (False,)), (split_and_solved, np.float64, True)],
)
def test_an_axis_that_is_split_is_a_view_whatever_its_step(function: Any, dtype: type, jit: bool) -> None:
    x = np.array([0.5, -1.0, 2.0, 1.5, 0.25, 3.0, -2.0, 0.75], dtype)
    f, more = grad(function, jit=jit), (1,) if function is split_in_a_loop else ()
    for make in (np.array, lambda a: np.repeat(a, 2)[::2], lambda a: a[::-1].copy()[::-1]):
        want, mine = function(make(x), *more), make(x)
        value, _ = f.value_and_backward(mine, *more, np.ones_like(want))
        assert value.dtype == want.dtype
        np.testing.assert_allclose(value, want, rtol=1e-5 if dtype is np.float32 else 1e-13)
        if dtype is np.float64:
            check_value_and_grad(f, make(x), *more, at_once=True)  # of what there is already


def test_which_reshapes_are_views_is_not_guessed() -> None:
    def rows_by_step(k, x):
        y = np.outer(x, x)
        v = y[::k].reshape(-1)  # a view where k is 1
        v[0] = 2.0
        return y

    def part(k, x):
        y = np.outer(x, x)
        v = y[:, :k].reshape(-1)
        v[0] = 2.0
        return y

    def raveled(k, x):
        y = x * 1.0
        v = y[::2].reshape(2, 1, -1).ravel()
        v[0] = 2.0 * k
        return y

    for function in (rows_by_step, part, raveled):
        with pytest.raises(UnsupportedError, match="may or may not be the array"):
            grad(function, jit=False)(1, np.arange(1.0, 5.0))


def kernel(x):
    return np.exp(-((x[:, None] - x) ** 2) * 0.5)


def ravelled(x, s):
    k = kernel(x)
    k.ravel()[:: len(x) + 1] += s
    return k @ x


def ravelled_transpose(x, s):
    k = np.outer(x, np.sin(x))
    k.T.ravel()[:: len(x) + 1] += s  # of a copy
    return k * s


def reshaped(x, s):
    k = kernel(x)
    k.reshape(-1)[1 :: len(x) + 1] = x[1:] * s
    k.reshape(-1)[len(x) - 1 : -1 : len(x) - 1] *= s
    return k * k


def iterated(x, s):
    k = np.outer(x, x)
    k.flat[:: len(x) + 1] -= s * x
    k.flat[1 :: len(x) + 1] = s
    return k * k


def seen_by_einsum(x, s):
    k = kernel(x)
    np.einsum("ii->i", k)[...] += s
    np.einsum("ii->i", k)[1:] *= x[1:]
    return k @ k


def of_a_stack(x, s):
    k = np.zeros((2, len(x), len(x)))
    np.einsum("kii->ki", k)[...] = x * s
    np.einsum("kii->ik", k)[0] += s
    return k * k


def indexed(x, s):
    k = kernel(x)
    k[np.diag_indices(len(x))] += s
    np.fill_diagonal(k[1:], x[:-1] * s)
    return k * k


def named(x, s):
    k = np.outer(x, np.sin(x))
    step = len(x) + 1
    d, above = k.ravel()[::step], k.reshape(-1)[1::step]
    for i in range(1, len(x)):
        d[i] += d[i - 1] * above[i - 1]
        k[i, i - 1] *= s + k[i, i]
    above[:] = d[1:] * x[1:]
    d *= k[:, 0]
    return k @ x + d


def named_and_split(x, s):
    k = np.outer(x[:4], x[:4])
    d = k.ravel()[:: len(x[:4]) + 1]
    m = d.reshape(2, -1)
    m[:] = m @ m * s
    d[::-1][0] *= d[0]
    return np.linalg.solve(m + 40.0 * np.eye(2), x[:2]) * np.sum(k * k)


def named_of_the_argument(x, s):
    d = x[1 :: len(x[:1]) + 1]
    d *= d[::-1] * s
    return x * x


DIAGONALS = (
    ravelled, ravelled_transpose, reshaped, iterated, seen_by_einsum, of_a_stack, indexed, named, named_and_split,
    named_of_the_argument,
)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", DIAGONALS)
def test_the_diagonal_is_written(function: Any, dtype: type) -> None:
    x, s = np.array([0.5, -1.0, 2.0, 1.5, 0.25], dtype), dtype(0.75)
    f = grad(function, jit=False)
    want, got = function(x.copy(), s), f(x.copy(), s)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-14 if dtype is np.float64 else 1e-5)
    check_grad(f, x, s)


def test_a_view_with_a_step_that_only_a_run_tells() -> None:
    x = np.array([0.5, -1.0, 2.0, 1.5, 0.25])
    np.testing.assert_allclose(grad(named)(x, 0.75), named(x, 0.75), rtol=1e-13)
    check_grad(grad(named), x, 0.75)

    def may_go_down(x, s):
        y = x * s
        d = y[:: len(x) - 3]
        d *= x[: len(d)]
        return y

    with pytest.raises(UnsupportedError, match="y may or may not be the array"):
        grad(may_go_down, jit=False)(x, 0.75)


def test_the_diagonal_is_a_loop_of_its_own() -> None:
    def f(x, s):
        k = np.outer(x, x)
        k.ravel()[:: len(x) + 1] += s
        return k

    text = grad(f).source(np.ones(5), 1.0)
    assert re.findall(r"(\w+) = np.(?:zeros|empty)\(|(copy)", text) == [("x_b", ""), ("k_b", "")], text


@pytest.mark.parametrize("function", [np.ascontiguousarray, np.asfortranarray])
def test_at_least_one_axis(function: Any) -> None:
    f = grad(lambda x: 3.0 * function(x), jit=False)
    np.testing.assert_array_equal(f(2.0), [6.0])
    assert f.backward(2.0, np.ones(1)) == 3.0
    assert np.shape(grad(lambda x: np.asarray(x, order="C"), jit=False)(2.0)) == ()


def in_another_order(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    y = np.transpose(x, (1, 0, 2))
    z = y * w  # a copy of y is stretched
    return np.transpose(z, (2, 0, 1)).reshape(-1)


def test_axes_in_another_order_are_views_without_numbas_detour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's own permutes lengths as arrays: seconds to compile."""
    from numba.np import arrayobj

    monkeypatch.setattr(arrayobj, "permute_arrays", None)
    random = np.random.default_rng(5)
    x, w = random.normal(size=(2, 3, 4)), random.normal(size=(3, 2, 1))
    f = grad(in_another_order, cache=False)
    assert "np.transpose(" in f.source(x, w, kind="primal")
    for given in (x[:, ::-1], np.asfortranarray(x)):
        check_value_and_grad(f, given, w, rtol=0.0, at_once=True)


SAME_NUMBERS = [
    "k + 0", "0 + k", "k - 0", "k * 1", "1 * k", "True * k", "-(-k)", "(k + 1) - 1", "(k + 2 * k) - 2 * k", "+k",
    "sum([k])", "k[:] + 0", "k.T * 1", "np.add(k, 0)", "np.einsum('i->i', k) + 0", "np.dot(1, k)", "np.kron(1, k)",
    "k // 1",
]  # fmt: skip


@pytest.mark.parametrize("text", SAME_NUMBERS)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, float])
def test_arithmetic_makes_a_new_array_though_the_numbers_stay(text: str, dtype: type) -> None:
    body = f"    z = {text}\n    z[0] = 50\n    k[1] = 60\n    return z * k, k * 1\n"
    f = from_text(f"import numpy as np\ndef f(k):\n{body}", "f")
    k = np.array([1, 2, 3], dtype)
    for got, want in zip(grad(f, jit=False)(k.copy()), f(k.copy()), strict=True):
        np.testing.assert_array_equal(got, want)


IN_ORDERS_OF_THEIR_OWN = {
    "padded": lambda x: np.pad(x.T, 1),
    "inserted": lambda x: np.insert(x.T, 1, 5.0, axis=0),
    "deleted": lambda x: np.delete(x.T, 1, axis=0),
    "crossed": lambda x: np.cross(x, x[::-1] * x, axis=0),
    "repeated": lambda x: np.copy(np.broadcast_to(x[0], (3, 4))),
    "spaced": lambda x: np.linspace(x[0], x[1], 3, axis=-1),
    "transformed": lambda x: np.fft.irfft(x.T + 0j, n=4, axis=0),
    "powers": lambda x: np.polynomial.polynomial.polyvander(x[0], 2),
    "factors": lambda x: scipy.linalg.lu_factor(x[:, :3])[0],
    "orthogonal": lambda x: scipy.linalg.qr(x[:, :3])[0],
    "lower": lambda x: scipy.linalg.cholesky(x @ x.T, lower=True),
    "solved": lambda x: scipy.linalg.solve_triangular(x[:, :3], x),
    "inverted": lambda x: scipy.linalg.pinv(x),
    "filtered": lambda x: scipy.signal.lfilter([1.0, 2], [1.0, 0.5], x.T, axis=0),
}


@pytest.mark.parametrize("name", IN_ORDERS_OF_THEIR_OWN)
def test_results_in_orders_of_their_own(name: str) -> None:
    """To read them in one piece is to copy them, or not: that is known to NumPy alone."""
    made = IN_ORDERS_OF_THEIR_OWN[name]

    def only_read(x):
        y = made(x)
        return y.ravel() * 2.0 + np.sum(y)

    def written(x):
        y = made(x)
        z = y.ravel()
        z[1] = 55.0
        return y

    x = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_allclose(grad(only_read, jit=False)(x), only_read(x), rtol=1e-10)
    with pytest.raises(UnsupportedError, match="may or may not be"):
        grad(written, jit=False)(x)


@pytest.mark.parametrize("order", ["A", "K"])
@pytest.mark.parametrize(
    "turned", [np.transpose, lambda x: np.swapaxes(x, 0, 1), lambda x: x.T[::-1], lambda x: x.T[:2]]
)
def test_elements_of_a_transpose_in_the_order_of_memory(turned: Any, order: str) -> None:
    straight = lambda x: np.ravel(x[1:, ::2], order) * 2.0 + x[::-1, ::2].flatten(order)[:4]
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(grad(straight, jit=False)(x), straight(x))
    for read in (lambda x: turned(x).flatten(order), lambda x: turned(x).reshape(-1, order=order)):
        with pytest.raises(UnsupportedError, match="depends on the order in memory"):
            grad(read, jit=False)(x)


def of_parts(x):
    b = np.outer(x, x)[:, 2:]
    w = b.ravel()
    w += x[0]
    return b * 1.0


def of_a_diagonal(x):
    y = np.outer(x, x) * 1.0
    p = np.diag(y).reshape(2, 2)
    y *= 2.0
    return p * 1.0


@pytest.mark.parametrize("function", [of_parts, of_a_diagonal])
def test_what_may_be_a_copy_is_not_read_after_a_write(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="may or may not be"):
        grad(function, jit=False)(np.ones(4))


def test_a_sum_over_one_element_is_no_view() -> None:
    def f(x):
        y = x * 1.0
        r = np.einsum("ij->i", y.reshape(-1, 1))
        r *= 2.0
        return r * y

    x = np.linspace(0.5, 2.0, 4)
    np.testing.assert_array_equal(grad(f, jit=False)(x), f(x))
    check_grad(grad(f, jit=False), x)


@pytest.mark.parametrize("jit", [False, True])
def test_nothing_turned_round_is_nothing(jit: bool) -> None:
    f = grad(lambda x, n: x[:n:2][::-1], jit=jit)
    for n in range(5):
        np.testing.assert_array_equal(f(np.arange(5.0), n), np.arange(5.0)[:n:2][::-1])
